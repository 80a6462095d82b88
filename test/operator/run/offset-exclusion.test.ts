import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Resource } from '../../../src/operator/crd/resource.ts'
import { type Job, jobKind, type Pod, podKind } from '../../../src/operator/job/kube-job.ts'
import { refOf } from '../../../src/operator/kube/object.ts'
import { createPlanner } from '../../../src/operator/run/planner.ts'
import { kinds, OperatorModel, type RunningOperator, type StartOptions } from './operator-model.ts'

const common = {
  kafkaCluster: { bootstrapServers: ['kafka:9092'] },
  storage: { backend: 'pvc', pvc: { claimName: 'store' } },
}
const reset = { ...common, groups: ['billing'], strategy: 'earliest' } as Resource['spec']
const rollback = { ...common, resetRef: { name: 'go-back' } } as Resource['spec']
const planner = createPlanner('kafka-backup.dev', { image: 'kafka-backup:1', serviceAccountName: 'default' })

/** A reset that has ended with a snapshot. */
async function afterReset(options: StartOptions = {}, model = new OperatorModel()) {
  const operator = model.start({ planner, ...options })
  model.put('offset_reset', 'go-back', reset)
  await model.time.pass(20_000)
  model.endJob(model.jobs[0] as Job)
  await model.time.pass(60_000)
  assert.ok(model.get('go-back', 'offset_reset').status?.snapshotId)
  return { model, operator }
}

/** Creating a Job takes four seconds. */
async function withSlowCreation(): Promise<{ model: OperatorModel; operator: RunningOperator }> {
  const model = new OperatorModel()
  const clock = model.time.clock()
  return afterReset(
    {
      around: async (verb, act, signal, { kind }) => {
        if (verb === 'create' && kind === 'Job') await clock.sleep(4000, signal)
        return act()
      },
    },
    model,
  )
}

function trigger(model: OperatorModel, controller: 'offset_reset' | 'offset_rollback', name: string, value: string) {
  model.put(controller, name, model.get(name, controller).spec, {
    annotations: { 'kafka-backup.dev/trigger': value },
  })
}

function activeJobs({ jobs }: OperatorModel): string[] {
  return jobs.filter(({ status }) => status === undefined).map(({ metadata }) => metadata.name)
}

test('a reset that is triggered while the Job of a rollback is created waits for the rollback', async () => {
  const { model, operator } = await withSlowCreation()
  model.put('offset_rollback', 'undo', rollback)
  await model.time.pass(1000)
  trigger(model, 'offset_reset', 'go-back', 'again')
  await model.time.pass(30_000)
  assert.equal(activeJobs(model).length, 1)
  assert.equal(model.get('go-back', 'offset_reset').status?.reason, 'WaitingForRollback')
  await operator.stop()
})

test('a rollback that appears while the Job of a reset is created waits for the reset', async () => {
  const { model, operator } = await withSlowCreation()
  trigger(model, 'offset_reset', 'go-back', 'again')
  await model.time.pass(1000)
  model.put('offset_rollback', 'undo', rollback)
  await model.time.pass(30_000)
  assert.equal(activeJobs(model).length, 1)
  assert.equal(model.get('undo', 'offset_rollback').status?.reason, 'WaitingForReset')
  await operator.stop()
})

test('of a reset and a rollback that are triggered at the same moment only one starts', async () => {
  const { model, operator } = await withSlowCreation()
  model.put('offset_rollback', 'undo', rollback, { annotations: { 'kafka-backup.dev/trigger': 'one' } })
  trigger(model, 'offset_reset', 'go-back', 'again')
  await model.time.pass(30_000)
  assert.equal(activeJobs(model).length, 1)
  await operator.stop()
})

test('rollbacks of the same reset run one after the other', async () => {
  const { model, operator } = await withSlowCreation()
  model.put('offset_rollback', 'undo', rollback)
  model.put('offset_rollback', 'undo-again', rollback)
  await model.time.pass(30_000)
  const [first, ...others] = activeJobs(model)
  assert.deepEqual(others, [])
  const job = model.jobs.find(({ metadata }) => metadata.name === first) as Job
  model.endJob(job)
  await model.time.pass(120_000)
  const second = activeJobs(model)
  assert.equal(second.length, 1)
  assert.notEqual(second[0], first)
  await operator.stop()
})

test('a rollback whose Job is refused does not hold up the reset', async () => {
  const model = new OperatorModel()
  const { KubeError } = await import('../../../src/operator/kube/kube-error.ts')
  const { operator } = await afterReset(
    {
      around: async (verb, act, _, { kind, ref }) => {
        const isRefused = verb === 'create' && kind === 'Job' && ref.name.startsWith('undo')
        if (isRefused) throw new KubeError('KUBE_DENIED', 'exceeded quota')
        return act()
      },
    },
    model,
  )
  model.put('offset_rollback', 'undo', rollback)
  await model.time.pass(1000)
  trigger(model, 'offset_reset', 'go-back', 'again')
  await model.time.pass(30_000)
  assert.equal(activeJobs(model).length, 1)
  await operator.stop()
})

