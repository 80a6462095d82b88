import type { ApiVersions } from '../wire/api.ts'

/**
 * Every request that this client makes. `oldest` to `newest` are the versions that it can use; with each broker it uses the
 * newest one that both sides have. All brokers from Kafka 2.1 on have what backups and restores of records and committed offsets need.
 */
export interface RequestRow extends ApiVersions {
  use: RequestUse
  /** The permissions without which a broker refuses the request or leaves something out of its answer. */
  needs: readonly Need[]
  /** Which jobs stop without it. Undefined: no job does; they do without it, and report `without`. */
  requiredFor?: string
  /** What a job loses where a broker does not have the request; for a required one, what it is for. */
  without: string
  /** What it loses where the newest version in common is below one of these. */
  limits?: readonly { below: number; loses: string }[]
}

/** What a request is for: to connect, to read records, to write them, for consumer groups, for access rules. */
export type RequestUse = 'connect' | 'read' | 'write' | 'groups' | 'access'

/** An operation on a type of resource, as `kafka-acls` names it. */
export type Need = `${'topic' | 'group' | 'cluster'} ${AclOperation}`

export type AclOperation =
  | 'Read'
  | 'Write'
  | 'Create'
  | 'Delete'
  | 'Alter'
  | 'Describe'
  | 'DescribeConfigs'
  | 'AlterConfigs'

type Versions = readonly [oldest: number, newest: number, flexibleFrom: number]

function row(
  name: string,
  key: number,
  [oldest, newest, flexibleFrom]: Versions,
  rest: Pick<RequestRow, 'use' | 'needs' | 'requiredFor' | 'without' | 'limits'>,
): RequestRow {
  return { name, key, oldest, newest, flexibleFrom, ...rest }
}

/** No version of a request is this high: it has none with the flexible encoding. */
const NEVER = 99

