import { openBackup, readManifest } from '../archive/catalog.ts'
import { KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { Clock } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import type { RestoreOptions } from './options.ts'
import { deriveRestoreId, planRestore, type RestorePlan } from './plan.ts'
import { examineTarget, type Finding, type Preflight } from './preflight.ts'
import { type RestoreProgress, readProgress, streamKey } from './progress.ts'

export interface Prepared {
  plan: RestorePlan
  restoreId: string
  progress: RestoreProgress | undefined
  preflight: Preflight
}

/** Everything up to the first write. Errors that stand in the way are thrown, all at once. */
export async function prepareRestore(
  options: RestoreOptions,
  { cluster, storage, clock }: { cluster: Cluster; storage: Storage; clock: Clock },
  signal: AbortSignal,
): Promise<Prepared> {
  const { backupId, generation } = options
  const newest = await openBackup(storage, backupId, signal)
  const manifest = generation === undefined ? newest : await readManifest(storage, backupId, generation, signal)
  const plan = planRestore(manifest, options)
  const { clusterId } = await cluster.metadata({ topics: [] }, signal)
  const restoreId = options.restoreId ?? deriveRestoreId(plan, clusterId)
  const progress = await readProgress(cluster, restoreId, signal)
  const preflight = await examineTarget(cluster, plan, { ...options, nowMs: clock.now() }, progress, signal)
  const errors = preflight.findings.filter(({ severity }) => severity === 'error')
  if (errors.length > 0 && !isComplete(plan, progress)) {
    throw new KafkaBackupError('RESTORE_REFUSED', errors.map(describeFinding).join('; '), {
      help: errors[0]?.remedy ?? '',
    })
  }
  return { plan, restoreId, progress, preflight }
}

export function describeFinding({ topic, problem, remedy }: Finding): string {
  return `${topic}: ${problem} (${remedy})`
}

export function isComplete(plan: RestorePlan, progress: RestoreProgress | undefined): boolean {
  const planned = plan.topics.flatMap(({ name, streams }) =>
    streams.map(({ partition }) => streamKey({ topic: name, partition })),
  )
  return progress !== undefined && planned.every(key => progress.streams.get(key)?.isDone)
}
