import { readManifest } from '../archive/catalog.ts'
import { readGroups } from '../archive/groups.ts'
import type { StoredGroup } from '../archive/groups-section.ts'
import type { Manifest } from '../archive/manifest.ts'
import type { RestoreJob } from '../config/load-job.ts'
import type { Finding } from '../observe/finding.ts'
import type { OnProgress } from '../observe/progress.ts'
import { type CarriedStream, type CarryPlan, type CarrySource, planCarry } from '../offsets/carry-plan.ts'
import type { CarryReport } from '../offsets/carry-report.ts'
import { mergeGroups, positionsOf, sectionFor } from '../offsets/merge-groups.ts'
import { findPlan } from '../restore/find-plan.ts'
import type { RestoreOptions } from '../restore/options.ts'
import type { RestorePlan } from '../restore/plan.ts'
import { readIfAllowed } from '../restore/prepare-restore.ts'
import type { RestoreParts } from '../restore/run-restore.ts'
import type { Storage } from '../storage/storage.ts'

/** The consumer groups of a backup on their way to the target. */
export interface GroupSession {
  plan: CarryPlan
  /** What stands in the way, or should be known. */
  findings: Finding[]
  /** Gives them their positions, when the restore with these options is done. */
  run(options: RestoreOptions, onProgress: OnProgress): Promise<CarryReport>
}

/** Reads the backup and the target, and writes nothing. */
export async function openGroupSession(
  { restore }: Pick<RestoreJob, 'restore'>,
  options: RestoreOptions,
  { cluster, storage }: Pick<RestoreParts, 'cluster' | 'storage'>,
  signal: AbortSignal,
): Promise<GroupSession> {
  const found = await findPlan(options, { cluster, storage, readNotes: readIfAllowed }, signal)
  const { backupId, generation, sourceCluster } = found.plan
  const manifest = await readManifest(storage, backupId, generation, signal)
  const { section, groups } = await readRestoredGroups(manifest, found.plan, storage, signal)
  const isSameCluster = sourceCluster !== null && sourceCluster === found.targetCluster
  const source = { section, groups, generation, streams: streamsOf(found.plan), isSameCluster }
  const plan = planCarry(restore.consumerGroups, source)
  const { surveyCarry } = await import('../offsets/carry-survey.ts')
  const target = await surveyCarry(cluster, plan, found.progress !== undefined, signal)
  return {
    plan,
    findings: [...plan.findings, ...target],
    run: async (done, onProgress) => {
      const [{ carryGroups }, { openStreamMaps }] = await Promise.all([
        import('../offsets/carry-groups.ts'),
        import('../restore/offset-map.ts'),
      ])
      const openMaps: Parameters<typeof carryGroups>[1] = isWanted =>
        openStreamMaps(done, { cluster, storage }, { isWanted, isWhole: true }, signal)
      return carryGroups(plan, openMaps, { cluster, onProgress }, signal)
    },
  }
}

/**
 * The committed offsets of what is restored. Those of a topic that is not current in the generation are in an object of
 * their own, which was written while it was; they are given under the label of the topic.
 */
async function readRestoredGroups(
  { consumer_groups: section }: Manifest,
  { topics }: RestorePlan,
  storage: Storage,
  signal: AbortSignal,
): Promise<Pick<CarrySource, 'section' | 'groups'>> {
  const isOlder = topics.length > 0 && topics.every(({ source }) => source.consumer_groups !== undefined)
  const taken = section?.state === 'taken' ? (await readGroups(storage, section, signal)).groups : []
  // Where nothing current is restored it does not matter that a group cannot be read any more.
  const current = isOlder ? taken.map(group => ({ ...group, error: null })) : taken
  const kept: StoredGroup[][] = []
  for (const { source, label } of topics) {
    if (!source.consumer_groups) continue
    const { groups } = await readGroups(storage, source.consumer_groups, signal)
    kept.push(positionsOf(groups, source.name, label))
  }
  const own = topics.map(({ source }) => source.consumer_groups)
  return { section: sectionFor(section, own), groups: mergeGroups([current, ...kept]) }
}

function streamsOf({ topics }: RestorePlan): CarriedStream[] {
  return topics.flatMap(({ name, label, streams }) =>
    streams.map(({ partition, legs }) => ({
      topic: label,
      partitions: legs.map(leg => ({
        partition: leg.source.partition,
        start: leg.start,
        end: leg.end,
        sourceEnd: leg.source.end_offset,
      })),
      targetTopic: name,
      targetPartition: partition,
    })),
  )
}
