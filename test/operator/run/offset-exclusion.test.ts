import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Resource } from '../../../src/operator/crd/resource.ts'
import type { Job } from '../../../src/operator/job/kube-job.ts'
import { createPlanner } from '../../../src/operator/run/planner.ts'
import { OperatorModel, type RunningOperator, type StartOptions } from './operator-model.ts'

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
