import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AnyController,
  allControllers,
  controllers,
  type Resource,
  resourceKinds,
} from '../../../src/operator/crd/resource.ts'
import type { ResourceStatus } from '../../../src/operator/crd/status.ts'
import type { KubeApi } from '../../../src/operator/kube/kube-api.ts'
import { KubeError } from '../../../src/operator/kube/kube-error.ts'
import { findResources } from '../../../src/operator/kubectl/find-resources.ts'
import { summarize } from '../../../src/operator/kubectl/summarize.ts'

const apiGroup = 'kafka-backup.dev'
const { signal } = new AbortController()

function resourceOf(controller: AnyController, name: string, status: ResourceStatus = {}): Resource {
  const { apiVersion, kind } = resourceKinds()[controller]
  return { apiVersion, kind, metadata: { name, namespace: 'shop', generation: 1 }, spec: {}, status }
}

const failure = new KubeError('KUBE_DENIED', 'kafkabackupstorages is forbidden', { status: 403 })

/** A backup and a storage, which may not be read. */
function serve(isDenied = false): KubeApi {
  const items = { KafkaBackup: [resourceOf('backup', 'orders')], KafkaBackupStorage: [resourceOf('storage', 'minio')] }
  const list = async ({ kind }: { kind: keyof typeof items }) => {
    if (isDenied && kind === 'KafkaBackupStorage') throw failure
    return { items: items[kind] ?? [], resourceVersion: '1' }
  }
  return { list } as unknown as KubeApi
}

const scope = { apiGroup, namespace: 'shop', kinds: allControllers }
const namesOf = async (found: ReturnType<typeof findResources>) => (await found).map(one => one.resource.metadata.name)

test('storages are found with the other kinds, and by every name of their type', async () => {
  assert.deepEqual(await namesOf(findResources(serve(), scope, [], signal)), ['orders', 'minio'])
  for (const type of [
    'storage',
    'storages',
    'backupstorage',
    'kafkabackupstorages',
    'kafkabackupstorage.kafka-backup.dev',
  ]) {
    assert.deepEqual(await namesOf(findResources(serve(), scope, [`${type}/minio`], signal)), ['minio'])
  }
})

test('storages that may not be read are left out with the reason, unless one is named', async () => {
  const left: string[] = []
  const noted = { ...scope, onLeftOut: (reason: string) => left.push(reason) }
  assert.deepEqual(await namesOf(findResources(serve(true), noted, [], signal)), ['orders'])
  assert.deepEqual(left, ['kafkabackupstorages is forbidden'])
  await assert.rejects(findResources(serve(true), noted, ['storage/minio'], signal), failure)
  await assert.rejects(findResources(serve(true), scope, ['minio'], signal), {
    code: 'KUBE_NOT_FOUND',
    message: /there is no resource minio in .*; KafkaBackupStorage resources cannot be read: .* is forbidden$/,
  })
})

test('a command about runs refuses a storage', async () => {
  const runs = { ...scope, kinds: controllers }
  await assert.rejects(findResources(serve(), runs, ['storage/minio'], signal), {
    code: 'USAGE',
    message: /has no runs/,
  })
  assert.deepEqual(await namesOf(findResources(serve(), runs, [], signal)), ['orders'])
})

test('a storage is summarized by its last validation', () => {
  const condition = (type: 'Available' | 'Ready', status: 'True' | 'False') => ({
    ...{ type, status, reason: 'Denied', message: 'no access', lastTransitionTime: '' },
  })
  const times = { lastValidationTime: '2026-11-16T02:00:00Z', nextValidationTime: '2026-11-16T03:00:00Z' }
  const shown = (status: 'True' | 'False') => {
    const conditions = [condition('Available', status), condition('Ready', status)]
    return summarize(
      'storage',
      resourceOf('storage', 'minio', { observedGeneration: 1, conditions, users: 2, ...times }),
    )
  }
  const good = shown('True')
  assert.deepEqual(
    [good.phase, good.ready, good.reason, good.lastSuccessfulTime, good.nextScheduleTime, good.users],
    ['Available', 'True', '', times.lastValidationTime, times.nextValidationTime, 2],
  )
  const bad = shown('False')
  assert.deepEqual(
    [bad.phase, bad.ready, bad.message, bad.lastSuccessfulTime, bad.lastFailedTime],
    ['Unavailable', 'False', 'no access', undefined, times.lastValidationTime],
  )
})
