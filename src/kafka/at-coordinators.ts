import { hasCode, KafkaBackupError, toKafkaBackupError } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import { type FoundCoordinator, findCoordinator } from './api/find-coordinator.ts'
import { brokerError } from './broker-errors.ts'
import type { BrokerLink } from './broker-link.ts'
import type { Cluster } from './cluster.ts'

/** What was found of each group, or why nothing was; every group that was asked for is in it. */
export type ByGroup<T> = Map<string, T | KafkaBackupError>

/** Asks a coordinator about some of its groups. An error that passes, in the answer or thrown, is asked for again. */
export type AskCoordinator<T> = (link: BrokerLink, groups: readonly string[]) => Promise<ByGroup<T>>

const GROUPS_PER_LOOKUP = 500
const GROUPS_PER_REQUEST = 50
const REQUESTS_AT_ONCE = 16

/**
 * Asks for many groups, each at its coordinator, with one request for many of them. Those whose coordinator is loading, has
 * moved or does not answer are looked up and asked for again, alone. What fails in the end is an error of its group.
 */
export async function atCoordinators<T>(
  cluster: Cluster,
  groups: readonly string[],
  ask: AskCoordinator<T>,
  signal: AbortSignal,
): Promise<ByGroup<T>> {
  const found: ByGroup<T> = new Map()
  let rest = [...new Set(groups)]
  let isFirst = true
  const round = async () => {
    // The addresses known so far may be the very reason of the failure.
    if (!isFirst) await cluster.metadata({ topics: [] }, signal)
    isFirst = false
    const coordinators = await findAll(cluster, rest, found, signal)
    const requests = [...coordinators].flatMap(([brokerId, led]) => sliced(led, GROUPS_PER_REQUEST, brokerId))
    await runPool(requests, REQUESTS_AT_ONCE, async ({ brokerId, some }) => {
      const answers = await askOne(cluster, brokerId, some, ask, signal)
      for (const group of some) found.set(group, answers.get(group) ?? nothingSaid(group))
    })
    rest = rest.filter(group => isPassing(found.get(group)))
    const failure = rest.map(group => found.get(group)).find(isPassing)
    if (failure) throw failure
  }
  if (rest.length === 0) return found
  await cluster.settling(round, signal).catch(error => settle(error, rest, found, signal))
  return found
}

/** Coordinators by broker; a group whose coordinator is not known has that as its answer. */
async function findAll<T>(
  cluster: Cluster,
  groups: readonly string[],
  found: ByGroup<T>,
  signal: AbortSignal,
): Promise<Map<number, string[]>> {
  const led = new Map<number, string[]>()
  for (const { some } of sliced(groups, GROUPS_PER_LOOKUP)) {
    const answers = new Map<string, FoundCoordinator>()
    for (const one of await cluster.callAny(findCoordinator, { groups: [...some] }, signal)) answers.set(one.group, one)
    for (const group of some) {
      const { brokerId = -1, errorCode = 0, errorMessage = null } = answers.get(group) ?? {}
      const doing = `looking for the coordinator of group ${group}`
      if (!answers.has(group)) found.set(group, nothingSaid(group))
      else if (errorCode !== 0) found.set(group, brokerError(errorCode, doing, errorMessage, { group }))
      else led.set(brokerId, [...(led.get(brokerId) ?? []), group])
    }
  }
  return led
}

async function askOne<T>(
  cluster: Cluster,
  brokerId: number,
  groups: readonly string[],
  ask: AskCoordinator<T>,
  signal: AbortSignal,
): Promise<ByGroup<T>> {
  try {
    return await ask(await cluster.link(brokerId, signal), groups)
  } catch (error) {
    if (signal.aborted || !(error instanceof KafkaBackupError)) throw error
    return new Map(groups.map(group => [group, error]))
  }
}

/** What passes has not passed: it is the answer for its groups. A lookup that failed as a whole is that of all of them. */
function settle<T>(error: unknown, rest: readonly string[], found: ByGroup<T>, signal: AbortSignal): void {
  if (signal.aborted || hasCode(toKafkaBackupError(error), 'INTERNAL')) throw error
  for (const group of rest) if (!found.has(group)) found.set(group, toKafkaBackupError(error))
}

function isPassing(answer: unknown): answer is KafkaBackupError {
  return answer instanceof KafkaBackupError && answer.retryable
}

function nothingSaid(group: string): KafkaBackupError {
  return new KafkaBackupError('KAFKA_PROTOCOL', `the broker's answer lacks group ${group}`)
}

function sliced(groups: readonly string[], size: number, brokerId = -1): { brokerId: number; some: string[] }[] {
  const count = Math.ceil(groups.length / size)
  return Array.from({ length: count }, (_, i) => ({ brokerId, some: groups.slice(i * size, (i + 1) * size) }))
}

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
    if (errorCode !== 0)
      throw brokerError(errorCode, `looking for the coordinator of group ${group}`, errorMessage, { group })
    return call(await cluster.link(brokerId, signal))
  }, signal)
}
