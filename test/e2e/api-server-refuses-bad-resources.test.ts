import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { buildDefinitions } from '../../src/operator/crd/definitions.ts'
import { allControllers, type Resource as OwnResource, resourceKinds } from '../../src/operator/crd/resource.ts'
import { planJobPod } from '../../src/operator/job/plan-job-pod.ts'
import { storageSection } from '../../src/operator/job/references.ts'
import { readExamples } from '../operator/crd/examples.ts'
import { applyAll, type Kube } from '../servers/kube.ts'
import { KubeError, openKubeConnection } from '../servers/kube-connection.ts'
import { type KubeObject, refOf, trueCondition } from '../servers/kube-object.ts'
import { shareKube } from '../servers/shared-kube.ts'
import { waitFor } from '../servers/use-kube.ts'
import { badResources, goodSpecs } from './bad-resources.ts'

const apiVersion = 'kafka-backup.dev/v1alpha1'
const crds = join(import.meta.dirname, '../../deploy/crds')
const definitions = readdirSync(crds).map(name => parse(readFileSync(join(crds, name), 'utf8')) as KubeObject)

let kube: Kube
let namespace: string

before(async () => {
  kube = await shareKube()
  await applyAll(kube.api, definitions)
  namespace = await kube.makeNamespace('resources')
})
after(() => kube?.stop())

test('the API server accepts the CRDs unchanged, with all rules within their budget', async () => {
  assert.equal(definitions.length, 5)
  for (const definition of definitions) {
    const served = await kube.api.get(refOf(definition))
    assert.ok(trueCondition(served, 'Established'))
    assert.ok(trueCondition(served, 'NamesAccepted'))
    assert.equal(trueCondition(served, 'NonStructuralSchema'), undefined)
  }
})

test('the CRDs of another API group can be installed next to them', async () => {
  const others = buildDefinitions('backups.example.com')
  for (const definition of others) {
    await kube.api.apply({ ...definition })
    await kube.api.wait(refOf({ ...definition }), made => trueCondition(made, 'Established') !== undefined)
  }
  const resource = await create('KafkaBackup', {}, {}, 'backups.example.com/v1alpha1')
  await finish(resource)
  await assert.rejects(
    edit(resource, { topics: { include: ['a'] } }),
    /annotate this one with backups\.example\.com\/trigger/,
  )
  assert.deepEqual(
    others.map(({ metadata }) => metadata.name),
    ['kafkabackups', 'kafkarestores', 'kafkaoffsetresets', 'kafkaoffsetrollbacks', 'kafkabackupstorages'].map(
      name => `${name}.backups.example.com`,
    ),
  )
})

test('the admission policy of docs/operator.md reserves podTemplate for a group', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/operator.md'), 'utf8')
  const [, text = ''] = /```yaml\n(apiVersion: admissionregistration[\s\S]*?)```/.exec(page) ?? []
  const [policy, binding] = parseAllDocuments(text).map(each => each.toJS() as KubeObject)
  assert.ok(policy && binding)
  const podTemplate = { spec: { priorityClassName: 'batch' } }
  // Other tests use this API server, and a policy applies for a while after it was deleted.
  const own = await kube.makeNamespace('policy')
  const make = (spec: object) => {
    const metadata = { generateName: 'resource-', namespace: own }
    return kube.api.create({ apiVersion, kind: 'KafkaBackup', metadata, spec: { ...goodSpecs.KafkaBackup, ...spec } })
  }
  const before = (await make({ podTemplate })) as Resource
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': own } }
  await kube.api.apply(policy)
  await kube.api.apply({ ...binding, spec: { ...(binding.spec as object), matchResources: { namespaceSelector } } })
  try {
    const refused = async () => {
      const made = await make({ podTemplate }).catch((error: Error) => error)
      return made instanceof Error && /only platform-admins may set spec\.podTemplate/.test(made.message)
    }
    await waitFor('the policy is active', refused)
    await assert.rejects(edit(before, { podTemplate: { spec: { priorityClassName: 'high' } } }), /platform-admins/)
    await edit(before, { suspend: true })
    await make({})
  } finally {
    await kube.api.delete(refOf(binding))
    await kube.api.delete(refOf(policy))
  }
})