/** Creating the Job of a rollback gets no response; `isStored` says whether the API server has it. */
async function withLostResponse(isStored: boolean) {
  const { KubeError } = await import('../../../src/operator/kube/kube-error.ts')
  const held = new Set<string>()
  const model = new OperatorModel()
  const { operator } = await afterReset(
    {
      isHeld: ({ kind }) => held.has(kind),
      around: async (verb, act, _, { kind, ref }) => {
        const isLost = verb === 'create' && kind === 'Job' && ref.name.startsWith('undo')
        if (!isLost) return act()
        if (isStored) await act()
        throw new KubeError('KUBE_UNREACHABLE', 'no response')
      },
    },
    model,
  )
  held.add('Job')
  model.put('offset_rollback', 'undo', rollback)
  await model.time.pass(500)
  trigger(model, 'offset_reset', 'go-back', 'again')
  await model.time.pass(30_000)
  return { model, operator }
}

test('a reset waits for a rollback whose Job was created without a response, also if the cache does not show it', async () => {
  const { model, operator } = await withLostResponse(true)
  assert.deepEqual(
    activeJobs(model).map(name => name.replace(/-\w+$/, '')),
    ['undo'],
  )
  assert.equal(model.get('go-back', 'offset_reset').status?.reason, 'WaitingForRollback')
  await operator.stop()
})

test('a reset does not wait for a rollback whose Job cannot be created', async () => {
  const { model, operator } = await withLostResponse(false)
  assert.deepEqual(
    activeJobs(model).map(name => name.replace(/-\w+$/, '')),
    ['go-back'],
  )
  await operator.stop()
})

/** A rollback whose pod runs until `endPods`. */
async function withRunningRollback() {
  const { model, operator } = await afterReset()
  model.put('offset_rollback', 'undo', rollback)
  await model.time.pass(1000)
  const job = model.jobs.find(({ status }) => status === undefined) as Job
  model.startPod(job, '10.0.0.1', ['process'])
  await model.time.pass(1000)
  return { model, operator, job }
}

/** As the Job controller and the kubelet do it: the pod template has the annotations of the Job. */
function endPods({ kube }: OperatorModel): void {
  for (const pod of kube.all(podKind)) kube.put(podKind, { ...pod, metadata: { ...pod.metadata, finalizers: [] } })
}

test('a reset waits for the pods of a rollback that was deleted', async () => {
  const { model, operator } = await withRunningRollback()
  model.kube.remove(kinds.offset_rollback, refOf(model.get('undo', 'offset_rollback')))
  trigger(model, 'offset_reset', 'go-back', 'again')
  await model.time.pass(300_000)
  assert.deepEqual(activeJobs(model), [], 'the pod of the deleted rollback still sets offsets')
  const { reason, message } = model.get('go-back', 'offset_reset').status ?? {}
  assert.equal(reason, 'WaitingForRollback')
  assert.match(
    message ?? '',
    /^Pod undo-\w+-pod of the KafkaOffsetRollback undo, which was deleted or refers to another reset/,
  )
  assert.match(message ?? '', /`kubectl -n shop delete pod undo-\w+-pod --force`/)
  endPods(model)
  await model.time.pass(20_000)
  assert.equal(activeJobs(model).length, 1)
  await operator.stop()
})

test('a reset waits for the Job that a deleted rollback left behind (--cascade=orphan)', async () => {
  const { model, operator, job } = await withRunningRollback()
  const { ownerReferences: _, ...metadata } = job.metadata
  model.kube.put(jobKind, { ...job, metadata } as Job)
  model.kube.remove(kinds.offset_rollback, refOf(model.get('undo', 'offset_rollback')))
  trigger(model, 'offset_reset', 'go-back', 'again')
  await model.time.pass(60_000)
  assert.deepEqual(activeJobs(model), [job.metadata.name])
  const { message = '' } = model.get('go-back', 'offset_reset').status ?? {}
  assert.match(message, /^Job undo-\w+ of the KafkaOffsetRollback undo, .*`kubectl -n shop delete job undo-\w+`/)
  endPods(model)
  model.endJob(job)
  for (const pod of model.kube.all(podKind)) model.kube.put(podKind, { ...pod, status: { phase: 'Succeeded' } } as Pod)
  await model.time.pass(20_000)
  assert.equal(activeJobs(model).length, 1)
  await operator.stop()
})

test('a reset waits for a rollback that refers to another reset since it started', async () => {
  const { model, operator, job } = await withRunningRollback()
  model.put('offset_rollback', 'undo', { ...rollback, resetRef: { name: 'another' } })
  trigger(model, 'offset_reset', 'go-back', 'again')
  await model.time.pass(60_000)
  assert.deepEqual(activeJobs(model), [job.metadata.name])
  assert.equal(model.get('go-back', 'offset_reset').status?.reason, 'WaitingForRollback')
  await operator.stop()
})
