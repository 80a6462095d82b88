import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Resource } from '../../../src/operator/crd/resource.ts'
import type { Job } from '../../../src/operator/job/kube-job.ts'
import { catchUp } from '../../../src/operator/run/catch-up.ts'
import { newMemory } from '../../../src/operator/run/resource-memory.ts'
import { ObjectStore } from '../../../src/operator/watch/store.ts'
import { FakeKube } from '../../fakes/fake-kube.ts'
import { sampleResource } from '../metrics/sample-resources.ts'
import { kinds } from './operator-model.ts'
import { plainPlanner } from './plain-planner.ts'

test('remembers removed Jobs only while a cache may show them', async () => {
  const resource = sampleResource({ uid: 'u' })
  const memory = newMemory('u')
  const jobs = new ObjectStore<Job>(() => undefined)
  const owner = { apiVersion: 'x/v1', kind: 'KafkaBackup', name: 'orders', uid: 'u' }
  jobs.put({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'slow', namespace: 'shop', uid: 'shown', ownerReferences: [owner] },
    spec: { template: {} },
  } as unknown as Job)
  const hours = (count: number) => count * 3_600_000
  for (const [uid, atMs] of [
    ['shown', 0],
    ['old', 0],
    ['new', hours(2)],
  ] as const)
    memory.removed.set(uid, atMs)
  const store = Object.assign(new ObjectStore<Resource>(() => undefined), { troubleIn: () => undefined })
  const view = { resources: { storage: store }, kafkas: undefined }
  const known = { jobs, view, kind: kinds.backup, planner: plainPlanner }
  const parts = { api: new FakeKube().api(), ...known, nowMs: hours(2.5) }
  await catchUp(resource, memory, parts, new AbortController().signal)
  assert.deepEqual([...memory.removed.keys()], ['shown', 'new'])
})
