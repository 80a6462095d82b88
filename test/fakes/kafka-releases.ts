import { requestTable } from '../../src/kafka/api/request-table.ts'
import type { Versions } from './fake-broker.ts'

type Rows = Partial<Record<keyof typeof requestTable, readonly [oldest: number, newest: number]>>

/** What brokers of Kafka 2.1 answer to ApiVersions. */
export const kafka21 = versionsOf({
  produce: [0, 7],
  fetch: [0, 10],
  listOffsets: [0, 4],
  metadata: [0, 7],
  offsetCommit: [0, 6],
  offsetFetch: [0, 5],
  findCoordinator: [0, 2],
  describeGroups: [0, 2],
  listGroups: [0, 2],
  saslHandshake: [0, 1],
  apiVersions: [0, 2],
  createTopics: [0, 3],
  deleteTopics: [0, 3],
  initProducerId: [0, 1],
  offsetForLeaderEpoch: [0, 2],
  describeAcls: [0, 1],
  createAcls: [0, 1],
  describeConfigs: [0, 2],
  alterConfigs: [0, 1],
  describeLogDirs: [0, 1],
  saslAuthenticate: [0, 0],
})

/** Of Kafka 2.8: topics have IDs, which Fetch does not know. */
export const kafka28 = versionsOf({
  produce: [0, 9],
  fetch: [0, 12],
  listOffsets: [0, 6],
  metadata: [0, 11],
  offsetCommit: [0, 8],
  offsetFetch: [0, 7],
  findCoordinator: [0, 3],
  describeGroups: [0, 5],
  listGroups: [0, 4],
  saslHandshake: [0, 1],
  apiVersions: [0, 3],
  createTopics: [0, 7],
  deleteTopics: [0, 6],
  initProducerId: [0, 4],
  offsetForLeaderEpoch: [0, 4],
  describeAcls: [0, 2],
  createAcls: [0, 2],
  describeConfigs: [0, 4],
  alterConfigs: [0, 2],
  describeLogDirs: [0, 2],
  saslAuthenticate: [0, 2],
  incrementalAlterConfigs: [0, 1],
  offsetDelete: [0, 0],
  describeClientQuotas: [0, 1],
  alterClientQuotas: [0, 1],
  describeUserScramCredentials: [0, 0],
  describeCluster: [0, 0],
})

export function versionsOf(rows: Rows): Versions {
  const names = Object.keys(rows) as (keyof typeof requestTable)[]
  return new Map(names.flatMap(name => (rows[name] ? [[requestTable[name].key, rows[name]] as const] : [])))
}

/** The same without these requests. */
export function without(versions: Versions, names: readonly (keyof typeof requestTable)[]): Versions {
  const keys = new Set<number>(names.map(name => requestTable[name].key))
  return new Map([...versions].filter(([key]) => !keys.has(key)))
}
