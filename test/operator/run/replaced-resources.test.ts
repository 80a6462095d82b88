import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Resource } from '../../../src/operator/crd/resource.ts'
import { type Job, jobKind, podKind } from '../../../src/operator/job/kube-job.ts'
import { refOf } from '../../../src/operator/kube/object.ts'
import { createPlanner } from '../../../src/operator/run/planner.ts'
import { kinds, OperatorModel } from './operator-model.ts'

const spec = {
  kafkaCluster: { bootstrapServers: ['kafka:9092'] },
  storage: { backend: 'pvc', pvc: { claimName: 'store' } },
}
const backup = { ...spec, topics: { include: ['*'] } }
const planner = createPlanner('kafka-backup.dev', { image: 'kafka-backup:1', serviceAccountName: 'default' })

function endPods({ kube }: OperatorModel): void {
  for (const pod of kube.all(podKind)) kube.put(podKind, { ...pod, metadata: { ...pod.metadata, finalizers: [] } })
}

/** Whether the run waits, and for which Job. */
function waitsFor({ status }: Resource, { metadata }: Job): unknown[] {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  return [status?.phase, status?.reason, ready?.status, status?.message?.includes(metadata.name)]
}

const waiting = ['Pending', 'EarlierJob', 'False', true]

for (const [controller, own] of [
  ['restore', { ...spec, backupId: 'orders' }],
  ['backup', { ...backup, backup: { continuous: true } }],
  ['offset_reset', { ...spec, groups: ['billing'], strategy: 'earliest' }],
] as const) {
  test(`a ${controller} that is deleted and created again waits until the pods of the deleted one are gone`, async () => {
    const model = new OperatorModel()
    const operator = model.start({ planner })
    const old = model.put(controller, 'orders', own)
    await model.time.pass(1000)
    const job = model.jobs[0] as Job
    model.startPod(job, '10.0.0.1', ['process'])
    await model.time.pass(120_000)
    model.kube.remove(kinds[controller], refOf(old))
    model.put(controller, 'orders', own)
    await model.time.pass(300_000)
    assert.equal(model.jobs.length, 0, 'the pod of the deleted resource still writes')
    assert.deepEqual(waitsFor(model.get('orders', controller), job), waiting)
    endPods(model)
    await model.time.pass(20_000)
    assert.equal(model.jobs.length, 1)
    assert.notEqual(model.jobs[0]?.metadata.name, job.metadata.name)
    await operator.stop()
  })
}

test('a backup waits for the Job that a resource of its name left behind (--cascade=orphan)', async () => {
  const model = new OperatorModel()
  const operator = model.start({ planner })
  model.put('backup', 'orders', backup)
  await model.time.pass(1000)
  const job = model.jobs[0] as Job
  const { ownerReferences: _, ...metadata } = job.metadata
  model.kube.put(jobKind, { ...job, metadata } as Job)
  model.kube.remove(kinds.backup, refOf(model.get('orders')))
  await model.time.pass(1000)
  model.put('backup', 'orders', backup)
  await model.time.pass(60_000)
  assert.equal(model.jobs.length, 1)
  assert.deepEqual(waitsFor(model.get('orders'), job), waiting)
  model.endJob(job)
  await model.time.pass(20_000)
  assert.equal(model.jobs.length, 2)
  await operator.stop()
})

test('a Job of the deleted resource that no watch has shown yet is waited for too', async () => {
  const model = new OperatorModel()
  const operator = model.start({ planner, isHeld: ({ kind }) => kind === 'Job' || kind === 'Pod' })
  const old = model.put('backup', 'orders', backup)
  await model.time.pass(1000)
  model.startPod(model.jobs[0] as Job, '10.0.0.1', ['process'])
  model.kube.remove(kinds.backup, refOf(old))
  model.put('backup', 'orders', backup)
  await model.time.pass(5000)
  assert.deepEqual([model.jobs.length, model.get('orders').status?.reason], [0, 'EarlierJob'])
  await operator.stop()
})

test('pods of other resources, and pods that have ended, hold up no run', async () => {
  const model = new OperatorModel()
  const operator = model.start({ planner })
  const [old, other] = [model.put('backup', 'orders', backup), model.put('backup', 'payments', backup)]
  await model.time.pass(1000)
  for (const job of model.jobs) model.startPod(job, '10.0.0.1', ['process'])
  for (const pod of model.kube.all(podKind)) {
    const isOld = pod.metadata.name.startsWith('orders')
    if (isOld) model.kube.put(podKind, { ...pod, status: { phase: 'Failed' } } as never)
  }
  model.kube.remove(kinds.backup, refOf(old))
  model.kube.remove(kinds.backup, refOf(other))
  model.put('backup', 'orders', backup)
  await model.time.pass(1000)
  assert.equal(model.jobs.length, 1)
  await operator.stop()
})
