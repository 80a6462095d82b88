import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { refuseOthers } from '../../../src/cli/commands/offsets-place.ts'
import { offsetActions } from '../../../src/cli/offsets-table.ts'
import { parseCommandLine } from '../../../src/cli/program.ts'
import { compileGlobs } from '../../../src/lib/glob.ts'
import type { Controller } from '../../../src/operator/crd/resource.ts'
import type { JobStep } from '../../../src/operator/job/job-pod.ts'
import { FakeIo } from '../../cli/fake-io.ts'
import { planPod, pvc, secret } from '../crd/resources.ts'

const common = '--config /etc/kafka-backup/job.yaml --format json --log-format json'

const commands: [string, Controller, Record<string, unknown>, Partial<JobStep>, string][] = [
  ['a backup', 'backup', {}, {}, `backup ${common} --report`],
  ['a shard, whose number the Job adds', 'backup', {}, { stage: 'shards', shards: 4 }, `backup ${common}`],
  ['the commit of shards', 'backup', {}, { stage: 'commit', shards: 4 }, `backup ${common} --commit --report`],
  ['a check of a backup', 'backup', { verify: {} }, { purpose: 'verify' }, `verify ${common}`],
  ['a deep one', 'backup', { verify: { deep: true } }, { purpose: 'verify' }, `verify ${common} --deep`],
  [
    'a drill',
    'backup',
    { drill: { schedule: '@daily', kafkaCluster: { bootstrapServers: ['t:9092'] } } },
    { purpose: 'drill' },
    `drill run ${common}`,
  ],
  [
    'a drill with all options',
    'backup',
    {
      drill: {
        ...{ schedule: '@daily', kafkaCluster: { bootstrapServers: ['t:9092'] }, topics: ['orders', 'p*'] },
        ...{ samplePercent: 0.000001, scratchPrefix: '-d', schemas: false, signingKeySecret: secret('drill.key') },
      },
    },
    { purpose: 'drill' },
    `drill run ${common} --topic=orders --topic=p* --sample=0.000001 --scratch-prefix=-d --signing-key=/etc/kafka-backup-files/drill.signing_key --no-schemas`,
  ],
  [
    'a drill of recent records',
    'backup',
    { drill: { schedule: '@daily', kafkaCluster: { bootstrapServers: ['t:9092'] }, newest: '6h' } },
    { purpose: 'drill' },
    `drill run ${common} --newest=6h`,
  ],
  ['the removal of a backup', 'backup', {}, { purpose: 'delete' }, `delete ${common} --yes`],
  [
    'the removal of all that mode full has made',
    'backup',
    { mode: 'full' },
    { purpose: 'delete', backupId: 'orders' },
    `delete ${common} --match orders-????????t??????z --yes`,
  ],
  ['a restore', 'restore', {}, {}, `restore ${common} --report`],
  ['a shard of a restore', 'restore', {}, { stage: 'shards', shards: 4 }, `restore ${common} --prepare`],
  [
    'the end of a restore in shards',
    'restore',
    {},
    { stage: 'commit', shards: 4 },
    `restore ${common} --finish --report`,
  ],
  ['a look at a restore', 'restore', { dryRun: true }, {}, `restore ${common} --dry-run`],
  [
    'an estimate of a restore',
    'restore',
    { dryRun: true, probe: 'target' },
    {},
    `restore ${common} --dry-run --probe-target`,
  ],
  ['a restore with an estimate', 'restore', { probe: 'store' }, {}, `restore ${common} --report --probe`],
  ['a reset', 'offset_reset', {}, {}, `offsets reset ${common} --group=billing --strategy=earliest --yes`],
  [
    'a reset with the name of its snapshot',
    'offset_reset',
    {},
    { snapshotAs: 's-2' },
    `offsets reset ${common} --group=billing --strategy=earliest --snapshot-as=s-2 --yes`,
  ],
  [
    'a look at a reset',
    'offset_reset',
    { dryRun: true, groups: ['a', 'b-*'], topics: ['orders', 'p*'], partitions: [0, 3], strategy: 'latest' },
    {},
    `offsets reset ${common} --group=a --group=b-* --topic=orders,p* --partition=0,3 --strategy=latest --dry-run`,
  ],
  [
    'a reset to a time',
    'offset_reset',
    { strategy: 'timestamp', timestamp: '2026-01-31T08:00:00Z' },
    {},
    `offsets reset ${common} --group=billing --strategy=timestamp --timestamp=2026-01-31T08:00:00Z --yes`,
  ],
  [
    'a reset to an offset',
    'offset_reset',
    { strategy: 'offset', offset: 4711 },
    {},
    `offsets reset ${common} --group=billing --strategy=offset --offset=4711 --yes`,
  ],
  [
    'a reset by headers',
    'offset_reset',
    { strategy: 'header_based', fromSnapshot: 's-1', topicMapping: { a: 'b', c: 'd' }, since: 1_769_900_000_000 },
    {},
    `offsets reset ${common} --group=billing --strategy=header_based --from-snapshot=s-1 --topic-mapping=a=b --topic-mapping=c=d --since=1769900000000 --yes`,
  ],
  [
    'a rollback',
    'offset_rollback',
    { snapshotId: 's-1', groups: ['a'] },
    {},
    `offsets rollback ${common} --snapshot-id=s-1 --group=a --yes`,
  ],
  [
    'a rollback with the name of its snapshot',
    'offset_rollback',
    { snapshotId: 's-1' },
    { snapshotAs: 's-2' },
    `offsets rollback ${common} --snapshot-id=s-1 --snapshot-as=s-2 --yes`,
  ],
  [
    'a rollback to a plain snapshot',
    'offset_rollback',
    { snapshotId: 's-1', acceptPlainSnapshot: true },
    {},
    `offsets rollback ${common} --snapshot-id=s-1 --accept-plain-snapshot --yes`,
  ],
  [
    'a reset from a plain snapshot',
    'offset_reset',
    { strategy: 'header_based', fromSnapshot: 's-1', acceptPlainSnapshot: true },
    {},
    `offsets reset ${common} --group=billing --strategy=header_based --from-snapshot=s-1 --accept-plain-snapshot --yes`,
  ],
  [
    'a look at the rollback of a reset',
    'offset_rollback',
    { snapshotId: undefined, resetRef: { name: 'reset' }, operation: 'rollback', dryRun: true },
    { snapshotId: 's-2' },
    `offsets rollback ${common} --snapshot-id=s-2 --dry-run`,
  ],
  [
    'a snapshot',
    'offset_rollback',
    { snapshotId: undefined, operation: 'snapshot', groups: ['a'] },
    {},
    `offsets snapshot ${common} --group=a`,
  ],
  [
    'a comparison with a snapshot',
    'offset_rollback',
    { operation: 'verify', snapshotId: 's-1', strict: true },
    {},
    `offsets verify ${common} --snapshot-id=s-1 --strict`,
  ],
]

