import { type AclOperation, type RequestName, type RequestRow, requestTable } from '../kafka/api/request-table.ts'
import { type AclNames, coverSelection, type NameSelection, withoutCovered } from './acl-resources.ts'

/** What decides which requests a job makes, and about what. */
export interface JobRequests {
  mode: 'backup' | 'restore'
  topics: NameSelection
  /** Undefined: no consumer groups are backed up or carried over. */
  groups?: NameSelection
  /** Where a restore records its progress. */
  progressGroup?: AclNames
  createTopics: boolean
  /** A restore that appends looks for the progress of others. */
  appends?: boolean
  acls: boolean
  quotas: boolean
  users: boolean
}

/** The operations to allow on the resources of one ACL, and the requests that need each. */
export interface RequiredRule {
  resource: 'topic' | 'group' | 'cluster'
  /** `kafka-cluster` for the cluster. */
  name: string
  pattern: AclNames['pattern']
  operations: { operation: AclOperation; requests: string[] }[]
}

export interface RequiredAcls {
  /** All that the job may make, also those that need no rule. */
  requests: string[]
  rules: RequiredRule[]
  notes: string[]
}

type Condition = (job: JobRequests) => boolean

const always: Condition = () => true
const never: Condition = () => false
const inBackup: Condition = ({ mode }) => mode === 'backup'
const inRestore: Condition = ({ mode }) => mode === 'restore'
const creating: Condition = job => inRestore(job) && job.createTopics
const withGroups: Condition = ({ groups }) => groups !== undefined
/** Of groups, or for the progress of a restore. */
const withCoordinators: Condition = job => inRestore(job) || withGroups(job)

/** The jobs that make a request. The type has a row for each request of the table, so a new one cannot be forgotten. */
const madeBy: Record<RequestName, Condition> = {
  apiVersions: always,
  saslHandshake: always,
  saslAuthenticate: always,
  metadata: always,
  fetch: always,
  listOffsets: always,
  offsetForLeaderEpoch: inBackup,
  describeConfigs: always,
  describeLogDirs: inBackup,
  describeCluster: always,
  produce: inRestore,
  initProducerId: inRestore,
  createTopics: creating,
  // Only by `restore --probe-target`.
  deleteTopics: never,
  incrementalAlterConfigs: creating,
  alterConfigs: creating,
  findCoordinator: withCoordinators,
  listGroups: job => (inBackup(job) ? withGroups(job) : job.appends === true),
  describeGroups: withCoordinators,
  consumerGroupDescribe: withGroups,
  streamsGroupDescribe: withGroups,
  shareGroupDescribe: withGroups,
  describeShareGroupOffsets: withGroups,
  alterShareGroupOffsets: job => inRestore(job) && withGroups(job),
  offsetFetch: withCoordinators,
  offsetCommit: inRestore,
  // Only by `offsets rollback`.
  offsetDelete: never,
  describeAcls: ({ acls }) => acls,
  createAcls: job => inRestore(job) && job.acls,
  describeClientQuotas: ({ quotas }) => quotas,
  alterClientQuotas: job => inRestore(job) && job.quotas,
  describeUserScramCredentials: ({ users }) => users,
}

/** Pure. The requests that a job may make. */
export function requestsOf(job: JobRequests): RequestRow[] {
  const names = Object.keys(madeBy) as RequestName[]
  return names.filter(name => madeBy[name](job)).map(name => requestTable[name])
}

/** Pure. The fewest ACLs with which a job can do all it is asked to, from the requests that it makes. */
export function planRequiredAcls(job: JobRequests): RequiredAcls {
  const topics = coverSelection(job.topics)
  const groups = job.groups ? coverSelection(job.groups) : { names: [], notes: [] }
  const requests = requestsOf(job)
  // The rule on progress groups is enough to list the groups that a restore looks for.
  const needing = inRestore(job) ? requests.filter(one => one !== requestTable.listGroups) : requests
  const rulesOf = (resource: RequiredRule['resource'], names: readonly AclNames[]): RequiredRule[] => {
    const operations = operationsOn(resource, needing)
    return operations.length === 0 ? [] : names.map(one => ({ resource, ...one, operations }))
  }
  return {
    requests: requests.map(({ name }) => name),
    rules: [
      ...rulesOf('topic', topics.names),
      ...rulesOf('group', withoutCovered([...(job.progressGroup ? [job.progressGroup] : []), ...groups.names])),
      ...rulesOf('cluster', [{ name: 'kafka-cluster', pattern: 'literal' }]),
    ],
    notes: [...topics.notes, ...groups.notes, ...notesOf(job)],
  }
}

function operationsOn(resource: RequiredRule['resource'], requests: readonly RequestRow[]): RequiredRule['operations'] {
  const found = new Map<AclOperation, string[]>()
  for (const { name, needs } of requests) {
    for (const need of needs) {
      const [kind, operation] = need.split(' ') as [RequiredRule['resource'], AclOperation]
      if (kind === resource) found.set(operation, [...(found.get(operation) ?? []), name])
    }
  }
  return [...found].map(([operation, names]) => ({ operation, requests: names }))
}

function notesOf(job: JobRequests): string[] {
  return [
    ...(job.groups
      ? [
          'a consumer group that also reads other topics may need Describe on those topics to be described (Kafka 4.1 and later)',
        ]
      : []),
    ...(inRestore(job)
      ? [
          'brokers before Kafka 2.8 also need IdempotentWrite on the cluster',
          '`restore --probe-target` also needs Describe, DescribeConfigs, Create, Write and Delete on topics with the prefix `__kafka-backup.probe.`',
        ]
      : []),
    ...(inRestore(job) && job.acls
      ? ['Alter on the cluster lets the user grant itself any permission: revoke it after the restore']
      : []),
  ]
}
