import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Resource } from '../../../src/operator/crd/resource.ts'
import { strimziKafkaKind } from '../../../src/operator/job/strimzi.ts'
import { KubeError } from '../../../src/operator/kube/kube-error.ts'
import { createPlanner } from '../../../src/operator/run/planner.ts'
import { findReferred, findStorage, hasStorageChanged } from '../../../src/operator/run/referred-objects.ts'
import { kinds, namespace, OperatorModel, putSecret } from './operator-model.ts'

const planner = createPlanner('kafka-backup.dev', { image: 'kafka-backup:1', serviceAccountName: 'default' })
const s3 = {
  backend: 's3',
  bucket: 'backups',
  accessKeyIdSecret: { name: 's3', key: 'id' },
  secretAccessKeySecret: { name: 's3', key: 'key' },
}
const cluster = { bootstrapServers: ['kafka:9092'] }
const nightly = { schedule: '@daily', kafkaCluster: cluster, topics: { include: ['*'] } }
const restore = { kafkaCluster: cluster, backupId: 'nightly', storageRef: { name: 'minio' } }

function conditionsOf({ status }: Resource): Record<string, string> {
  return Object.fromEntries((status?.conditions ?? []).map(({ type, status: is, reason }) => [type, `${is} ${reason}`]))
}

test('resources wait for their storage, and start as soon as it is available', async () => {
  const model = new OperatorModel()
  const operator = model.start({ planner })
  model.put('restore', 'drill', restore)
  await model.time.pass(1000)
  assert.match(conditionsOf(model.get('drill', 'restore')).Ready ?? '', /^False StorageMissing/)
  assert.match(model.get('drill', 'restore').status?.message ?? '', /KafkaBackupStorage minio does not exist/)

  model.put('storage', 'minio', { storage: s3 })
  await model.time.pass(1000)
  const { conditions } = model.get('minio', 'storage').status ?? {}
  assert.match(conditions?.[0]?.message ?? '', /^Missing secrets: s3 \(spec\.storage\.accessKeyIdSecret\), s3 /)
  assert.match(conditionsOf(model.get('drill', 'restore')).StorageAvailable ?? '', /^False StorageUnavailable/)
  assert.deepEqual(model.jobs, [])

  putSecret(model, 's3')
  await model.time.pass(20_000)
  const [validation, ...others] = model.jobs
  assert.ok(validation && others.length === 0, 'the run waits for the validation')
  model.endJob(validation)
  await model.time.pass(40_000)
  assert.match(conditionsOf(model.get('minio', 'storage')).Available ?? '', /^True Validated/)
  assert.equal(model.get('minio', 'storage').status?.users, 1)
  const [, job] = model.jobs
  assert.ok(job, 'the restore has started without any other change')
  const kept = conditionsOf(model.get('drill', 'restore')).StorageAvailable
  assert.match(kept ?? '', /^True StorageAvailable/)

  model.kube.remove(kinds.restore, { namespace, name: 'drill' })
  await model.time.pass(1000)
  assert.equal(model.get('minio', 'storage').status?.users, 0)
  model.kube.remove(kinds.storage, { namespace, name: 'minio' })
  await model.time.pass(1000)
  const told = model.told.filter(line => /^(seen|gone) storage minio$/.test(line))
  assert.deepEqual([told[0], told.at(-1)], ['seen storage minio', 'gone storage minio'])
  await operator.stop()
})

test('a validation that fails blocks the next run, and deleting a storage in use is reported', async () => {
  const model = new OperatorModel()
  const operator = model.start({ planner })
  putSecret(model, 's3')
  model.put('storage', 'minio', { storage: s3 })
  model.put('backup', 'nightly', { ...nightly, storageRef: { name: 'minio' } })
  await model.time.pass(1000)
  const [validation] = model.jobs
  assert.ok(validation)
  assert.match(conditionsOf(model.get('nightly')).Ready ?? '', /^False StorageNotValidated/)
  model.endJob(validation, false)
  await model.time.pass(40_000)
  assert.match(conditionsOf(model.get('minio', 'storage')).Available ?? '', /^False/)
  assert.match(conditionsOf(model.get('nightly')).Ready ?? '', /^False StorageUnavailable/)
  assert.match(conditionsOf(model.get('nightly')).Reconciling ?? '', /^True StorageUnavailable/)

  await model.time.pass(120_000)
  const again = model.jobs.find(({ metadata }) => metadata.name !== validation.metadata.name)
  assert.ok(again, 'validated again by itself')
  model.endJob(again)
  await model.time.pass(40_000)
  assert.match(conditionsOf(model.get('nightly')).Ready ?? '', /^True Accepted/)
  assert.equal(model.jobs.length, 1, 'the Job of the failed validation is removed after the next one')

  model.kube.remove(kinds.storage, { namespace, name: 'minio' })
  await model.time.pass(1000)
  assert.match(conditionsOf(model.get('nightly')).Ready ?? '', /^False StorageMissing/)
  await operator.stop()
})

