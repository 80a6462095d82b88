import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Job, jobKind, type Pod, podKind } from '../../../src/operator/job/kube-job.ts'
import { refOf } from '../../../src/operator/kube/object.ts'
import { createPlanner } from '../../../src/operator/run/planner.ts'
import { kinds, OperatorModel } from './operator-model.ts'

const spec = {
  kafkaCluster: { bootstrapServers: ['kafka:9092'] },
  topics: { include: ['*'] },
  storage: { backend: 'pvc', pvc: { claimName: 'store' } },
}
const continuous = { ...spec, backup: { continuous: true } }
const planner = createPlanner('kafka-backup.dev', { image: 'kafka-backup:1', serviceAccountName: 'default' })

/** Its pod gets a signal, and ends when `endPods` says so. */
function deleteJob(model: OperatorModel): Job {
  const [job] = model.jobs
  assert.ok(job)
  model.kube.remove(jobKind, refOf(job))
  return job
}

function endPods({ kube }: OperatorModel): void {
  for (const pod of kube.all(podKind)) kube.put(podKind, { ...pod, metadata: { ...pod.metadata, finalizers: [] } })
}

function startPod(model: OperatorModel): void {
  model.startPod(model.jobs[0] as Job, '10.0.0.1', ['process'])
}

function counts({ jobs, configMaps }: OperatorModel): number[] {
  return [jobs.length, configMaps.length]
}

test('the ConfigMap of a Job that a user deletes is removed', async () => {
  const model = new OperatorModel()
  const operator = model.start({ planner })
  model.put('backup', 'orders', { ...spec, mode: 'full', schedule: '0 * * * *' })
  await model.time.pass(3_600_000)
  assert.deepEqual(counts(model), [1, 1])
  deleteJob(model)
  await model.time.pass(90_000)
  assert.deepEqual(counts(model), [0, 0])
  assert.equal(model.get('orders').status?.reason, 'JobRemoved')
  await operator.stop()
})

test('the ConfigMap of a deleted Job stays while another Job uses it', async () => {
  const model = new OperatorModel()
  const operator = model.start({ planner })
  model.put('backup', 'orders', { ...spec, schedule: '0 * * * *' })
  await model.time.pass(3_600_000)
  model.endJob(model.jobs[0] as Job)
  await model.time.pass(3_600_000)
  assert.deepEqual(counts(model), [2, 1])
  deleteJob(model)
  await model.time.pass(90_000)
  assert.deepEqual(counts(model), [1, 1])
  deleteJob(model)
  await model.time.pass(90_000)
  assert.deepEqual(counts(model), [0, 0])
  await operator.stop()
})

test('does not remove the ConfigMap of a Job that only the cache misses', async () => {
  const model = new OperatorModel()
  let missed: Job | undefined
  const operator = model.start({
    planner,
    around: async (verb, act, _, { kind }) => {
      // The watch told of a removal, but the API server has the Job.
      if (verb === 'get' && kind === 'Job' && missed) model.kube.put(jobKind, missed)
      return act()
    },
  })
  model.put('backup', 'orders', spec)
  await model.time.pass(1000)
  missed = deleteJob(model)
  await model.time.pass(90_000)
  assert.deepEqual(
    [counts(model), model.calls.some(({ verb, kind }) => verb === 'get' && kind === 'Job')],
    [[1, 1], true],
  )
  assert.equal(model.get('orders').status?.active?.length, 1)
  await operator.stop()
})

test('a continuous backup whose Job is deleted starts again only when the pods of that Job have ended', async () => {
  const model = new OperatorModel()
  const operator = model.start({ planner })
  model.put('backup', 'orders', continuous)
  await model.time.pass(1000)
  startPod(model)
  await model.time.pass(120_000)
  const old = deleteJob(model)
  await model.time.pass(100_000)
  assert.equal(model.jobs.length, 0, 'its pod still holds the lease')
  const { phase, reason, message } = model.get('orders').status ?? {}
  assert.deepEqual([phase, reason], ['Running', 'Stopping'])
  assert.match(message ?? '', new RegExp(`^Job ${old.metadata.name} was deleted`))
  endPods(model)
  await model.time.pass(20_000)
  assert.deepEqual(counts(model), [1, 1])
  assert.notEqual(model.jobs[0]?.metadata.uid, old.metadata.uid)
  await operator.stop()
})

test('an operator that starts later finds the pods of a Job that was deleted meanwhile', async () => {
  const model = new OperatorModel()
  const first = model.start({ planner })
  model.put('backup', 'orders', continuous)
  await model.time.pass(1000)
  startPod(model)
  await model.time.pass(120_000)
  await first.stop()
  deleteJob(model)
  const second = model.start({ planner })
  await model.time.pass(60_000)
  assert.equal(model.jobs.length, 0)
  endPods(model)
  await model.time.pass(20_000)
  assert.deepEqual(counts(model), [1, 1])
  await second.stop()
})

