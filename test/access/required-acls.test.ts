import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { kafkaAclsCommands, strimziAuthorization } from '../../src/access/format-acls.ts'
import { type JobRequests, planRequiredAcls, requestsOf } from '../../src/access/required-acls.ts'
import { type RequestRow, requestTable } from '../../src/kafka/api/request-table.ts'

const none = { createTopics: false, acls: false, quotas: false, users: false }
const topics = { include: ['orders'], exclude: [], field: 'source.topics' }
const groups = { include: ['billing-*'], exclude: [], field: 'backup.consumer_groups' }
const progressGroup = { name: '__kafka-backup.restore.', pattern: 'prefixed' } as const

const backup: JobRequests = { mode: 'backup', topics, groups, ...none }
const restore: JobRequests = { mode: 'restore', topics, groups, progressGroup, ...none, createTopics: true }
const access = { acls: true, quotas: true, users: true }

/** `topic orders: Describe Read`, one text a rule. */
function rulesOf(job: JobRequests): string[] {
  return planRequiredAcls(job).rules.map(({ resource, name, pattern, operations }) => {
    const allowed = operations.map(({ operation }) => operation).sort()
    return `${resource} ${name}${pattern === 'prefixed' ? '…' : ''}: ${allowed.join(' ')}`
  })
}

function writesOf(job: JobRequests): string[] {
  const reading = new Set(['Read', 'Describe', 'DescribeConfigs'])
  const used = planRequiredAcls(job).rules.flatMap(rule => rule.operations.map(({ operation }) => operation))
  return used.filter(operation => !reading.has(operation))
}

describe('the ACLs of a job', () => {
  test('of a backup are those of its reads', () => {
    assert.deepEqual(rulesOf(backup), [
      'topic orders: Describe DescribeConfigs Read',
      'group billing-…: Describe',
      'cluster kafka-cluster: Describe',
    ])
    const { groups: _, ...recordsOnly } = backup
    assert.deepEqual(rulesOf(recordsOnly), [
      'topic orders: Describe DescribeConfigs Read',
      'cluster kafka-cluster: Describe',
    ])
  })

  test('of a backup allow no change, whatever it takes', () => {
    assert.deepEqual(writesOf({ ...backup, ...access }), [])
    assert.notDeepEqual(writesOf({ ...restore, ...access }), [])
    assert.deepEqual(rulesOf({ ...backup, quotas: true }).at(-1), 'cluster kafka-cluster: Describe DescribeConfigs')
  })

  test('of a restore include its progress group, and the creation of topics where it is on', () => {
    assert.deepEqual(rulesOf(restore), [
      'topic orders: AlterConfigs Create Describe DescribeConfigs Read Write',
      'group __kafka-backup.restore.…: Describe Read',
      'group billing-…: Describe Read',
    ])
    const { groups: _, ...recordsOnly } = restore
    assert.deepEqual(rulesOf({ ...recordsOnly, createTopics: false }), [
      'topic orders: Describe DescribeConfigs Read Write',
      'group __kafka-backup.restore.…: Describe Read',
    ])
  })

  test('of a restore of access rules are on the cluster, and the note warns of Alter', () => {
    const cluster = (some: Partial<JobRequests>) => rulesOf({ ...restore, ...some }).filter(one => one.startsWith('cl'))
    assert.deepEqual(cluster({ acls: true }), ['cluster kafka-cluster: Alter Describe'])
    assert.deepEqual(cluster({ quotas: true }), ['cluster kafka-cluster: AlterConfigs DescribeConfigs'])
    assert.deepEqual(cluster({ users: true }), ['cluster kafka-cluster: Describe'])
    assert.match(planRequiredAcls({ ...restore, acls: true }).notes.join('\n'), /revoke it after the restore/)
    assert.doesNotMatch(planRequiredAcls(restore).notes.join('\n'), /revoke it/)
  })

  test('name the requests that need each operation', () => {
    const [ofTopic] = planRequiredAcls(backup).rules
    assert.deepEqual(ofTopic?.operations.find(({ operation }) => operation === 'Read')?.requests, ['Fetch'])
  })

  test('come from a table in which every request says what it needs', () => {
    const rows: RequestRow[] = Object.values(requestTable)
    for (const { name, needs } of rows) assert.ok(Array.isArray(needs), name)
    const withoutNeeds = rows.filter(({ needs }) => needs.length === 0).map(({ name }) => name)
    assert.deepEqual(withoutNeeds, [
      'ApiVersions',
      'DescribeCluster',
      'InitProducerId',
      'SaslHandshake',
      'SaslAuthenticate',
    ])
    const made = new Set([...requestsOf({ ...backup, ...access }), ...requestsOf({ ...restore, ...access })])
    const byCommandsOnly = rows.filter(row => !made.has(row)).map(({ name }) => name)
    assert.deepEqual(byCommandsOnly, ['DeleteTopics', 'OffsetDelete'])
  })
})