test('the job file of a run has the location of the storage, and the Job only names its secrets', async () => {
  const model = new OperatorModel()
  const operator = model.start({ planner })
  putSecret(model, 's3')
  model.put('storage', 'minio', { storage: s3 })
  model.put('restore', 'drill', restore)
  await model.time.pass(1000)
  const [validation] = model.jobs
  assert.ok(validation)
  const [file] = model.configMaps
  assert.match(file?.data?.['job.yaml'] ?? '', /^mode: backup\nbackup_id: minio\nstorage:\n {2}backend: s3$/m)
  assert.doesNotMatch(file?.data?.['job.yaml'] ?? '', /source/)
  model.endJob(validation)
  await model.time.pass(40_000)
  const restoreFile = model.configMaps.find(one => one.metadata.name.startsWith('drill-'))
  assert.match(restoreFile?.data?.['job.yaml'] ?? '', /bucket: backups/)
  const job = JSON.stringify(model.jobs.find(one => one.metadata.name.startsWith('drill-')))
  assert.match(job, /"secretKeyRef":\{"name":"s3","key":"key"\}/)
  await operator.stop()
})

const unreadable = {
  'is not installed': [
    new KubeError('KUBE_NOT_FOUND', 'the page does not exist', { status: 404 }),
    /CustomResourceDefinitions/,
  ],
  'may not be read': [
    new KubeError('KUBE_DENIED', 'kafkabackupstorages is forbidden', { status: 403 }),
    /is forbidden/,
  ],
} as const

for (const [how, [failure, logged]] of Object.entries(unreadable)) {
  test(`a kind KafkaBackupStorage that ${how} blocks only resources that refer to one`, async () => {
    const model = new OperatorModel()
    let isReadable = false
    const operator = model.start({
      planner,
      around: (verb, act, _, { kind }) => {
        if (verb === 'list' && kind === 'KafkaBackupStorage' && !isReadable) throw failure
        return act()
      },
    })
    putSecret(model, 's3')
    model.put('restore', 'drill', restore)
    const { storageRef: _, ...own } = restore
    model.put('restore', 'other', { ...own, storage: s3 })
    await model.time.pass(10_000)
    assert.deepEqual(
      model.jobs.map(({ metadata }) => metadata.name.split('-')[0]),
      ['other'],
    )
    const blocked = model.get('drill', 'restore')
    assert.match(conditionsOf(blocked).StorageAvailable ?? '', /^Unknown StorageUnknown/)
    assert.match(blocked.status?.message ?? '', /cannot be read: .*Install the CustomResourceDefinition/)
    const { isOk, body } = operator.health.ready()
    assert.deepEqual([isOk, JSON.stringify(body).includes('kafkabackupstorages')], [true, true])
    const warnings = model.log.filter(({ level, message }) => level === 'warn' && /without storageRef/.test(message))
    assert.deepEqual(
      warnings.map(({ message }) => logged.test(message)),
      [true],
      'once',
    )
    assert.ok(model.told.includes('readable shop true'))

    isReadable = true
    await model.time.pass(60_000)
    assert.match(conditionsOf(model.get('drill', 'restore')).StorageAvailable ?? '', /^False StorageMissing/)
    assert.deepEqual(operator.health.ready().body, { status: 'ok', leader: true })
    await operator.stop()
  })
}