test('unset fields get their defaults', async () => {
  const { spec } = await create('KafkaBackup', { verify: {}, backup: {}, retention: { keepLast: 3 } })
  const { mode, suspend, concurrencyPolicy, parallelism, deletionPolicy, job, verify, retention } = spec
  assert.deepEqual(
    { mode, suspend, concurrencyPolicy, parallelism, deletionPolicy, job, verify, retention },
    {
      mode: 'incremental',
      suspend: false,
      concurrencyPolicy: 'Forbid',
      parallelism: 1,
      deletionPolicy: 'Retain',
      job: { successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 3 },
      verify: { deep: false },
      retention: { keepLast: 3, grace: '24h', afterBackup: true },
    },
  )
  const rollback = await create('KafkaOffsetRollback', {})
  assert.deepEqual([rollback.spec.operation, rollback.spec.dryRun], ['rollback', false])
})

for (const [file, objects] of Object.entries(readExamples())) {
  test(`examples/kubernetes/${file} is accepted, and a pod can be planned for it`, async () => {
    for (const object of objects) {
      const applied = await apply({ ...object, metadata: { ...object.metadata, namespace } })
      assert.equal(applied.metadata.name, object.metadata.name)
      if (object.apiVersion === apiVersion) assert.doesNotThrow(() => planPods(applied as unknown as OwnResource))
    }
  })
}

for (const file of ['README.md', 'docs/operator.md']) {
  test(`the manifests of ${file} are accepted`, async () => {
    const page = readFileSync(join(import.meta.dirname, '../..', file), 'utf8')
    const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].flatMap(([, text = '']) => parseAllDocuments(text))
    const objects = blocks.map(block => block.toJS() as KubeObject)
    const shown = objects.filter(object => object.apiVersion === apiVersion)
    assert.ok(shown.length > 0)
    for (const [at, object] of shown.entries()) {
      await apply({ ...object, metadata: { name: `of-the-page-${at}`, namespace } })
    }
  })
}

test('the good resources of these tests are accepted', async () => {
  for (const kind of Object.keys(goodSpecs)) await create(kind, {})
})

for (const { kind, name, spec, says, metadata } of badResources) {
  test(`refused: ${kind} with ${name}`, async () => {
    await assert.rejects(create(kind, spec, metadata), error => {
      assert.ok(error instanceof KubeError)
      assert.ok(error.status === 422 || error.status === 400, error.message)
      assert.match(error.message, says)
      return true
    })
  })
}

for (const schedule of [
  '0 2 * * *',
  '*/15 * * * *',
  '0 0 1,15 * MON-FRI',
  '5-55/10 8-18 * jan-mar 0',
  '@hourly',
  '@yearly',
]) {
  test(`the schedule ${schedule} is accepted`, async () => {
    await create('KafkaBackup', { schedule })
  })
}

