import { readManifest } from '../archive/catalog.ts'
import { readGroups } from '../archive/groups.ts'
import type { RestoreJob } from '../config/load-job.ts'
import type { Finding } from '../observe/finding.ts'
import type { OnProgress } from '../observe/progress.ts'
import { type CarriedStream, type CarryPlan, planCarry } from '../offsets/carry-plan.ts'
import type { CarryReport } from '../offsets/carry-report.ts'
import { findPlan } from '../restore/find-plan.ts'
import type { RestoreOptions } from '../restore/options.ts'
import type { RestorePlan } from '../restore/plan.ts'
import { readIfAllowed } from '../restore/prepare-restore.ts'
import type { RestoreParts } from '../restore/run-restore.ts'

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
  const { consumer_groups: section } = await readManifest(storage, backupId, generation, signal)
  const groups = section?.state === 'taken' ? (await readGroups(storage, section, signal)).groups : []
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

function streamsOf({ topics }: RestorePlan): CarriedStream[] {
  return topics.flatMap(({ name, source, streams }) =>
    streams.map(({ partition, legs }) => ({
      topic: source.name,
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
