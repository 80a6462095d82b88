import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Resource, resourceKinds } from '../../../src/operator/crd/resource.ts'
import type { KubeApi } from '../../../src/operator/kube/kube-api.ts'
import { triggerRun } from '../../../src/operator/kubectl/trigger-run.ts'
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

const settle = () => new Promise(resolve => setImmediate(resolve))
