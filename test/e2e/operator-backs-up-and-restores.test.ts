import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ResourceStatus } from '../../src/operator/crd/status.ts'
import { assertSameRecords } from '../oracle/records.ts'
import type { Apicurio } from '../servers/apicurio.ts'
import type { ObjectRef } from '../servers/kube-object.ts'
import { findSample } from '../servers/metric-samples.ts'
import { type Nginx, startNginx } from '../servers/nginx.ts'
import { shareApicurio } from '../servers/shared-apicurio.ts'
import { applyStrimziKafka, installStrimziDefinition } from '../servers/strimzi.ts'
import { type S3Server, startS3 } from '../servers/versitygw.ts'
import { assertKeptSecret, useOperatorWorld } from './operator-world.ts'
import { fillOneOfEach, openRegistry, stockRegistry, type WatchedRegistry, type WorldTopic } from './schema-world.ts'
import { scramPassword, scramUser, useSecureKafka } from './secure-kafka.ts'
import { useKafka } from './use-kafka.ts'

const MESSAGES = 200
const BULK = 12_000
const registryLogin = { username: 'backup', password: 'registry-p:ä%-word' }
const isolation = 'read_committed'

describe('the operator backs up and restores', () => {
  const source = useSecureKafka()
  const target = useKafka()
  const world = useOperatorWorld(undefined, {
    values: { strimzi: { enabled: true } },
    prepare: installStrimziDefinition,
  })
  let apicurio: Apicurio
  let nginx: Nginx
  let registry: WatchedRegistry
  let s3: S3Server
  let topics: WorldTopic[]
  let storage: Record<string, unknown>

  before(async () => {
    apicurio = await shareApicurio()
    nginx = await startNginx({ upstream: apicurio.url, basePath: '/registry', login: registryLogin })
    registry = await openRegistry({ firstId: 1001 })
    s3 = await startS3()
    await s3.makeBucket('backups')
    topics = await fillOneOfEach(apicurio.url, MESSAGES)
    const configs = { 'retention.ms': '-1' }
    for (const { name, compression, partitions, messages } of topics) {
      await source.driver.createTopic(name, { partitions, configs })
      await source.driver.produce(
        name,
        messages.map(({ record }) => record),
        { compression, lingerMs: 20 },
      )
    }
    await source.driver.createTopic('bulk', { partitions: 3, configs })
    await source.driver.seedBulk('bulk', { count: BULK, partitions: 3, valueBytes: 500 })
    await source.driver.readGroup({ group: 'billing', topics: ['avro', 'bulk'], take: 50 })
    const { stage } = world
    // As the Cluster Operator and the User Operator of Strimzi make them.
    const pem = (path: string) => readFile(path, 'utf8')
    const { ca, client } = source.identities
    await stage.secret('prod-cluster-ca-cert', { 'ca.crt': await pem(ca.cert), 'ca.p12': 'x', 'ca.password': 'x' })
    await stage.secret('backup-scram', { password: scramPassword, 'sasl.jaas.config': 'unused' })
    await stage.secret('backup-tls', { 'user.crt': await pem(client.cert), 'user.key': await pem(client.key) })
    await stage.secret('s3-login', { id: s3.credentials.accessKeyId, key: s3.credentials.secretAccessKey })
    await stage.secret('registry-login', { user: registryLogin.username, word: registryLogin.password })
    storage = {
      backend: 's3',
      bucket: 'backups',
      endpoint: s3.endpoint,
      accessKeyIdSecret: { name: 's3-login', key: 'id' },
      secretAccessKeySecret: { name: 's3-login', key: 'key' },
    }
  })
  after(async () => {
    await s3?.stop()
    await registry?.[Symbol.asyncDispose]()
    await nginx?.stop()
    await apicurio?.stop()
  })

  const backupSpec = () => ({
    clusterRef: { name: 'prod', listener: 'scram' },
    kafkaUserRef: { name: 'backup-scram', userName: scramUser },
    topics: { include: [...topics.map(({ name }) => name), 'bulk'] },
    storage,
    backup: { rateLimit: '1MiB', commitInterval: '2s' },
    enterprise: {
      licenseSecret: { name: 'no-such-license' },
      schemaRegistry: {
        enabled: true,
        url: nginx.url,
        credentialsSecret: { name: 'registry-login', usernameKey: 'user', passwordKey: 'word' },
      },
    },
  })
  const total = BULK + 3 * MESSAGES
  let backup: { ref: ObjectRef; status: ResourceStatus }

  test('a KafkaBackup with a schema registry backs up a cluster of Strimzi, and reports progress', async () => {
    const { stage, operator } = world
    const ref = await stage.apply('backup', 'orders', backupSpec())
    const { message } = await stage.until(ref, 'without its cluster', ({ reason }) => reason === 'ClusterMissing')
    assert.match(message ?? '', /Kafka prod of Strimzi does not exist/)
    const listener = (name: string, type: string) => ({
      name,
      port: 9093,
      type: 'internal',
      tls: true,
      authentication: { type },
    })
    await applyStrimziKafka(stage.kube, stage.namespace, 'prod', {
      spec: { kafka: { listeners: [listener('scram', 'scram-sha-512'), listener('tls', 'tls')] } },
      status: {
        conditions: [{ type: 'Ready', status: 'True' }],
        listeners: [
          { name: 'scram', bootstrapServers: source.at('SASLTLS') },
          { name: 'tls', bootstrapServers: source.at('MTLS') },
        ],
      },
    })
    const labels = { backup_name: 'orders', namespace: stage.namespace }
    const counts: number[] = []
    const seen = new Set<string>()
    await stage.until(ref, 'running', ({ phase = '' }) => phase === 'Running')
    for (let { phase = '', progress } = await stage.status(ref); phase === 'Running'; ) {
      const count = await operator.sample('kafka_backup_backup_records_total', { ...labels, outcome: 'success' })
      if (progress !== undefined && count !== undefined) counts.push(count)
      await sleep(300)
      ;({ phase = '', progress } = await stage.status(ref))
      seen.add(phase)
    }
    const status = await stage.untilPhase(ref, 'Completed')
    backup = { ref, status }
    assert.deepEqual([...seen], ['Running', 'Completed'])
    assert.ok(new Set(counts).size > 2, `counted while it ran: ${counts}`)
    assert.deepEqual(
      [...counts].sort((a, b) => a - b),
      counts,
      'it never counts down',
    )
    assert.deepEqual([status.records, status.backupId, status.gaps], [total, 'orders', 0])
    assert.ok((status.bytes ?? 0) > 0 && (status.storedBytes ?? 0) > 0)
    assert.equal(status.observedGeneration, 1)
    assert.ok((status.startTime ?? '') < (status.completionTime ?? ''))
  })

  test('its status, events and metrics have the names of the specification', async () => {
    const { stage, operator } = world
    const { ref, status } = backup
    const conditions = Object.fromEntries((status.conditions ?? []).map(({ type, status: is }) => [type, is]))
    assert.equal(conditions.Succeeded, 'True')
    assert.equal(conditions.Ready, 'True')
    assert.equal(conditions.SecretsFound, 'True')
    assert.equal(conditions.LicenseFound, 'False', 'a license that is missing locks nothing')
    assert.deepEqual(
      status.history?.map(({ run, phase, records }) => [run, phase, records]),
      [['once', 'Completed', total]],
    )
    const warnings = (await stage.events(ref)).filter(
      ({ type, reason }) => type !== 'Normal' && !/Licen|ClusterMissing|ClusterNotReady/.test(reason),
    )
    assert.deepEqual(warnings, [])
    const { namespace } = stage
    const success = { backup_name: 'orders', namespace, outcome: 'success' }
    await operator.untilSample('kafka_backup_backups_total', success, 1)
    const samples = await operator.samples()
    const value = (name: string, labels: Record<string, string> = {}) =>
      findSample(samples, name, { backup_name: 'orders', namespace, ...labels })
    assert.equal(value('kafka_backup_backups_total', { outcome: 'success' }), 1)
    assert.equal(value('kafka_backup_backups_total', { outcome: 'failure' }), 0)
    assert.equal(value('kafka_backup_backup_records_total', { outcome: 'success' }), total)
    assert.equal(value('kafka_backup_backup_size_bytes', { outcome: 'success' }), status.storedBytes)
    assert.equal(value('kafka_backup_backup_duration_seconds_count', { outcome: 'success' }), 1)
    assert.equal(
      value('kafka_backup_last_successful_backup_timestamp'),
      Date.parse(status.lastSuccessfulTime ?? '') / 1000,
    )
    const about = { kind: 'KafkaBackup', name: 'orders', namespace }
    for (const phase of ['Pending', 'Running', 'Completed', 'Failed']) {
      const is = findSample(samples, 'kafka_backup_resource_phase', { ...about, phase })
      assert.equal(is, phase === 'Completed' ? 1 : 0, phase)
    }
    assert.equal(findSample(samples, 'kafka_backup_resource_status', about), 1)
    const own = { controller: 'backup', namespace, name: 'orders' }
    assert.ok((findSample(samples, 'kafka_backup_operator_reconciliations_total', own) ?? 0) > 0)
    assert.equal(findSample(samples, 'kafka_backup_operator_reconciliation_errors_total', own) ?? 0, 0)
    assert.equal(findSample(samples, 'kafka_backup_operator_workqueue_depth', { controller: 'backup' }), 0)
  })

  test('a KafkaBackupStorage is validated by a pod, and one that cannot be used names what failed', async () => {
    const { stage } = world
    const wrong = await stage.apply('storage', 'wrong', { storage: { ...storage, bucket: 'no-such-bucket' } })
    const ref = await stage.apply('storage', 'minio', { storage })
    const available = (type: string) => (status: ResourceStatus) =>
      status.conditions?.find(one => one.type === 'Available')?.status === type
    const { lastValidationTime, nextValidationTime, message } = await stage.until(ref, 'available', available('True'))
    assert.ok((lastValidationTime ?? '') < (nextValidationTime ?? ''), message)
    const failed = await stage.until(wrong, 'unavailable', available('False'))
    assert.match(failed.message ?? '', /storage s3:\/\/no-such-bucket.*read: /)
    assert.deepEqual(
      (await stage.events(wrong)).map(({ reason }) => reason),
      ['StorageUnavailable'],
    )
  })

  test('a KafkaRestore restores to another cluster with the IDs of another registry', async () => {
    const { status } = await world.run('restore', 'orders-back', {
      kafkaCluster: { bootstrapServers: target.server.bootstrapServers },
      backupId: 'orders',
      storageRef: { name: 'minio' },
      restore: { consumerGroups: { include: ['billing'] } },
      enterprise: {
        schemaRegistry: {
          enabled: true,
          url: registry.server.url,
          restore: { rewriteTopics: { include: topics.map(({ name }) => name) } },
        },
      },
    })
    assert.equal(status.records, total)
    const minio = { ...backup.ref, kind: 'KafkaBackupStorage', name: 'minio' }
    await world.stage.until(minio, 'in use', ({ users }) => users === 1)
    const bulk = (driver: typeof target.driver) => driver.consume('bulk', { isolation })
    assertSameRecords(await bulk(source.driver), await bulk(target.driver))
    for (const topic of topics) await assertDecodes(topic)
    const before = await source.driver.readGroup({ group: 'billing', topics: ['avro', 'bulk'], take: 5 })
    const after = await target.driver.readGroup({ group: 'billing', topics: ['avro', 'bulk'], take: 5 })
    const placeOf = ({ topic, partition, offset }: (typeof before)[number]) => `${topic}/${partition}@${offset}`
    assert.deepEqual(after.map(placeOf).sort(), before.map(placeOf).sort())
    const labels = { restore_name: 'orders-back', namespace: world.stage.namespace, outcome: 'success' }
    await world.operator.untilSample('kafka_backup_restores_total', labels, 1)
    await world.operator.untilSample('kafka_backup_restore_records_total', labels, total)
  })

  test('an offset snapshot logs in with the certificate of a KafkaUser, and goes to a KafkaBackupStorage', async () => {
    const { status } = await world.run('offset_rollback', 'before-the-switch', {
      operation: 'snapshot',
      groups: ['billing'],
      clusterRef: { name: 'prod', listener: 'tls' },
      kafkaUserRef: { name: 'backup-tls' },
      storageRef: { name: 'minio' },
    })
    assert.ok(status.snapshotId)
    const conditions = Object.fromEntries((status.conditions ?? []).map(({ type, status: is }) => [type, is]))
    assert.deepEqual([conditions.ClusterFound, conditions.StorageAvailable], ['True', 'True'])
  })

  test('the spec of a finished resource is immutable', async () => {
    const { stage } = world
    const change = { ...backupSpec(), topics: { include: ['bulk'] } }
    await assert.rejects(stage.apply('backup', 'orders', change), { status: 422 })
  })

  test('no status, event, log, Job or ConfigMap contains a secret', async () => {
    const { password } = registryLogin
    await assertKeptSecret(world, [scramPassword, password, s3.credentials.secretAccessKey])
  })

  /** Every message is what it was to a stock deserializer with the other registry, and no ID is as it was. */
  async function assertDecodes({ name, messages }: WorldTopic): Promise<void> {
    const stock = stockRegistry(registry.server.url, '.')
    const found = await target.driver.consume(name, { isolation })
    for (const [partition, records] of found.entries()) {
      const expected = messages.filter(({ record }) => record.partition === partition)
      assert.equal(records.length, expected.length, name)
      for (const [at, { key, value }] of records.entries()) {
        const original = expected[at]
        assert(original && key)
        assert.ok(key.readInt32BE(1) > 1000)
        assert.deepEqual({ ...(await stock.decode(key)) }, original.key)
        assert.deepEqual(value && plain(await stock.decode(value)), plain(original.value ?? null), `${name} ${at}`)
      }
    }
  }
})

/** Without the classes of decoders. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
