import type { Cluster } from '../kafka/cluster.ts'
import type { Finding } from '../observe/finding.ts'
import { findForgetting } from './forgotten-producer.ts'
import { findNoRoom } from './note-room.ts'
import type { RestorePlan } from './plan.ts'

/** What brokers of the target may refuse while a restore writes records and its progress. */
export async function judgeBrokers(
  cluster: Cluster,
  plan: RestorePlan,
  facts: Parameters<typeof findForgetting>[1],
  signal: AbortSignal,
): Promise<Finding[]> {
  return [...findNoRoom(plan, facts.defaults), ...(await findForgetting(cluster, facts, signal))]
}