for (const [name, controller, spec, more, expected] of commands) {
  test(`the command of ${name}`, () => {
    const { args } = planPod(controller, spec, more)
    assert.equal(args.join(' '), expected)
    assertParsed(args)
  })
}

/** As the program in the pod does. */
function assertParsed(args: readonly string[]): void {
  const line = parseCommandLine(args, new FakeIo(), '0')
  assert.ok('command' in line && line.command.name === args[0])
  assert.equal(line.options.config, '/etc/kafka-backup/job.yaml')
  const action = offsetActions.find(each => each === line.options.action)
  if (action !== undefined) refuseOthers(action, line.options)
}

test('a group name that looks like an option or a variable is passed unchanged', () => {
  const { args } = planPod('offset_reset', { groups: ['--yes', '$(HOME)', 'a b'] })
  assert.deepEqual(
    args.filter(arg => arg.startsWith('--group')),
    ['--group=--yes', '--group=$(HOME)', '--group=a b'],
  )
})

test('a claim is mounted at the path of the job, with its subPath', () => {
  const pod = planPod('backup', { storage: { ...pvc, pvc: { claimName: 'backups', subPath: 'kafka' } } })
  assert.deepEqual(pod.volumes, [{ name: 'kafka-backup-storage', persistentVolumeClaim: { claimName: 'backups' } }])
  assert.deepEqual(pod.mounts, [{ name: 'kafka-backup-storage', mountPath: '/backups', subPath: 'kafka' }])
  assert.deepEqual([pod.env, pod.secrets], [[], []])
})

