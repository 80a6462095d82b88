import { fetchApi } from './api/fetch.ts'
import type { Cluster } from './cluster.ts'

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

/** Which of the operations we may do, by topic. A topic that we may not even see has none. */
export async function fetchTopicPermissions(
  cluster: Cluster,
  topics: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, Set<TopicOperation>>> {
  const answer = await cluster.metadata({ topics: [...topics], withAuthorizedOperations: true }, signal)
  return new Map(answer.topics.map(({ name, authorizedOperations }) => [name, namesOf(authorizedOperations ?? 0)]))
}

function namesOf(bits: number): Set<TopicOperation> {
  const names = Object.keys(operationBits) as TopicOperation[]
  return new Set(names.filter(name => (bits & (1 << operationBits[name])) !== 0))
}

/** Opens a connection to the broker's advertised address and makes sure that data can be read over it. */
export async function probeBroker(cluster: Cluster, brokerId: number, signal: AbortSignal): Promise<string> {
  const link = await cluster.openLink(brokerId, signal)
  try {
    link.assertSpeaks(fetchApi)
    return link.description
  } finally {
    link.close()
  }
}
