import { isDeepStrictEqual } from 'node:util'
import type { Draft } from '../archive/commit.ts'
import { effectiveSetting, isCompacted } from '../archive/effective-settings.ts'
import type { Manifest } from '../archive/manifest.ts'
import { hasCarriedSchemas, type RegistrySection, type SectionName } from '../archive/registry-section.ts'
import { formatUtc } from '../lib/clock.ts'
import type { BackupOptions } from './backup-options.ts'
import { draftTopics } from './draft-topics.ts'
import type { BackupParts, Prepared } from './round.ts'
import type { Published } from './session.ts'

/** The time up to which deletions are known is committed well before it is too old to continue from. */
const QUIET_SHARE = 0.25

/** What a run says of a generation that it is about to make. */
export function draftManifest(
  { backupId, topics }: BackupOptions,
  { plan, observed, groups, access, registry: taken, carried, settingsAt }: Prepared,
  { clock, toolVersion, encryption }: Pick<BackupParts, 'clock' | 'toolVersion' | 'encryption'>,
  { run, startedAt, newest }: { run: string; startedAt: string; newest: Manifest | undefined },
  { complete, warnings, ...state }: Published,
): Draft['manifest'] {
  const registry = taken ?? newest?.schema_registry
  const sections = carriedSections({ registry, taken }, carried)
  return {
    tool_version: toolVersion,
    backup_id: backupId,
    generation: (newest?.generation ?? 0) + 1,
    run,
    complete,
    created_at: formatUtc(clock.now()),
    started_at: startedAt,
    cluster: { id: observed.clusterId, brokers: observed.brokers },
    selection: { include: [...topics.include], exclude: [...topics.exclude] },
    topics: draftTopics(plan, state),
    // The schemas of a backup stay in it, as topics do that are no longer copied.
    ...(registry && { schema_registry: registry }),
    ...(groups && { consumer_groups: groups }),
    ...(encryption && { encryption: encryption.section }),
    ...(access && { access }),
    ...(sections.length > 0 && { carried_sections: sections }),
    ...(settingsAt !== undefined && { topic_settings_at: settingsAt }),
    ...(newest?.lineage !== undefined && { lineage: newest.lineage }),
    warnings: [...warnings],
  }
}

/** Schemas stay in a backup also where the job does not read them any more. */
function carriedSections(
  { registry, taken }: { registry: RegistrySection | undefined; taken: RegistrySection | undefined },
  others: readonly SectionName[] = [],
): SectionName[] {
  return registry && !taken ? ['schema_registry', ...others] : [...others]
}

/** The section files that a run has just written: they are of this run as its segments are. */
export function sectionKeys({ groups, access }: Pick<Prepared, 'groups' | 'access'>): string[] {
  return [groups?.state === 'taken' ? groups.key : undefined, access?.key].filter(key => key !== undefined)
}

/** Pure. Whether a generation would say what the newest one says, which is not old yet. */
export function saysNothingNew(
  draft: Draft['manifest'],
  newest: Manifest,
  { quietMs, nowMs }: { quietMs: number; nowMs: number },
): boolean {
  const ageMs = nowMs - Date.parse(newest.created_at)
  // One that bears a time to come, after a clock was set back, would keep the backup quiet until then.
  const termMs = Math.min(quietMs, shortestTerm(draft.topics) * QUIET_SHARE)
  if (ageMs < 0 || ageMs >= termMs || draft.complete !== newest.complete) return false
  // A reader of the newest generation must find schemas that were read after its ends were fixed.
  if (hasCarriedSchemas(newest) && !hasCarriedSchemas(draft)) return false
  // With many partitions the comparison of everything takes longer than the rest of a round.
  if (hasOtherEnds(draft.topics, newest.topics)) return false
  return isDeepStrictEqual(contentOf(draft), contentOf(newest))
}

function hasOtherEnds(topics: Manifest['topics'], before: Manifest['topics']): boolean {
  return topics.some(({ partitions }, i) =>
    partitions.some((one, j) => one.end_offset !== before[i]?.partitions[j]?.end_offset),
  )
}

/** How long the compacted topics keep tombstones, at least. */
function shortestTerm(topics: Manifest['topics']): number {
  const terms = topics
    .filter(topic => topic.state === 'current' && isCompacted(topic))
    .map(topic => Number(effectiveSetting(topic, 'delete.retention.ms')))
  return terms.filter(ms => !Number.isNaN(ms)).reduce((least, ms) => Math.min(least, ms), Number.POSITIVE_INFINITY)
}

/** What counts as news; how far an open transaction holds the end back is only a reading. */
function contentOf(
  manifest: Pick<Manifest, 'selection' | 'topics' | 'warnings' | 'schema_registry' | 'consumer_groups' | 'access'>,
): unknown {
  const { selection, topics, warnings } = manifest
  const registry = manifest.schema_registry && { ...manifest.schema_registry, backup_timestamp: '' }
  const groups = manifest.consumer_groups && { ...manifest.consumer_groups, taken_at: '' }
  const access = manifest.access && { ...manifest.access, taken_at: '' }
  const partitions = topics.flatMap(topic =>
    topic.partitions.map(({ high_watermark, last_stable_offset, indexes, compaction, reread, ...rest }) => ({
      ...rest,
      isSuspect: compaction?.may_hold_deleted_keys,
      reread: reread && [reread.start_offset, reread.segments, reread.end_offset],
    })),
  )
  const others = topics.map(({ partitions: _, ...rest }) => rest)
  return { selection, warnings, registry, groups, access, partitions, topics: others }
}