describe('the names of the rules', () => {
  const cover = (include: string[], more: { exclude?: string[]; mapping?: Map<string, string> } = {}) => {
    const { rules, notes } = planRequiredAcls({ ...restore, topics: { ...topics, include, ...more } })
    const named = rules.filter(({ resource }) => resource === 'topic')
    return {
      names: named.map(({ name, pattern }) => (pattern === 'prefixed' ? `${name}…` : name)),
      notes: notes.filter(note => note.startsWith('source.topics')),
    }
  }

  test('are literal for a name, prefixed for a star at the end, and * for all', () => {
    assert.deepEqual(cover(['orders', 'pay-*']), { names: ['orders', 'pay-…'], notes: [] })
    assert.deepEqual(cover(['*']), { names: ['*'], notes: [] })
  })

  test('cover more than other patterns, which a note says', () => {
    assert.deepEqual(cover(['pay-*-eu', 'a?']), {
      names: ['pay-…', 'a…'],
      notes: [
        'source.topics.include: pay-*-eu needs a rule on all names that begin with pay-',
        'source.topics.include: a? needs a rule on all names that begin with a',
      ],
    })
    assert.deepEqual(cover(['*-eu']), {
      names: ['*'],
      notes: ['source.topics.include: *-eu needs a rule on all names'],
    })
  })

  test('are each in one rule', () => {
    assert.deepEqual(cover(['orders', 'ord*', 'o*', 'orders', 'other']).names, ['o…'])
    assert.deepEqual(cover(['orders', 'orders', 'ab*', 'ab*']).names, ['orders', 'ab…'])
    assert.deepEqual(cover(['orders', 'ord*', '*']).names, ['*'])
  })

  test('leave out excluded names, and a note says where rules cannot', () => {
    assert.deepEqual(cover(['orders', 'orders.tmp'], { exclude: ['*.tmp'] }), { names: ['orders'], notes: [] })
    assert.deepEqual(cover(['ord*'], { exclude: ['*.tmp'] }), {
      names: ['ord…'],
      notes: ['source.topics.exclude does not narrow the rules: an ACL has no exceptions'],
    })
  })

  test('are those on the target', () => {
    const mapping = new Map([
      ['orders', 'restored'],
      ['ordinary', 'plain'],
      ['payments', 'elsewhere'],
    ])
    assert.deepEqual(cover(['orders'], { mapping }).names, ['restored'])
    assert.deepEqual(cover(['ord*'], { mapping }).names, ['restored', 'plain', 'ord…'])
    assert.deepEqual(cover(['ord*'], { mapping, exclude: ['ordinary'] }).names, ['restored', 'ord…'])
  })
})

describe('the forms of the rules', () => {
  const acls = planRequiredAcls({ ...backup, topics: { ...topics, include: ['orders', "o'hara.*", '*'] } })
  const place = { principal: undefined, bootstrapServers: ['a:9092', 'b:9092'], isSecure: false }

  test('are a command for each resource, quoted for a shell', () => {
    assert.deepEqual(kafkaAclsCommands(acls, place), [
      "kafka-acls.sh --bootstrap-server a:9092,b:9092 --add --allow-principal 'User:<name>' --topic '*' --operation Describe --operation Read --operation DescribeConfigs",
      "kafka-acls.sh --bootstrap-server a:9092,b:9092 --add --allow-principal 'User:<name>' --group billing- --resource-pattern-type prefixed --operation Describe",
      "kafka-acls.sh --bootstrap-server a:9092,b:9092 --add --allow-principal 'User:<name>' --cluster --operation Describe",
    ])
    const [first] = kafkaAclsCommands(acls, { ...place, principal: "User:o'hara", isSecure: true })
    assert.match(first ?? '', / --command-config admin\.properties --add --allow-principal 'User:o'\\''hara' --topic/)
  })

  test('are rules of a KafkaUser, whose prefixes Strimzi calls prefix and whose cluster has no name', () => {
    const { type, acls: rules } = strimziAuthorization(acls).spec.authorization
    assert.equal(type, 'simple')
    assert.deepEqual(rules, [
      {
        resource: { type: 'topic', name: '*', patternType: 'literal' },
        operations: ['Describe', 'Read', 'DescribeConfigs'],
        host: '*',
      },
      { resource: { type: 'group', name: 'billing-', patternType: 'prefix' }, operations: ['Describe'], host: '*' },
      { resource: { type: 'cluster' }, operations: ['Describe'], host: '*' },
    ])
  })
})