export const requestTable = {
  apiVersions: row('ApiVersions', 18, [0, 3, 3], {
    use: 'connect',
    needs: [],
    requiredFor: 'every job',
    without: 'the versions that a broker speaks stay unknown',
  }),
  metadata: row('Metadata', 3, [4, 12, 9], {
    use: 'connect',
    needs: ['topic Describe'],
    requiredFor: 'every job',
    without: 'brokers, topics and leaders stay unknown',
    limits: [
      { below: 7, loses: 'leader epochs stay unknown' },
      { below: 8, loses: '`check` cannot list the permissions on topics' },
      { below: 10, loses: 'topics have no IDs' },
    ],
  }),
  fetch: row('Fetch', 1, [4, 13, 12], {
    use: 'read',
    needs: ['topic Read'],
    requiredFor: 'backups, and comparisons with a target',
    without: 'no record can be read',
    limits: [
      { below: 10, loses: 'topics compressed with zstd cannot be read' },
      { below: 11, loses: 'replicas near the client are not used' },
      { below: 13, loses: 'topics are read by name' },
    ],
  }),
  listOffsets: row('ListOffsets', 2, [2, 8, 6], {
    use: 'read',
    needs: ['topic Describe'],
    requiredFor: 'every job',
    without: 'the bounds of partitions stay unknown',
    limits: [
      { below: 8, loses: 'all partitions of tiered topics are read as if their records were in remote storage' },
    ],
  }),
  offsetForLeaderEpoch: row('OffsetForLeaderEpoch', 23, [1, 4, 4], {
    use: 'read',
    needs: ['topic Describe'],
    without:
      'a log that lost records and grew again is recognized while it is read, not before; a restore does not see batches that only a leader has',
  }),
  describeConfigs: row('DescribeConfigs', 32, [1, 4, 4], {
    use: 'read',
    // The settings of a broker need it on the cluster; without it those of topics are used.
    needs: ['topic DescribeConfigs'],
    requiredFor: 'restores',
    without: 'the settings of topics and brokers stay unknown: a backup holds none, and warns',
  }),
  describeLogDirs: row('DescribeLogDirs', 35, [0, 2, 2], {
    use: 'read',
    needs: ['cluster Describe'],
    without: 'the sizes of partitions stay unknown',
  }),
  describeCluster: row('DescribeCluster', 60, [0, 0, 0], {
    use: 'read',
    needs: [],
    without: 'the permissions on the cluster stay unknown',
  }),
  produce: row('Produce', 0, [3, 9, 9], {
    use: 'write',
    needs: ['topic Write'],
    requiredFor: 'restores',
    without: 'no record can be written',
    limits: [{ below: 8, loses: 'a broker does not name the records that made it refuse a batch' }],
  }),
  initProducerId: row('InitProducerId', 22, [0, 4, 2], {
    use: 'write',
    // Write on any topic is enough since Kafka 2.8; older brokers need IdempotentWrite on the cluster.
    needs: [],
    requiredFor: 'restores',
    without: 'records cannot be written exactly once',
    limits: [
      {
        below: 3,
        loses:
          'a restore of records older than `transactional.id.expiration.ms` ends where the broker forgets its producer, every ten minutes and when it restarts',
      },
    ],
  }),
  createTopics: row('CreateTopics', 19, [2, 7, 5], {
    use: 'write',
    // Or Create on the cluster, which allows every topic.
    needs: ['topic Create'],
    requiredFor: 'restores that create topics',
    without: 'topics cannot be created',
    limits: [
      { below: 5, loses: 'the settings of a new topic are not known before it is created' },
      { below: 7, loses: 'the ID of a new topic is asked for after it was created' },
    ],
  }),
  deleteTopics: row('DeleteTopics', 20, [1, 6, 4], {
    use: 'write',
    needs: ['topic Describe', 'topic Delete'],
    requiredFor: 'the probe of a restore',
    without: 'topics of probes cannot be deleted',
    limits: [{ below: 6, loses: 'topics are deleted by name' }],
  }),
  incrementalAlterConfigs: row('IncrementalAlterConfigs', 44, [0, 1, 1], {
    use: 'write',
    needs: ['topic AlterConfigs'],
    without:
      'all settings of a topic are replaced at once, with AlterConfigs: a change that another client makes meanwhile is lost',
  }),
  alterConfigs: row('AlterConfigs', 33, [0, 2, 2], {
    use: 'write',
    needs: ['topic AlterConfigs'],
    requiredFor: 'restores to brokers without IncrementalAlterConfigs',
    without: 'settings of topics cannot be changed there',
  }),
  findCoordinator: row('FindCoordinator', 10, [0, 4, 3], {
    use: 'groups',
    needs: ['group Describe'],
    requiredFor: 'consumer groups',
    without: 'the brokers of groups stay unknown',
  }),
  listGroups: row('ListGroups', 16, [0, 5, 3], {
    use: 'groups',
    // Without it a broker lists only the groups that the user may describe.
    needs: ['cluster Describe'],
    requiredFor: 'consumer groups',
    without: 'the groups stay unknown',
    limits: [
      { below: 4, loses: 'the list has no states' },
      { below: 5, loses: 'the list has no types' },
    ],
  }),
  describeGroups: row('DescribeGroups', 15, [0, 5, 5], {
    use: 'groups',
    needs: ['group Describe'],
    requiredFor: 'consumer groups',
    without: 'members of groups stay unknown',
    limits: [{ below: 3, loses: '`check` cannot list the permissions on groups' }],
  }),
  consumerGroupDescribe: row('ConsumerGroupDescribe', 69, [0, 0, 0], {
    use: 'groups',
    needs: ['group Describe', 'topic Describe'],
    without: 'the broker has no groups of the consumer protocol (KIP-848)',
  }),
  streamsGroupDescribe: row('StreamsGroupDescribe', 89, [0, 0, 0], {
    use: 'groups',
    needs: ['group Describe', 'topic Describe'],
    without: 'the broker has no groups of the Streams protocol (KIP-1071)',
  }),
  shareGroupDescribe: row('ShareGroupDescribe', 77, [1, 1, 0], {
    use: 'groups',
    needs: ['group Describe', 'topic Describe'],
    without: 'the broker has no share groups (KIP-932), or those of the early access',
  }),
  describeShareGroupOffsets: row('DescribeShareGroupOffsets', 90, [0, 0, 0], {
    use: 'groups',
    needs: ['group Describe', 'topic Describe'],
    without: 'share groups cannot be backed up',
  }),
  alterShareGroupOffsets: row('AlterShareGroupOffsets', 91, [0, 0, 0], {
    use: 'groups',
    needs: ['group Read', 'topic Read'],
    without: 'share groups cannot be restored or reset',
  }),
  offsetFetch: row('OffsetFetch', 9, [2, 8, 6], {
    use: 'groups',
    needs: ['group Describe', 'topic Describe'],
    requiredFor: 'consumer groups',
    without: 'committed offsets stay unknown',
    limits: [
      { below: 5, loses: 'committed offsets have no leader epochs' },
      { below: 7, loses: 'offsets in open transactions are not recognized: the last committed ones count' },
    ],
  }),
  offsetCommit: row('OffsetCommit', 8, [2, 8, 8], {
    use: 'groups',
    needs: ['group Read', 'topic Read'],
    requiredFor: 'restores and resets of consumer groups',
    without: 'offsets cannot be committed',
    limits: [{ below: 6, loses: 'committed offsets have no leader epochs' }],
  }),
  offsetDelete: row('OffsetDelete', 47, [0, 0, NEVER], {
    use: 'groups',
    needs: ['group Delete', 'topic Read'],
    requiredFor: 'rolling back a reset that committed offsets where there were none',
    without: 'committed offsets cannot be removed',
  }),
  describeAcls: row('DescribeAcls', 29, [1, 3, 2], {
    use: 'access',
    needs: ['cluster Describe'],
    requiredFor: 'ACLs',
    without: 'ACLs stay unknown',
    limits: [{ below: 3, loses: 'rules on users do not exist' }],
  }),
  createAcls: row('CreateAcls', 30, [1, 3, 2], {
    use: 'access',
    needs: ['cluster Alter'],
    requiredFor: 'restores of ACLs',
    without: 'ACLs cannot be created',
    limits: [{ below: 3, loses: 'rules on users cannot be created' }],
  }),
  describeClientQuotas: row('DescribeClientQuotas', 48, [0, 1, 1], {
    use: 'access',
    needs: ['cluster DescribeConfigs'],
    requiredFor: 'client quotas',
    without: 'client quotas stay unknown',
  }),
  alterClientQuotas: row('AlterClientQuotas', 49, [0, 1, 1], {
    use: 'access',
    needs: ['cluster AlterConfigs'],
    requiredFor: 'restores of client quotas',
    without: 'client quotas cannot be set',
  }),
  describeUserScramCredentials: row('DescribeUserScramCredentials', 50, [0, 0, 0], {
    use: 'access',
    needs: ['cluster Describe'],
    requiredFor: 'the list of SCRAM users',
    without: 'SCRAM users stay unknown',
  }),
  saslHandshake: row('SaslHandshake', 17, [1, 1, NEVER], {
    use: 'connect',
    needs: [],
    requiredFor: 'logins',
    without: 'nothing can log in',
  }),
  saslAuthenticate: row('SaslAuthenticate', 36, [0, 2, 2], {
    use: 'connect',
    needs: [],
    requiredFor: 'logins',
    without: 'nothing can log in',
    limits: [{ below: 1, loses: 'the end of a login is not announced' }],
  }),
} satisfies Record<string, RequestRow>

export type RequestName = keyof typeof requestTable

/**
 * Pure. What is lost to the versions of a broker, a sentence for each request: `Fetch v12: topics are read by name`. Undefined
 * is a request that the broker does not have. Logins are left out: they have succeeded, or there is none.
 */
export function lossesOf(versionOf: (row: RequestRow) => number | undefined, uses: readonly RequestUse[]): string[] {
  const rows: RequestRow[] = Object.values(requestTable).filter(
    ({ use, name }) => uses.includes(use) && !name.startsWith('Sasl'),
  )
  return rows.flatMap(row => {
    const version = versionOf(row)
    if (version === undefined) return `no ${row.name}: ${row.without}`
    const losses = (row.limits ?? []).filter(({ below }) => version < below).map(({ loses }) => loses)
    return losses.length === 0 ? [] : `${row.name} v${version}: ${losses.join(', ')}`
  })
}
