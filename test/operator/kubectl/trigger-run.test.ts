import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Resource, resourceKinds } from '../../../src/operator/crd/resource.ts'
import type { KubeApi } from '../../../src/operator/kube/kube-api.ts'
import { KubeError } from '../../../src/operator/kube/kube-error.ts'
import { triggerRun, waitForEnd } from '../../../src/operator/kubectl/trigger-run.ts'
import { deleteAgainKey, triggerKey } from '../../../src/operator/plan/run-key.ts'
import { ManualClock } from '../../cli/manual-clock.ts'

const apiGroup = 'kafka-backup.dev'

test('a trigger reports at once that its run waits for a storage, and fails with the cause after 30 seconds', async () => {
  const clock = new ManualClock()
  const kinds = resourceKinds(apiGroup)
  const resource = {
    ...{ apiVersion: `${apiGroup}/v1alpha1`, kind: 'KafkaBackup', metadata: { name: 'orders', namespace: 'shop' } },
    spec: { storageRef: { name: 'minio' } },
    status: { reason: 'StorageUnavailable', message: 'KafkaBackupStorage minio is not available: denied' },
  } as unknown as Resource
  const api = { apply: async () => resource, get: async () => resource } as unknown as KubeApi
  const waits: string[] = []
  const parts = { api, clock, kinds, apiGroup, id: 'a', onWait: (message: string) => waits.push(message) }
  const ended = triggerRun({ controller: 'backup', resource }, parts, new AbortController().signal)
  const failed = assert.rejects(ended, /has not started: StorageUnavailable: KafkaBackupStorage minio is not available/)
  await settle()
  assert.deepEqual(waits, ['waiting: StorageUnavailable: KafkaBackupStorage minio is not available: denied'])
  clock.pass(30_000)
  await failed
})

test('waiting for a run ends when its resource was deleted and created again, whose status never shows the run', async () => {
  const kinds = resourceKinds(apiGroup)
  const of = (uid: string) =>
    ({ kind: 'KafkaRestore', metadata: { name: 'all', namespace: 'shop', uid }, spec: {} }) as unknown as Resource
  const read = [of('old'), of('new')]
  const get = async () => {
    const next = read.shift()
    assert.ok(next, 'it is not read again')
    return next
  }
  const clock = Object.assign(new ManualClock(), { sleep: async () => undefined })
  const parts = { api: { get } as unknown as KubeApi, clock, kinds }
  const found = { controller: 'restore', resource: of('old') } as const
  await assert.rejects(
    waitForEnd(found, 'trigger-a', parts, () => undefined, new AbortController().signal),
    /KafkaRestore all was deleted and created again, so its status does not show run trigger-a/,
  )
})

test('the run of a triggered deletion is that of the deletion', async () => {
  const kinds = resourceKinds(apiGroup)
  const metadata = { name: 'orders', namespace: 'shop', deletionTimestamp: '2026-11-16T02:00:00Z' }
  const resource = { kind: 'KafkaBackup', metadata, spec: {}, status: {} } as unknown as Resource
  let value = ''
  const api = {
    apply: async (_: unknown, object: Resource) => {
      value = Object.values(object.metadata.annotations ?? {})[0] ?? ''
    },
    get: async () => ({ ...resource, status: { lastTrigger: value, active: [{ run: deleteAgainKey(value) }] } }),
  } as unknown as KubeApi
  const parts = { api, clock: new ManualClock(), kinds, apiGroup, id: 'a', onWait: () => undefined }
  const run = await triggerRun({ controller: 'backup', resource }, parts, new AbortController().signal)
  assert.deepEqual([run, triggerKey(value) === run], [deleteAgainKey(value), false])
})

/** What each read of a resource that is being deleted returns, or the error that it fails with; then whether its namespace is being deleted. */
function waitForDeletion(reads: (Resource | Error)[], isNamespaceGoing = false, run = 'delete-trigger-a') {
  const get = async () => {
    const next = reads.shift()
    assert.ok(next, 'it is not read again')
    if (next instanceof Error) throw next
    return next
  }
  const ofNamespace = { metadata: { name: 'shop', ...(isNamespaceGoing && { deletionTimestamp: later }) } }
  const api = { get, getMetadata: async () => ofNamespace } as unknown as KubeApi
  const clock = Object.assign(new ManualClock(), { sleep: async () => undefined })
  const found = { controller: 'backup', resource: deletedBackup({}) } as const
  const parts = { api, clock, kinds: resourceKinds(apiGroup) }
  return waitForEnd(found, run, parts, () => undefined, new AbortController().signal)
}

const later = '2026-11-16T02:00:00Z'
const deletionRun = { run: 'delete-trigger-a', purpose: 'delete', job: 'orders-1', startTime: later }
const gone = () => new KubeError('KUBE_NOT_FOUND', 'kafkabackups "orders" not found', { status: 404 })

function deletedBackup(status: object, deletionPolicy = 'Delete'): Resource {
  const metadata = { name: 'orders', namespace: 'shop', uid: 'u', deletionTimestamp: later }
  const finalizers = [`${apiGroup}/delete-backup`]
  return { kind: 'KafkaBackup', metadata: { ...metadata, finalizers }, spec: { deletionPolicy }, status } as Resource
}

test('a deletion is complete when its resource is gone, which the operator removes then', async () => {
  const active = deletedBackup({ active: [deletionRun] })
  const ended = await waitForDeletion([active, new KubeError('KUBE_UNREACHABLE', 'no answer'), gone()])
  assert.deepEqual([ended.run, ended.phase, ended.job], ['delete-trigger-a', 'Completed', 'orders-1'])
})

test('a resource that is gone without its backup is no complete deletion', async () => {
  const active = deletedBackup({ active: [deletionRun] })
  await assert.rejects(waitForDeletion([active, gone()], true), { code: 'KUBE_NOT_FOUND' })
  const retained = deletedBackup({ active: [deletionRun] }, 'Retain')
  await assert.rejects(waitForDeletion([retained, gone()]), { code: 'KUBE_NOT_FOUND' })
  const main = deletedBackup({ active: [{ ...deletionRun, run: 'once', purpose: 'main' }] })
  await assert.rejects(waitForDeletion([main, gone()], false, 'once'), { code: 'KUBE_NOT_FOUND' })
})

test('waiting for a run ends when the status has forgotten it, as after a night in which the computer was suspended', async () => {
  const active = deletedBackup({ active: [deletionRun] })
  const others = deletedBackup({ history: [{ ...deletionRun, run: 'scheduled-20261117t0200z', phase: 'Completed' }] })
  await assert.rejects(waitForDeletion([active, others]), /of KafkaBackup orders no longer has run delete-trigger-a/)
})

const settle = () => new Promise(resolve => setImmediate(resolve))
