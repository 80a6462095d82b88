import type { Cluster } from '../kafka/cluster.ts'
import type { Storage } from '../storage/storage.ts'
import { findPlan } from './find-plan.ts'
import type { RestoreOptions } from './options.ts'
import type { RestorePlan } from './plan.ts'
import { planRewrites } from './plan-rewrites.ts'
import { RestoreRefusal } from './refusal.ts'

export interface LocatedRestore {
  plan: RestorePlan
  restoreId: string
  /** By name: the topics of the plan that the target has. */
  topics: ReadonlyMap<string, { id: string; partitions: ReadonlySet<number> }>
}

/** What a restore with these options would put where, and under which name it is known. Looks only. */
export async function locateRestore(
  options: RestoreOptions,
  { cluster, storage }: { cluster: Cluster; storage: Storage },
  signal: AbortSignal,
): Promise<LocatedRestore> {
  const { plan, restoreId } = await findPlan(options, { cluster, storage }, signal)
  const { rewrites, findings } = await planRewrites(options, plan.topics, storage, signal)
  if (findings.some(({ severity }) => severity === 'error')) throw new RestoreRefusal(findings)
  const { topics } = await cluster.metadata({ topics: null }, signal)
  const wanted = new Set(plan.topics.map(({ name }) => name))
  const found = topics
    .filter(({ name }) => wanted.has(name))
    .map(
      ({ name, id, partitions }) => [name, { id, partitions: new Set(partitions.map(one => one.partition)) }] as const,
    )
  return { plan: { ...plan, rewrites }, restoreId, topics: new Map(found) }
}
