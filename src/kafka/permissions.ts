import { hasCode } from '../errors.ts'
import { describeCluster } from './api/describe-cluster.ts'
import { describeGroups } from './api/list-groups.ts'
import { lossesOf, requestTable } from './api/request-table.ts'
import { withCoordinator } from './at-coordinators.ts'
import { brokerError } from './broker-errors.ts'
import type { BrokerLink } from './broker-link.ts'
import type { Cluster } from './cluster.ts'

const TOPIC_AUTHORIZATION_FAILED = 29
const TOPICS_PER_REQUEST = 500

/** Operations on a topic as `kafka-acls.sh` names them, by the bit that a broker reports them with. */
const operationBits = {
  Read: 3,
  Write: 4,
  Create: 5,
  Delete: 6,
  Alter: 7,
  Describe: 8,
  DescribeConfigs: 10,
  AlterConfigs: 11,
}
export type TopicOperation = keyof typeof operationBits

/**
 * Which of the operations we may do, by topic. A topic that we may not even see has none; whether it exists makes no
 * difference. Brokers that do not tell leave their topics out.
 */
export async function fetchTopicPermissions(
  cluster: Cluster,
  topics: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, Set<TopicOperation>>> {
  const granted = new Map<string, Set<TopicOperation>>()
  for (let start = 0; start < topics.length; start += TOPICS_PER_REQUEST) {
    const some = topics.slice(start, start + TOPICS_PER_REQUEST)
    const answer = await cluster.metadata({ topics: some, withAuthorizedOperations: true }, signal)
    for (const { name, errorCode, authorizedOperations } of answer.topics) {
      const bits = errorCode === TOPIC_AUTHORIZATION_FAILED ? 0 : authorizedOperations
      if (bits !== undefined) granted.set(name, namesOf(bits))
    }
  }
  return granted
}

/** The same for a consumer group, which need not exist; undefined where the broker does not tell. */
export function fetchGroupPermissions(
  cluster: Cluster,
  group: string,
  signal: AbortSignal,
): Promise<Set<TopicOperation> | undefined> {
  const ask = async (link: BrokerLink) => {
    const [described] = await link.call(describeGroups, { groups: [group] }, signal)
    const { errorCode = 0, authorizedOperations } = described ?? {}
    if (errorCode !== 0) throw brokerError(errorCode, `describing group ${group}`, null, { group })
    return authorizedOperations === undefined ? undefined : namesOf(authorizedOperations)
  }
  return withCoordinator(cluster, group, ask, signal).catch(error => {
    if (hasCode(error, 'KAFKA_DENIED')) return new Set()
    throw error
  })
}

/** A list of groups holds those that one may describe, and does not tell what it leaves out. */
export async function maySeeAllGroups(cluster: Cluster, signal: AbortSignal): Promise<boolean> {
  return (await fetchClusterPermissions(cluster, signal))?.has('Describe') ?? true
}

/** What we may do to the cluster itself; undefined where the broker does not tell. */
export async function fetchClusterPermissions(
  cluster: Cluster,
  signal: AbortSignal,
): Promise<Set<TopicOperation> | undefined> {
  try {
    const { errorCode, authorizedOperations } = await cluster.callAny(describeCluster, {}, signal)
    return errorCode === 0 ? namesOf(authorizedOperations) : new Set()
  } catch (error) {
    if (hasCode(error, 'KAFKA_DENIED')) return new Set()
    if (hasCode(error, 'KAFKA_UNSUPPORTED')) return undefined
    throw error
  }
}

function namesOf(bits: number): Set<TopicOperation> {
  const names = Object.keys(operationBits) as TopicOperation[]
  return new Set(names.filter(name => (bits & (1 << operationBits[name])) !== 0))
}

/**
 * Opens a connection to the broker's advertised address and makes sure that what the job needs can be asked over it. Answers
 * with what was found, and with what the job loses to versions that are older than those of this client.
 */
export async function probeBroker(
  cluster: Cluster,
  brokerId: number,
  work: 'read' | 'write',
  signal: AbortSignal,
): Promise<string> {
  const link = await cluster.openLink(brokerId, signal)
  try {
    for (const row of neededFor[work]) link.assertSpeaks(row)
    const losses = lossesOf(row => link.versionOf(row), ['connect', work])
    return [`${link.description} answers`, ...losses].join('; ')
  } finally {
    link.close()
  }
}

const { fetch, produce, initProducerId } = requestTable
const neededFor = { read: [fetch], write: [fetch, produce, initProducerId] }