test('each secret is a variable or a file with one key, and is reported with its field', () => {
  const pod = planPod('backup', {
    storage: {
      backend: 's3',
      bucket: 'my-bucket',
      accessKeyId: 'AKIA',
      secretAccessKeySecret: secret('key'),
      caCertConfigMap: { name: 'ca', key: 'ca.crt' },
    },
    encryption: { recipients: [{ keySecret: { name: 'keys', key: 'k1' } }] },
  })
  assert.deepEqual(pod.env, [
    {
      name: 'SECRET_STORAGE_SECRET_ACCESS_KEY',
      valueFrom: { secretKeyRef: { name: 'credentials', key: 'key' } },
    },
  ])
  assert.deepEqual(pod.volumes, [
    {
      name: 'kafka-backup-files',
      projected: {
        defaultMode: 0o444,
        sources: [
          { configMap: { name: 'ca', items: [{ key: 'ca.crt', path: 'storage.ca_cert' }] } },
          { secret: { name: 'keys', items: [{ key: 'k1', path: 'encryption.recipients.0.key_file' }] } },
        ],
      },
    },
  ])
  assert.deepEqual(pod.mounts, [{ name: 'kafka-backup-files', mountPath: '/etc/kafka-backup-files', readOnly: true }])
  assert.deepEqual(pod.secrets, [
    { name: 'credentials', key: 'key', field: 'spec.storage.secretAccessKeySecret' },
    { name: 'keys', key: 'k1', field: 'spec.encryption.recipients[0].keySecret' },
  ])
})

test('the license is not passed to the pod', () => {
  const pod = planPod('backup', { enterprise: { licenseSecret: { name: 'license' } } })
  assert.deepEqual([pod.secrets, pod.env], [[], []])
  assert.doesNotMatch(pod.jobFile, /license/)
})

