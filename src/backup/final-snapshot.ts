import type { NewestState } from '../archive/catalog.ts'
import type { Draft } from '../archive/commit.ts'
import { effectiveSetting } from '../archive/effective-settings.ts'
import { commitState, newestRows } from '../archive/log/commit-state.ts'
import type { Manifest, ManifestTopic } from '../archive/manifest.ts'
import { renewCopies } from '../archive/newest-copies.ts'
import type { SectionName } from '../archive/registry-section.ts'
import { KafkaBackupError, toKafkaBackupError } from '../errors.ts'
import { formatUtc } from '../lib/clock.ts'
import type { BackupOptions } from './backup-options.ts'
import { sectionKeys } from './draft-manifest.ts'
import { assertUntruncated, observeAgain } from './observe-again.ts'
import type { ObservedSource } from './observed-source.ts'
import { hasFailed, type Polling, takers } from './polling.ts'
import type { BackupParts, Prepared } from './round.ts'
import { confirmLease } from './session.ts'

/** A run that was asked to stop waits no longer than this for what it reads. */
const LIMIT_MS = 30_000

/**
 * When a continuous run is stopped: reads once more what its last generation carries and is older than its records, and commits it with
 * the same records. The run is ending anyway, so a failure is a warning, and the generation keeps what it has. `known` is the last
 * generation of the run: if it is not there any more, nothing is committed in its place.
 */
export async function takeFinalSnapshot(
  options: BackupOptions,
  parts: BackupParts,
  polling: Pick<Polling, 'warningsOf'>,
  known?: Pick<Manifest, 'backup_id' | 'generation'>,
): Promise<void> {
  const { storage, clock, onProgress } = parts
  const limit = new AbortController()
  const cancel = clock.after(LIMIT_MS, () =>
    limit.abort(new KafkaBackupError('INTERRUPTED', `it was not read within ${LIMIT_MS} ms`)),
  )
  try {
    const base = await newestRows(storage, options.backupId, limit.signal)
    const { manifest } = base
    if (known && (manifest?.generation ?? 0) < known.generation) throw missingGeneration(storage, known)
    if (!manifest || !(manifest.carried_sections || manifest.topic_settings_at)) return
    const startedAt = formatUtc(clock.now())
    const again = await readAgain(manifest, options, parts, limit.signal)
    if (again.names.length === 0 && !again.topics) return
    const next = withAgain(manifest, again, polling.warningsOf(again.names))
    await commit(base, { ...next, started_at: startedAt }, again, parts, limit.signal)
  } catch (error) {
    onProgress({ type: 'warning', message: notReadAgain(['the newest generation'], error) })
  } finally {
    cancel()
  }
}

/** What was read again, with the time. */
interface ReadAgain {
  names: SectionName[]
  taken: Pick<Prepared, 'registry' | 'groups' | 'access'>
  /** With the settings that they have now. */
  topics?: ManifestTopic[]
  warnings: string[]
}

/** Each part by itself: a registry that does not answer says nothing of the cluster. */
async function readAgain(
  manifest: Manifest,
  options: BackupOptions,
  parts: BackupParts,
  signal: AbortSignal,
): Promise<ReadAgain> {
  const { carried_sections: carried = [], topic_settings_at: settingsAt } = manifest
  const again: ReadAgain = { names: [], taken: {}, warnings: [] }
  const unlessFailed = <T>(what: readonly string[], work: Promise<T>) =>
    work.catch((error: unknown) => {
      parts.onProgress({ type: 'warning', message: notReadAgain(what, error) })
      return undefined
    })
  const take = async (name: SectionName, observed: ObservedSource) => {
    const base: Prepared = { observed, plan: { topics: [], warnings: [] }, previous: manifest }
    const taken = await takers[name](base, options.backupId, parts, signal)
    const { warnings } = taken.plan
    if (hasFailed(name, taken)) throw new KafkaBackupError('KAFKA_UNREACHABLE', warnings.join('; '))
    again.names.push(name)
    again.warnings.push(...warnings)
    const { registry, groups, access } = taken
    again.taken = {
      ...again.taken,
      ...(registry && { registry }),
      ...(groups && { groups }),
      ...(access && { access }),
    }
  }
  if (carried.includes('schema_registry') && parts.readRegistry)
    await unlessFailed([labels.schema_registry], take('schema_registry', nothingObserved))
  const names = (['consumer_groups', 'access'] as const).filter(name => carried.includes(name))
  if (names.length === 0 && settingsAt === undefined) return again
  const what = [...names.map(name => labels[name]), ...(settingsAt === undefined ? [] : ['topic settings'])]
  const observed = await unlessFailed(what, observeAgain(manifest, options, parts, signal))
  if (!observed) return again
  const settled = settleTopics(manifest.topics, observed)
  if (settingsAt !== undefined && settled.topics) again.topics = settled.topics
  // Offsets of a topic that was re-created do not belong to the records of the generation.
  const readable = names.filter(name => name !== 'consumer_groups' || settled.areSame)
  for (const name of readable) {
    const reading =
      name === 'consumer_groups'
        ? assertUntruncated(manifest, observed, parts, signal).then(() => take(name, observed))
        : take(name, observed)
    await unlessFailed([labels[name]], reading)
  }
  return again
}

