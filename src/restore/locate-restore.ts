import type { Cluster } from '../kafka/cluster.ts'
import type { Storage } from '../storage/storage.ts'
import { type FoundRestore, findRestore, planWithIds } from './find-restore.ts'
import type { RestoreOptions } from './options.ts'
import type { RestorePlan } from './plan.ts'
import { planRewrites } from './plan-rewrites.ts'
import { refuseBlocked } from './refusal.ts'
import type { RecordsSurvey } from './survey-records.ts'

/** What a restore puts where, and what of it the target has. */
export interface LocatedRestore {
  options: RestoreOptions
  plan: RestorePlan
  restoreId: string
  /** By name: the topics of the plan that the target has. */
  topics: ReadonlyMap<string, { id: string; partitions: ReadonlySet<number> }>
  /** Of the partitions whose indexes are read already. */
  segments: RecordsSurvey['segments']
}

interface LocateParts {
  cluster: Cluster
  storage: Storage
}

/** Reads the backup and the target, and changes neither. */
export async function locateRestore(
  options: RestoreOptions,
  parts: LocateParts,
  signal: AbortSignal,
): Promise<LocatedRestore> {
  return locateFound(await findRestore(options, parts, signal), options, parts, signal)
}

export async function locateFound(
  found: FoundRestore,
  options: RestoreOptions,
  { storage }: Pick<LocateParts, 'storage'>,
  signal: AbortSignal,
): Promise<LocatedRestore> {
  const { restoreId, target } = found
  const plan = planWithIds(found, options)
  const { rewrites, findings } = await planRewrites(options, plan.topics, { storage }, signal)
  refuseBlocked(findings)
  const located = { options, plan: { ...plan, rewrites }, restoreId, segments: new Map() }
  return { ...located, topics: topicsOf(plan, target.topics) }
}

/** The same after a run: the plan is that of its survey, and only the topics of the target are read again. */
export async function locateSurveyed(
  { options, plan, restoreId, segments }: RecordsSurvey,
  { cluster, storage }: LocateParts,
  signal: AbortSignal,
): Promise<LocatedRestore> {
  const { rewrites } = plan.rewrites ? plan : await planRewrites(options, plan.topics, { storage, segments }, signal)
  const { topics } = await cluster.metadata({ topics: null }, signal)
  const located = { options, plan: { ...plan, ...(rewrites && { rewrites }) }, restoreId, segments }
  return { ...located, topics: topicsOf(plan, topics) }
}

function topicsOf({ topics }: RestorePlan, onTarget: FoundRestore['target']['topics']): LocatedRestore['topics'] {
  const wanted = new Set(topics.map(({ name }) => name))
  const found = onTarget.filter(({ name }) => wanted.has(name))
  return new Map(
    found.map(({ name, id, partitions }) => [
      name,
      { id, partitions: new Set(partitions.map(({ partition }) => partition)) },
    ]),
  )
}