test('a job file is readable: in the order of the docs, without anchors and folded lines', () => {
  const topics = { include: [`${'long-'.repeat(40)}topic`], exclude: ['a', 'b'] }
  const { jobFile } = planPod('backup', { topics, backup: { consumerGroups: { exclude: topics.exclude } } })
  assert.deepEqual(Object.keys(parse(jobFile)), ['mode', 'backup_id', 'source', 'storage', 'backup', 'metrics'])
  assert.match(jobFile, /^# Made by the operator for KafkaBackup nightly\.\nmode: backup\n/)
  assert.doesNotMatch(jobFile, /[&*]a\d|>-/)
})

test('the same resource and step give the same file, so its name can be a content hash', () => {
  assert.equal(planPod('backup').jobFile, planPod('backup').jobFile)
})

test('a run of mode full creates a new backup, and prunes those of the resource', () => {
  const spec = { mode: 'full', backupId: 'orders', retention: { keepDaily: 7 } }
  const job = parse(planPod('backup', spec, { backupId: 'orders-20261116t020000z' }).jobFile)
  assert.equal(job.backup_id, 'orders-20261116t020000z')
  assert.deepEqual(job.retention, { match: ['orders-????????t??????z'], keep_daily: 7, after_backup: true })
})

test('a run of mode full never prunes the backup of a resource with a longer name', () => {
  const job = parse(planPod('backup', { mode: 'full', backupId: 'orders', retention: { keepLast: 1 } }).jobFile)
  const isMeant = compileGlobs(job.retention.match)
  assert.ok(isMeant('orders-20261116t020000z'))
  assert.deepEqual(['orders', 'orders-eu', 'orders-eu-20261116t020000z'].filter(isMeant), [])
})

test('applies the retention of a resource, and prunes nothing without one', () => {
  const retention = { match: ['old-*'], keepLast: 1, afterBackup: false }
  const job = parse(planPod('backup', { mode: 'full', retention }).jobFile)
  assert.deepEqual(job.retention, { match: ['old-*'], keep_last: 1, after_backup: false })
  assert.equal(parse(planPod('backup', { mode: 'full' }).jobFile).retention, undefined)
  const incremental = parse(planPod('backup', { mode: 'incremental', retention: { keepLast: 1 } }).jobFile)
  assert.deepEqual(incremental.retention, { keep_last: 1, after_backup: true })
})

test('only long-running commands serve progress', () => {
  const servesOf = (controller: Controller, more: Partial<JobStep> = {}) =>
    parse(planPod(controller, {}, more).jobFile).metrics?.listen
  const address = `[\${POD_IP}]:8080`
  assert.equal(servesOf('backup'), address)
  assert.equal(servesOf('backup', { purpose: 'verify' }), address)
  assert.equal(servesOf('restore'), address)
  assert.equal(servesOf('backup', { purpose: 'delete' }), undefined)
  assert.equal(servesOf('offset_reset'), undefined)
  assert.equal(servesOf('offset_rollback'), undefined)
})

test('a removal needs only the credentials of the store, so no other missing secret blocks it', () => {
  const sasl = { mechanism: 'SCRAM-SHA-512', username: 'u', passwordSecret: secret('kafka') }
  const kafkaCluster = { bootstrapServers: ['k:9092'], security: { protocol: 'SASL_PLAINTEXT', sasl } }
  const storage = { backend: 's3', bucket: 'my-bucket', accessKeyId: 'a', secretAccessKeySecret: secret('s3') }
  const encryption = { recipients: [{ keySecret: secret('key') }] }
  const schemaRegistry = { enabled: true, url: 'https://r', credentialsSecret: { name: 'registry' } }
  const spec = { kafkaCluster, storage, encryption, enterprise: { schemaRegistry }, retention: { keepLast: 1 } }
  const pod = planPod('backup', spec, { purpose: 'delete' })
  assert.deepEqual(
    pod.secrets.map(({ field }) => field),
    ['spec.storage.secretAccessKeySecret'],
  )
  assert.deepEqual(pod.volumes, [])
  assert.equal(planPod('backup', spec).secrets.length, 5)
})

test('a drill restores from the store of the backup to its own cluster, with its own secrets', () => {
  const tls = { caCertSecret: secret('ca.crt') }
  const sasl = { mechanism: 'PLAIN', username: 'u', passwordSecret: secret('password') }
  const pod = planPod(
    'backup',
    {
      encryption: { recipients: [{ keySecret: secret('key') }] },
      enterprise: { schemaRegistry: { enabled: true, url: 'http://source:8081' } },
      drill: {
        schedule: '@daily',
        kafkaCluster: { bootstrapServers: ['test:9093'], security: { protocol: 'SASL_SSL', tls, sasl } },
        restore: { replicationFactor: 1, topicConfig: { 'min.insync.replicas': 1 }, verify: false },
        signingKeySecret: secret('drill.key'),
      },
    },
    { purpose: 'drill', backupId: 'nightly-20261116t020000z' },
  )
  const { mode, backup_id, target, storage, restore, encryption, ...rest } = parse(pod.jobFile)
  assert.deepEqual([mode, backup_id, rest], ['restore', 'nightly-20261116t020000z', {}])
  assert.deepEqual(target.bootstrap_servers, ['test:9093'])
  assert.equal(target.security.tls.ca_cert, '/etc/kafka-backup-files/target.security.tls.ca_cert')
  assert.deepEqual(storage, { backend: 'filesystem', path: '/backups' })
  assert.deepEqual(restore, { replication_factor: 1, topic_config: { 'min.insync.replicas': 1 } })
  assert.ok(encryption.recipients[0].key_file)
  assert.deepEqual(pod.secrets.map(({ field }) => field).sort(), [
    'spec.drill.kafkaCluster.security.sasl.passwordSecret',
    'spec.drill.kafkaCluster.security.tls.caCertSecret',
    'spec.drill.signingKeySecret',
    'spec.encryption.recipients[0].keySecret',
  ])
})

test('an invalid drill is reported by the fields of spec.drill', () => {
  const drill = { schedule: '@daily', kafkaCluster: { bootstrapServers: ['no port'] }, restore: { rateLimit: 'x' } }
  assert.throws(() => planPod('backup', { drill }, { purpose: 'drill' }), {
    code: 'CONFIG_INVALID',
    message: /spec\.drill\.kafkaCluster\.bootstrapServers[\s\S]*spec\.drill\.restore\.rateLimit/,
  })
})