const labels: Record<SectionName, string> = {
  schema_registry: 'schemas',
  consumer_groups: 'committed offsets',
  access: 'access rules',
}

const nothingObserved: ObservedSource = {
  observedAt: '',
  clusterId: null,
  brokers: 0,
  topics: [],
  visible: new Set(),
  warnings: [],
}

/** Settings that decide since when deletions of a compacted topic are known: the next run must see that they have changed. */
const decidesDeletions = ['cleanup.policy', 'delete.retention.ms']

/** Pure. The topics with the settings that they have now; without them where the next run must compare the settings. */
function settleTopics(
  topics: readonly ManifestTopic[],
  observed: ObservedSource,
): { topics?: ManifestTopic[]; areSame: boolean } {
  const keyOf = ({ name, id }: { name: string; id: string }) => `${name}/${id}`
  const byKey = new Map(observed.topics.map(topic => [keyOf(topic), topic]))
  let mustCompare = false
  const settled = topics.map(topic => {
    const now = topic.state === 'current' ? byKey.get(keyOf(topic)) : undefined
    if (!now || now.hasUnknownSettings) return topic
    const next = { ...topic, configs: now.configs, effective_configs: now.effectiveConfigs }
    if (decidesDeletions.some(name => effectiveSetting(next, name) !== effectiveSetting(topic, name)))
      mustCompare = true
    return next
  })
  const areSame = topics.every(topic => topic.state !== 'current' || byKey.has(keyOf(topic)))
  return { areSame, ...(!mustCompare && { topics: settled }) }
}

function notReadAgain(what: readonly string[], error: unknown): string {
  const { message } = toKafkaBackupError(error)
  return `the run ends, and ${what.join(', ')} could not be read once more; changes since the last reading are missing: ${message}`
}

/** Pure. The generation with what was read again in the place of what it carried. */
function withAgain(
  { format: _, format_version: __, carried_sections = [], topic_settings_at, ...kept }: Manifest,
  { names, taken, topics, warnings }: ReadAgain,
  olderWarnings: readonly string[],
): Draft['manifest'] {
  const others = carried_sections.filter(name => !names.includes(name))
  return {
    ...kept,
    generation: kept.generation + 1,
    ...(topics ? { topics } : topic_settings_at !== undefined && { topic_settings_at }),
    ...(taken.registry && { schema_registry: taken.registry }),
    ...(taken.groups && { consumer_groups: taken.groups }),
    ...(taken.access && { access: taken.access }),
    ...(others.length > 0 && { carried_sections: others }),
    warnings: [...kept.warnings.filter(message => !olderWarnings.includes(message)), ...warnings],
  }
}

async function commit(
  base: NewestState,
  next: Draft['manifest'],
  { taken, warnings }: ReadAgain,
  parts: BackupParts,
  signal: AbortSignal,
): Promise<void> {
  const { storage, clock, newRun, toolVersion, onProgress } = parts
  const { manifest: previous } = base
  for (const message of warnings) if (!previous?.warnings.includes(message)) onProgress({ type: 'warning', message })
  const made = { ...next, tool_version: toolVersion, run: newRun(), created_at: formatUtc(clock.now()) }
  const confirm = () => confirmLease(parts, { backupId: next.backup_id, previous, keys: sectionKeys(taken) }, signal)
  const own = { newRun, nowMs: () => clock.now(), confirm, isQuick: true }
  const committed = await commitState(storage, base, made, own, signal)
  for (const message of await renewCopies(storage, committed, signal)) onProgress({ type: 'warning', message })
  onProgress({ type: 'committed', generation: committed.generation, complete: committed.complete })
}

/** Of a run that has committed it. Starting again would hide it: an unmounted volume leaves an empty folder behind. */
export function missingGeneration(
  { location }: { location: string },
  { backup_id, generation }: Pick<Manifest, 'backup_id' | 'generation'>,
): KafkaBackupError {
  const message = `generation ${generation} of backup \`${backup_id}\` was there, and is not at ${location} any more`
  const help = 'Check that the location is still the same, and mounted; then run the same command again.'
  return new KafkaBackupError('ARCHIVE_DAMAGED', message, { help })
}
