import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJob } from '../../src/config/load-job.ts'
import { requiredAclsOf } from '../../src/jobs/required-acls.ts'

const options = { source: 'test job', env: {} }
const storage = { backend: 'filesystem', path: '/backups' }
const login = (sasl: object) => ({ security: { protocol: 'SASL_PLAINTEXT', sasl } })
const scram = login({ mechanism: 'SCRAM-SHA-512', username: 'backup', password: 'secret' })

function ofBackup(backup: object, source: object = {}) {
  const cluster = { bootstrap_servers: ['k:9092'], topics: { include: ['orders'] }, ...source }
  return requiredAclsOf(
    parseJob(JSON.stringify({ mode: 'backup', backup_id: 'b1', source: cluster, storage, backup }), options),
  )
}

function ofRestore(restore: object) {
  const target = { bootstrap_servers: ['k:9092'] }
  return requiredAclsOf(
    parseJob(JSON.stringify({ mode: 'restore', backup_id: 'b1', target, storage, restore }), options),
  )
}

const namesOf = ({ rules }: ReturnType<typeof requiredAclsOf>, kind: string) =>
  rules.filter(({ resource }) => resource === kind).map(({ name, pattern }) => [name, pattern])

test('the ACLs of a backup job are for its groups, unless it takes none', () => {
  assert.deepEqual(namesOf(ofBackup({}), 'group'), [['*', 'literal']])
  assert.deepEqual(namesOf(ofBackup({ consumer_groups: { include: [] } }), 'group'), [])
})

test('the ACLs of a restore job are for the topics and groups as the target names them', () => {
  const acls = ofRestore({
    topics: { include: ['orders', 'payments@1a2b3c4d'] },
    topic_mapping: { orders: 'restored' },
    consumer_groups: { include: ['billing', 'audit'], mapping: { billing: 'billing-2' } },
    restore_id: 'r1',
  })
  assert.deepEqual(namesOf(acls, 'topic'), [
    ['payments', 'literal'],
    ['restored', 'literal'],
  ])
  assert.deepEqual(namesOf(acls, 'group'), [
    ['__kafka-backup.restore.r1', 'literal'],
    ['audit', 'literal'],
    ['billing-2', 'literal'],
  ])
})

test('the ACLs of a restore job without names are for all groups, its own included, and with a filter for its progress alone', () => {
  const progress = ['__kafka-backup.restore.', 'prefixed']
  assert.deepEqual(namesOf(ofRestore({}), 'group'), [['*', 'literal']])
  assert.deepEqual(namesOf(ofRestore({ filter: { keys: ['a'] } }), 'group'), [progress])
})

test('the ACLs of a restore job that appends are for the progress of all restores', () => {
  const named = { restore_id: 'r1', filter: { keys: ['a'] } }
  const appends = ofRestore({ ...named, existing_topics: 'append' })
  assert.deepEqual(namesOf(appends, 'group'), [['__kafka-backup.restore.', 'prefixed']])
  assert.deepEqual(namesOf(ofRestore(named), 'group'), [['__kafka-backup.restore.r1', 'literal']])
  assert.deepEqual(namesOf(appends, 'cluster'), namesOf(ofRestore(named), 'cluster'))
  assert.deepEqual(
    [appends, ofRestore(named)].map(({ requests }) => requests.includes('ListGroups')),
    [true, false],
  )
})

test('the user of the rules is that of the login, where the job names it', () => {
  assert.deepEqual(ofBackup({}).place, { principal: undefined, bootstrapServers: ['k:9092'], isSecure: false })
  const { principal, isSecure } = ofBackup({}, scram).place
  assert.deepEqual([principal, isSecure], ['User:backup', true])
  const iam = {
    security: { protocol: 'SASL_SSL', sasl: { mechanism: 'AWS_MSK_IAM', aws: { region: 'eu-central-1' } } },
  }
  assert.equal(ofBackup({}, iam).place.principal, undefined)
  assert.match(ofBackup({}, iam).notes.join(), /an IAM policy grants the permissions/)
})