test('a change of spec, result or message of a storage concerns its users, other changes do not', () => {
  const { apiVersion, kind } = kinds.storage
  const available = { type: 'Available', status: 'True', reason: 'Validated', message: 'm', lastTransitionTime: '' }
  const make = (status: object, spec: object = {}) =>
    ({ apiVersion, kind, metadata: { name: 'minio', generation: 2 }, spec, status }) as unknown as Resource
  const before = make({ conditions: [{ ...available, observedGeneration: 2 }] })
  const later = make({ ...before.status, lastValidationTime: '2026-01-31T08:00:00Z' })
  assert.equal(hasStorageChanged(before, later), false)
  assert.equal(hasStorageChanged(before, make(before.status ?? {}, { suspend: true })), true)
  assert.equal(hasStorageChanged(before, make({ conditions: [{ ...available, status: 'False' }] })), true)
  assert.equal(hasStorageChanged(before, undefined), true)
  const store = { get: () => make({ conditions: [{ ...available, observedGeneration: 1 }] }) }
  const user = { ...before, spec: { storageRef: { name: 'minio' } } }
  assert.equal(findStorage(user, store as never)?.reason, 'StorageNotValidated', 'the result of another spec')
})

test('a cluster of Strimzi that cannot be read is reported with what to check', () => {
  const { apiVersion, kind } = kinds.restore
  const spec = { clusterRef: { name: 'prod', listener: 'tls' } }
  const resource = { apiVersion, kind, metadata: { name: 'drill', namespace }, spec } as unknown as Resource
  const kafkas = { get: () => undefined, troubleIn: () => 'cannot list kafkas: the server could not find the resource' }
  const { cluster } = findReferred(resource, { resources: { storage: { get: () => undefined } }, kafkas } as never)
  assert.equal(cluster?.reason, 'ClusterUnknown')
  assert.match(cluster?.message ?? '', /could not find the resource\. If this lasts, check .*strimzi\.apiVersion\.$/)
})

const strimziKind = strimziKafkaKind('v1beta2')
const strimziCluster = {
  apiVersion: strimziKind.apiVersion,
  kind: 'Kafka',
  metadata: { name: 'prod', namespace },
  spec: { kafka: { listeners: [{ name: 'plain', tls: false }] } },
  status: {
    conditions: [{ type: 'Ready', status: 'True' }],
    listeners: [{ name: 'plain', bootstrapServers: 'prod-kafka-bootstrap:9092' }],
  },
}

test('a new leader lists the clusters of Strimzi before it judges the resources that refer to them', async () => {
  const model = new OperatorModel()
  const storage = { backend: 'pvc', pvc: { claimName: 'backups' } }
  const { kafkaCluster: _, ...rest } = nightly
  model.put('backup', 'nightly', { ...rest, storage, clusterRef: { name: 'prod', listener: 'plain' } } as never)
  model.kube.put(strimziKind, strimziCluster as never)
  const first = model.start({ planner, strimziApi: 'v1beta2' })
  await model.time.pass(1000)
  const before = model.get('nightly')
  assert.match(conditionsOf(before).Ready ?? '', /^True Accepted/)
  await first.stop()
  const second = model.start({
    planner,
    strimziApi: 'v1beta2',
    around: async (verb, act, signal, { kind }) => {
      if (verb === 'list' && kind === 'Kafka') await model.time.clock().sleep(3000, signal)
      return act()
    },
  })
  await model.time.pass(20_000)
  assert.deepEqual(
    model.log.filter(({ message }) => message.includes('cannot be read')),
    [],
  )
  assert.equal(model.get('nightly').metadata.resourceVersion, before.metadata.resourceVersion)
  await second.stop()
})

test('a cluster of Strimzi that appears wakes the resources that refer to it, and is read where it is allowed', async () => {
  const model = new OperatorModel()
  const operator = model.start({ planner, strimziApi: 'v1beta2' })
  const { kafkaCluster: _, ...rest } = restore
  const storage = { backend: 'pvc', pvc: { claimName: 'backups' } }
  const spec = { ...rest, storageRef: undefined, storage, clusterRef: { name: 'prod', listener: 'plain' } }
  model.put('restore', 'drill', spec as never)
  await model.time.pass(1000)
  assert.match(conditionsOf(model.get('drill', 'restore')).Ready ?? '', /^False ClusterMissing/)
  model.kube.put(strimziKind, strimziCluster as never)
  await model.time.pass(1000)
  assert.match(conditionsOf(model.get('drill', 'restore')).ClusterFound ?? '', /^True ClusterFound/)
  assert.equal(model.jobs.length, 1)
  assert.match(model.configMaps[0]?.data?.['job.yaml'] ?? '', /prod-kafka-bootstrap:9092/)
  await operator.stop()
  const other = new OperatorModel()
  const without = other.start({ planner })
  other.put('restore', 'drill', spec as never)
  await other.time.pass(1000)
  assert.match(conditionsOf(other.get('drill', 'restore')).ClusterFound ?? '', /^False StrimziDisabled/)
  await without.stop()
})