test('the next leader waits for the pods of a run that an earlier one has ended, because its Job was deleted', async () => {
  const model = new OperatorModel()
  const first = model.start({ planner })
  model.put('backup', 'orders', { ...spec, schedule: '0 * * * *' })
  await model.time.pass(3_600_000)
  startPod(model)
  await model.time.pass(1000)
  deleteJob(model)
  await model.time.pass(90_000)
  assert.equal(model.get('orders').status?.reason, 'JobRemoved')
  await first.stop()
  const second = model.start({ planner })
  await model.time.pass(2 * 3_600_000)
  assert.equal(model.jobs.length, 0, 'the pod of the first run still writes')
  endPods(model)
  await model.time.pass(3_600_000)
  assert.equal(model.jobs.length, 1)
  await second.stop()
})

test('a pod that was deleted without its Job blocks the next run, which starts when it has ended', async () => {
  const model = new OperatorModel()
  const operator = model.start({ planner })
  model.put('backup', 'orders', continuous)
  await model.time.pass(1000)
  startPod(model)
  await model.time.pass(120_000)
  // As `kubectl delete job --cascade=orphan`: the garbage collector removes the owner, and the labels stay.
  const { name, uid = '' } = model.jobs[0]?.metadata ?? { name: '' }
  for (const pod of model.kube.all(podKind)) {
    const labels = { 'batch.kubernetes.io/job-name': name, 'batch.kubernetes.io/controller-uid': uid }
    const { ownerReferences: _, ...metadata } = pod.metadata
    model.kube.put(podKind, { ...pod, metadata: { ...metadata, labels: { ...pod.metadata.labels, ...labels } } })
  }
  deleteJob(model)
  await model.time.pass(600_000)
  assert.deepEqual([counts(model), model.get('orders').status?.reason], [[0, 1], 'Stopping'])
  for (const pod of model.kube.all(podKind)) {
    const failed: Pod = { ...pod, status: { phase: 'Failed' } }
    model.kube.put(podKind, failed)
  }
  await model.time.pass(20_000)
  assert.deepEqual(counts(model), [1, 1])
  await operator.stop()
})

test('the next run of a schedule waits for the pods of a Job that a user deleted', async () => {
  const model = new OperatorModel()
  const operator = model.start({ planner })
  model.put('backup', 'orders', { ...spec, schedule: '*/5 * * * *' })
  await model.time.pass(60_000)
  startPod(model)
  await model.time.pass(240_000)
  deleteJob(model)
  await model.time.pass(120_000)
  const { status } = model.get('orders')
  assert.deepEqual([model.jobs.length, status?.reason, status?.history?.[0]?.reason], [0, 'Stopping', 'JobRemoved'])
  endPods(model)
  await model.time.pass(20_000)
  assert.equal(model.jobs.length, 1)
  await operator.stop()
})

test('the next run waits for a pod that outlives the end of its Job, as after a deadline before Kubernetes 1.31', async () => {
  const model = new OperatorModel()
  const operator = model.start({ planner })
  model.put('backup', 'orders', { ...spec, schedule: '*/5 * * * *' })
  await model.time.pass(60_000)
  startPod(model)
  await model.time.pass(1000)
  const [job] = model.jobs
  assert.ok(job)
  model.endJob(job, false)
  model.kube.remove(podKind, refOf(model.kube.all(podKind)[0] as Pod))
  await model.time.pass(360_000)
  const { status } = model.get('orders')
  assert.deepEqual([model.jobs.length, status?.reason, status?.history?.length], [1, 'Stopping', 1])
  assert.equal(status?.conditions?.find(({ type }) => type === 'Progressing')?.status, 'True')
  endPods(model)
  await model.time.pass(1000)
  assert.deepEqual([model.jobs.length, model.jobs[0]?.metadata.uid], [2, job.metadata.uid], 'its log stays')
  await operator.stop()
})

test('a resource that is deleted together with its backup waits for the pods of a deleted Job', async () => {
  const model = new OperatorModel()
  const operator = model.start({ planner })
  model.put('backup', 'orders', { ...spec, deletionPolicy: 'Delete' })
  await model.time.pass(1000)
  startPod(model)
  await model.time.pass(120_000)
  deleteJob(model)
  await model.time.pass(1000)
  model.kube.remove(kinds.backup, refOf(model.get('orders')))
  await model.time.pass(60_000)
  assert.deepEqual([model.jobs.length, model.get('orders').status?.reason], [0, 'Deleting'])
  endPods(model)
  await model.time.pass(20_000)
  assert.equal(model.jobs[0]?.metadata.labels?.['kafka-backup.dev/purpose'], 'delete')
  await operator.stop()
})