for (const timeZone of ['UTC', 'Europe/Vienna', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5']) {
  test(`the time zone ${timeZone} is accepted`, async () => {
    await create('KafkaBackup', { schedule: '@daily', timeZone })
  })
}

for (const [kind, change] of [
  ['KafkaBackup', { topics: { include: ['orders'] } }],
  ['KafkaRestore', { backupId: 'another' }],
  ['KafkaOffsetReset', { strategy: 'latest' }],
  ['KafkaOffsetRollback', { dryRun: true }],
] as const) {
  test(`the spec of a finished ${kind} is immutable`, async () => {
    const resource = await create(kind, {})
    await edit(resource, { suspend: true })
    await setStatus(resource, { phase: 'Failed', reason: 'InvalidSpec' })
    await edit(resource, { suspend: false })
    for (const phase of ['Failed', 'Completed']) {
      await finish(resource, phase)
      await assert.rejects(
        edit(resource, change),
        /spec: Forbidden: .*create a new resource, or annotate this one with kafka-backup\.dev\/trigger/,
      )
    }
    const annotations = { 'kafka-backup.dev/trigger': 'now' }
    const triggered = await kube.api.patch(refOf(resource), { metadata: { annotations } })
    assert.deepEqual(triggered.metadata.annotations, annotations)
    await setStatus(resource, { phase: 'Running', completionTime: null })
  })
}

for (const [name, spec] of [
  ['scheduled', { schedule: '@daily' }],
  ['continuous', { backup: { continuous: true } }],
] as const) {
  test(`a ${name} backup stays editable`, async () => {
    const resource = await create('KafkaBackup', spec)
    await finish(resource)
    const edited = await edit(resource, { topics: { include: ['orders'] }, schedule: null, backup: null })
    assert.deepEqual((edited.spec as { topics: object }).topics, { include: ['orders'] })
  })
}

test('deletionPolicy of a finished backup can still be changed', async () => {
  const resource = await create('KafkaBackup', { deletionPolicy: 'Delete' })
  await finish(resource)
  await edit(resource, { deletionPolicy: 'Retain' })
  await edit(resource, { deletionPolicy: 'Delete' })
})

test('fields that locate backups to be deleted are immutable', async () => {
  const resource = await create('KafkaBackup', { schedule: '@daily', deletionPolicy: 'Delete' })
  await edit(resource, { storage: { bucket: 'right-bucket' } })
  await finish(resource)
  await edit(resource, { storage: { region: 'eu-west-1' } })
  const lost = /spec\.deletionPolicy: Forbidden: .*set deletionPolicy to Retain first/
  await assert.rejects(edit(resource, { storage: { bucket: 'another-bucket' } }), lost)
  await assert.rejects(edit(resource, { storage: { endpoint: 'https://another-store:9000' } }), lost)
  await assert.rejects(edit(resource, { backupId: 'another' }), lost)
  // Each mode removes what it has made itself.
  await assert.rejects(edit(resource, { mode: 'full' }), lost)
  await edit(resource, { deletionPolicy: 'Retain' })
  await edit(resource, { storage: { bucket: 'another-bucket' } })
})

test('a storageRef replaces storage, and is as immutable where backups have to be found', async () => {
  const byName = { storage: null, storageRef: { name: 'minio' } }
  for (const kind of Object.keys(goodSpecs).filter(each => each !== 'KafkaBackupStorage')) await create(kind, byName)
  const resource = await create('KafkaBackup', { ...byName, schedule: '@daily', deletionPolicy: 'Delete' })
  await edit(resource, { storageRef: { name: 'aws' } })
  await finish(resource)
  await edit(resource, { suspend: true })
  const lost = /spec\.deletionPolicy: Forbidden: .*set deletionPolicy to Retain first/
  await assert.rejects(edit(resource, { storageRef: { name: 'minio' } }), lost)
  await assert.rejects(edit(resource, { storageRef: null, storage: goodSpecs.KafkaBackup?.storage }), lost)
  await edit(resource, { deletionPolicy: 'Retain' })
  await edit(resource, { storageRef: null, storage: goodSpecs.KafkaBackup?.storage })
})

test('a clusterRef replaces kafkaCluster', async () => {
  const byName = { kafkaCluster: null, clusterRef: { name: 'prod', listener: 'tls' }, kafkaUserRef: { name: 'backup' } }
  for (const kind of Object.keys(goodSpecs).filter(each => each !== 'KafkaBackupStorage')) {
    const { spec } = await create(kind, byName)
    assert.deepEqual(spec.clusterRef, { kind: 'Kafka', name: 'prod', listener: 'tls' })
  }
})

test('the location of a KafkaBackupStorage is immutable, its address and secrets are not', async () => {
  const resource = await create('KafkaBackupStorage', {})
  const { validationInterval, suspend, job } = resource.spec
  assert.deepEqual(
    { validationInterval, suspend, job },
    {
      validationInterval: '1h',
      suspend: false,
      job: { activeDeadlineSeconds: 300 },
    },
  )
  await edit(resource, { storage: { endpoint: 'https://another-address:9000' }, validationInterval: '5m' })
  const moved = /spec\.storage: Forbidden: .*create another KafkaBackupStorage/
  await assert.rejects(edit(resource, { storage: { bucket: 'another' } }), moved)
  await assert.rejects(edit(resource, { storage: { prefix: 'another' } }), moved)
})

test('kubectl get shows whether a storage is available', async () => {
  const resource = await create('KafkaBackupStorage', {})
  const time = '2026-01-31T08:00:00Z'
  const condition = { reason: 'Validated', message: 'b', lastTransitionTime: time, observedGeneration: 1 }
  const status = {
    observedGeneration: 1,
    reason: 'Validated',
    message: 'all is well',
    conditions: [{ type: 'Available', status: 'True', ...condition }],
    lastValidationTime: time,
    nextValidationTime: time,
    validationJob: 'minio-1',
    users: 2,
    lastTrigger: 'now',
  }
  const written = await setStatus(resource, status)
  assert.deepEqual(written.status, status)
  const { columns, cells } = await readTable('kafkabackupstorages', resource.metadata.name ?? '')
  assert.deepEqual(
    columns.filter(({ priority }) => priority === 0).map(({ name }) => name),
    ['Name', 'Available', 'Backend', 'Users', 'Last Validation', 'Age'],
  )
  assert.deepEqual([cells.Available, cells.Backend, cells.Users], ['True', 's3', 2])
})

test('rules are within their budget also for the largest lists and maps', async () => {
  const names = Array.from({ length: 1000 }, (_, index) => `${'a-long-name-of-a-topic-'.repeat(8)}${index}`)
  const topicMapping = Object.fromEntries(names.map(name => [name, `${name}-restored`]))
  const restore = await create('KafkaRestore', { restore: { topics: { include: names }, topicMapping } })
  await finish(restore)
  const triggered = await kube.api.patch(refOf(restore), { metadata: { annotations: { a: 'b' } } })
  assert.equal(triggered.metadata.generation, 1)
  await assert.rejects(
    edit(restore, { restore: { topics: { include: ['*'] } } }),
    /spec: Forbidden: this run has finished/,
  )
  const backup = await create('KafkaBackup', { topics: { include: names, exclude: names } })
  await finish(backup)
  await edit(backup, { deletionPolicy: 'Delete' })
  await assert.rejects(edit(backup, { topics: { exclude: [] } }), /spec: Forbidden: this run has finished/)
  await create('KafkaOffsetReset', { groups: names.slice(0, 500), topics: names.map((_, index) => `topic-${index}`) })
})

test('kubectl get shows the state', async () => {
  const resource = await create('KafkaBackup', { schedule: '@daily' })
  const times = { startTime: '2026-01-31T08:00:00Z', completionTime: '2026-01-31T09:00:00Z' }
  const numbers = { records: 12, bytes: 3400, backupId: 'the-id', message: 'all is well' }
  await setStatus(resource, {
    phase: 'Completed',
    ...times,
    ...numbers,
    lastSuccessfulTime: new Date(Date.now() - 7_200_000).toISOString(),
  })
  const table = await readTable('kafkabackups', resource.metadata.name ?? '')
  assert.deepEqual(
    table.columns.filter(({ priority }) => priority === 0).map(({ name }) => name),
    ['Name', 'Phase', 'Schedule', 'Last Success', 'Records', 'Bytes', 'Age'],
  )
  const { Phase, Schedule, Records, Bytes, Message, 'Last Success': success, 'Backup ID': id } = table.cells
  assert.deepEqual([Phase, Schedule, success, Records, Bytes], ['Completed', '@daily', '120m', 12, 3400])
  assert.deepEqual([id, Message], ['the-id', 'all is well'])
})

test('a status with all fields is accepted', async () => {
  const resource = await create('KafkaBackup', {})
  const time = '2026-01-31T08:00:00Z'
  const active = { run: 'once', purpose: 'main', job: 'a-1', startTime: time, backupId: 'a' }
  const ended = {
    ...active,
    phase: 'Failed',
    completionTime: time,
    reason: 'Partial',
    message: 'b',
    records: 1,
    bytes: 2,
  }
  const status = {
    phase: 'Running',
    observedGeneration: 1,
    conditions: [
      { type: 'Ready', status: 'True', reason: 'A', message: 'b', lastTransitionTime: time, observedGeneration: 1 },
    ],
    progress: { phase: 'copy', percent: 12.5, records: 1, bytes: 2, remainingSeconds: 3.5 },
    active: [active],
    history: [{ ...ended, storedBytes: 3, groups: 4, gaps: 5, snapshotId: 'c', report: 'd' }],
    nextScheduleTime: time,
  }
  const written = await setStatus(resource, status)
  assert.deepEqual(written.status, status)
})

/** As the operator does it for the steps of a run. */
function planPods(resource: OwnResource): void {
  const [controller] = allControllers.filter(each => resourceKinds()[each].kind === resource.kind)
  assert.ok(controller)
  const shards = resource.spec.parallelism ?? 1
  const stages = shards > 1 ? (['shards', 'commit'] as const) : (['whole'] as const)
  const backupId = resource.spec.backupId ?? resource.metadata.name
  // What it refers to is valid on its own.
  const { storage, kafkaCluster } = goodSpecs.KafkaBackup as Record<string, Record<string, unknown>>
  const references = {
    ...(resource.spec.storageRef && { storage: storageSection('a', { storage }) }),
    ...(resource.spec.clusterRef && { kafkaCluster: { value: kafkaCluster ?? {}, at: ['spec', 'clusterRef'] } }),
  }
  const snapshotId = resource.spec.resetRef && { snapshotId: '20260131t080000z-1a2b3c4d' }
  for (const stage of stages) {
    planJobPod(controller, resource, { purpose: 'main', stage, shards, backupId, ...snapshotId }, references)
  }
  if (resource.spec.verify)
    planJobPod(controller, resource, { purpose: 'verify', stage: 'whole', shards: 1, backupId }, references)
  if (resource.spec.deletionPolicy !== 'Delete') return
  planJobPod(controller, resource, { purpose: 'delete', stage: 'whole', shards: 1, backupId }, references)
}

interface Resource extends KubeObject {
  spec: Record<string, unknown>
}

/** A good resource with these changes. Unknown fields are refused, as kubectl asks for it. */
async function create(kind: string, changes: object, metadata: object = {}, version = apiVersion): Promise<Resource> {
  const spec = Object.fromEntries(
    Object.entries({ ...goodSpecs[kind], ...changes }).filter(([, value]) => value !== null),
  )
  const path = `/apis/${version}/namespaces/${namespace}/${kind.toLowerCase()}s?fieldValidation=Strict`
  const named = { generateName: 'resource-', ...metadata }
  return (await kube.api.request('POST', path, { apiVersion: version, kind, metadata: named, spec })) as Resource
}

/** Server-side apply as kubectl does it. */
async function apply(object: KubeObject): Promise<KubeObject> {
  const { apiVersion: version, kind, metadata } = object
  const root = version.includes('/') ? '/apis' : '/api'
  const path = `${root}/${version}/namespaces/${namespace}/${kind.toLowerCase()}s/${metadata.name}`
  const query = 'fieldManager=kubectl&fieldValidation=Strict'
  return (await kube.api.request('PATCH', `${path}?${query}`, object, 'application/apply-patch+yaml')) as KubeObject
}

function edit(resource: Resource, spec: object): Promise<KubeObject> {
  return kube.api.patch(refOf(resource), { spec })
}

function setStatus(resource: Resource, status: object): Promise<KubeObject> {
  return kube.api.patch(refOf(resource), { status }, { subresource: 'status' })
}

function finish(resource: Resource, phase = 'Completed'): Promise<KubeObject> {
  const time = '2026-01-31T08:00:00Z'
  return setStatus(resource, { phase, startTime: time, completionTime: time })
}

interface Table {
  columnDefinitions: { name: string; priority: number }[]
  rows: { cells: unknown[] }[]
}

/** What kubectl asks for to print a list. */
async function readTable(plural: string, name: string) {
  const connection = openKubeConnection(kube.admin)
  const path = `/apis/${apiVersion}/namespaces/${namespace}/${plural}/${name}`
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
  const table = (await connection.send({ method: 'GET', path, accept })) as Table
  connection.close()
  const cells = table.columnDefinitions.map((column, at) => [column.name, table.rows[0]?.cells[at]])
  return { columns: table.columnDefinitions, cells: Object.fromEntries(cells) as Record<string, unknown> }
}
