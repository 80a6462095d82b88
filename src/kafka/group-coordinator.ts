import { findCoordinator } from './api/find-coordinator.ts'
import { brokerError } from './broker-errors.ts'
import type { BrokerLink } from './broker-link.ts'
import type { Cluster } from './cluster.ts'

/**
 * Calls with a connection to the broker that coordinates the group. When the call fails with an error that passes
 * (coordinator loading or moved, connection lost), the coordinator is looked up again and the call is made again.
 */
export function withCoordinator<T>(
  cluster: Cluster,
  group: string,
  call: (link: BrokerLink) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  let isFirst = true
  return cluster.settling(async () => {
    // The addresses known so far may be the very reason of the failure.
    if (!isFirst) await cluster.metadata({ topics: [] }, signal)
    isFirst = false
    const [found] = await cluster.callAny(findCoordinator, { groups: [group] }, signal)
    const { brokerId = -1, errorCode = 0, errorMessage = null } = found ?? {}
    if (errorCode !== 0) throw brokerError(errorCode, `looking for the coordinator of group ${group}`, errorMessage)
    return call(await cluster.link(brokerId, signal))
  }, signal)
}
