import { openBackup, readManifest } from '../archive/catalog.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { Clock } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import type { RestoreOptions } from './options.ts'
import { deriveRestoreId, planRestore, type RestorePlan } from './plan.ts'
import { examineTarget, type Preflight } from './preflight.ts'
import { type RestoreProgress, readProgress, streamKey } from './progress.ts'
import { RestoreRefusal } from './refusal.ts'

export interface Prepared {
  plan: RestorePlan
  restoreId: string
  /** The id of the target. */
  targetCluster: string | null
  progress: RestoreProgress | undefined
  preflight: Preflight
}

interface SurveyParts {
  cluster: Cluster
  storage: Storage
  clock: Clock
}

/** Everything up to the first write. Errors that stand in the way are thrown, all at once. */
export async function prepareRestore(
  options: RestoreOptions,
  parts: SurveyParts,
  signal: AbortSignal,
): Promise<Prepared> {
  const survey = await surveyRestore(options, parts, signal)
  const { plan, progress, preflight } = survey
  const isRefused = preflight.findings.some(({ severity }) => severity === 'error')
  if (isRefused && !isComplete(plan, progress)) throw new RestoreRefusal(preflight.findings)
  return survey
}

/** The same, with what stands in the way among the findings. */
export async function surveyRestore(
  options: RestoreOptions,
  { cluster, storage, clock }: SurveyParts,
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
  return { plan, restoreId, targetCluster: clusterId, progress, preflight }
}

export function isComplete(plan: RestorePlan, progress: RestoreProgress | undefined): boolean {
  const planned = plan.topics.flatMap(({ name, streams }) =>
    streams.map(({ partition }) => streamKey({ topic: name, partition })),
  )
  return progress !== undefined && planned.every(key => progress.streams.get(key)?.isDone)
}
