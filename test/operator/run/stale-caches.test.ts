import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jobKind } from '../../../src/operator/job/kube-job.ts'
import { createPlanner } from '../../../src/operator/run/planner.ts'
import { kinds, namespace, OperatorModel } from './operator-model.ts'

/** A switch for the watches of some kinds: they tell nothing while they are held. */
function openHold() {
  const held = new Set<string>()
  return { held, isHeld: ({ kind }: { kind: string }) => held.has(kind) }
}

const spec = {
  kafkaCluster: { bootstrapServers: ['kafka:9092'] },
  topics: { include: ['*'] },
  storage: { backend: 'pvc', pvc: { claimName: 'store' } },
}
const planner = createPlanner('kafka-backup.dev', { image: 'kafka-backup:1', serviceAccountName: 'default' })

function countCreates({ calls }: OperatorModel): number {
  return calls.filter(({ verb, kind }) => verb === 'create' && kind === 'Job').length
}

/** Makes the operator look at the resource. */
async function touch(model: OperatorModel, times = 5): Promise<void> {
  for (let count = 0; count < times; count++) {
    const resource = model.get('orders')
    const labels = { touched: String(model.time.ms) }
    model.kube.put(kinds.backup, { ...resource, metadata: { ...resource.metadata, labels } })
    await model.time.pass(200)
  }
}

test('does not create a Job twice that the cache does not show yet', async () => {
  const model = new OperatorModel()
  const { held, isHeld } = openHold()
  const operator = model.start({ isHeld })
  await model.time.pass(1000)
  held.add('Job')
  model.put('backup', 'orders')
  await model.time.pass(1000)
  await touch(model)
  assert.deepEqual([countCreates(model), model.get('orders').status?.active?.length], [1, 1])
  // The caches lag for longer than anybody waits for them.
  await model.time.pass(30_000)
  await touch(model)
  assert.equal(countCreates(model), 1)
  held.clear()
  model.kube.nudge()
  await model.time.pass(100)
  model.endJob(model.jobs[0] as never)
  await model.time.pass(1000)
  assert.equal(model.get('orders').status?.phase, 'Completed')
  await operator.stop()
})

test('detects a Job that was deleted before the cache showed it', async () => {
  const model = new OperatorModel()
  const { held, isHeld } = openHold()
  const operator = model.start({ isHeld })
  await model.time.pass(1000)
  held.add('Job')
  model.put('backup', 'orders')
  await model.time.pass(1000)
  model.kube.remove(jobKind, { namespace, name: model.jobs[0]?.metadata.name ?? '' })
  await touch(model)
  assert.equal(countCreates(model), 1)
  await model.time.pass(30_000)
  await touch(model)
  assert.equal(countCreates(model), 2)
  await operator.stop()
})

test('reports the end of a run once, although the cache lags', async () => {
  const model = new OperatorModel()
  const { held, isHeld } = openHold()
  const operator = model.start({ isHeld, planner })
  model.put('backup', 'orders', spec)
  await model.time.pass(1000)
  const [job] = model.jobs
  assert.ok(job)
  held.add('KafkaBackup')
  model.endJob(job)
  await model.time.pass(1000)
  assert.equal(model.get('orders').status?.phase, 'Completed')
  for (let count = 0; count < 5; count++) {
    model.startPod(job, `10.0.0.${count}`)
    await model.time.pass(8000)
  }
  assert.deepEqual(
    model.told.filter(line => line.startsWith('ended')),
    ['ended orders once Completed'],
  )
  const events = model.calls.filter(({ kind }) => kind === 'Event').length
  assert.equal(events, 2)
  await operator.stop()
})

test('a new leader whose cache lacks the end of a run does not repeat the run', async () => {
  const model = new OperatorModel()
  const { held, isHeld } = openHold()
  const first = model.start()
  await model.time.pass(1000)
  const second = model.start({ isHeld })
  model.put('backup', 'orders')
  await model.time.pass(1000)
  held.add('KafkaBackup')
  model.endJob(model.jobs[0] as never)
  await model.time.pass(1000)
  const { history } = model.get('orders').status ?? {}
  assert.deepEqual([history?.length, model.jobs], [1, []])
  await first.stop()
  await model.time.pass(30_000)
  assert.equal(second.health.isLeader, true)
  assert.equal(model.jobsMade.length, 1)
  assert.equal(model.get('orders').status?.history?.length, 1)
  await second.stop()
})

test('a new leader whose cache lacks an active Job requests it', async () => {
  const model = new OperatorModel()
  const { held, isHeld } = openHold()
  const first = model.start()
  await model.time.pass(1000)
  const second = model.start({ isHeld })
  await model.time.pass(1000)
  held.add('Job')
  model.put('backup', 'orders')
  await model.time.pass(1000)
  assert.equal(model.get('orders').status?.active?.length, 1)
  await first.stop()
  await model.time.pass(30_000)
  assert.equal(second.health.isLeader, true)
  assert.equal(countCreates(model), 1)
  await second.stop()
})

test('a new leader whose cache lacks the end of a run does not overwrite it', async () => {
  const model = new OperatorModel()
  const { held, isHeld } = openHold()
  const first = model.start({ planner })
  await model.time.pass(1000)
  const second = model.start({ planner, isHeld })
  model.put('backup', 'orders', { ...spec, job: { successfulJobsHistoryLimit: 0 } })
  await model.time.pass(20_000)
  held.add('KafkaBackup')
  await model.time.pass(120_000)
  model.endJob(model.jobs[0] as never)
  await model.time.pass(1000)
  assert.deepEqual([model.get('orders').status?.phase, model.jobs], ['Completed', []])
  await first.stop()
  await model.time.pass(30_000)
  assert.equal(second.health.isLeader, true)
  assert.deepEqual(
    model.get('orders').status?.history?.map(({ phase }) => phase),
    ['Completed'],
  )
  assert.ok(!model.told.includes('ended orders once Failed'))
  await second.stop()
})

test('a status that is based on an old version does not overwrite a newer one', async () => {
  const model = new OperatorModel()
  let isLate = true
  const operator = model.start({
    planner,
    around: async (verb, act, _, { kind }) => {
      if (verb === 'applyStatus' && kind === 'KafkaBackup' && isLate) {
        isLate = false
        const { status: _, ...there } = model.get('orders')
        const ended = { run: 'other', purpose: 'main', job: 'other', phase: 'Completed' } as const
        const history = [{ ...ended, startTime: '1970-01-01T00:00:00Z', completionTime: '1970-01-01T00:00:00Z' }]
        model.kube.applyStatus(kinds.backup, { ...there, status: { history } } as never)
      }
      return act()
    },
  })
  model.put('backup', 'orders', spec)
  await model.time.pass(30_000)
  const { history, active } = model.get('orders').status ?? {}
  assert.deepEqual([history?.map(({ run }) => run), active?.map(({ run }) => run)], [['other'], ['once']])
  assert.deepEqual([countCreates(model), model.told.includes('reconciled orders badly')], [1, false])
  await operator.stop()
})

test('a status that follows a conflict describes the spec that it is written over', async () => {
  const model = new OperatorModel()
  const { held, isHeld } = openHold()
  const operator = model.start({ planner, isHeld })
  model.put('backup', 'orders', spec)
  await model.time.pass(1000)
  held.add('KafkaBackup')
  model.kube.put(kinds.backup, { ...model.get('orders'), spec: { ...spec, backupId: 'other' } } as never)
  model.startPod(model.jobs[0] as never)
  await model.time.pass(5000)
  const { observedGeneration, phase } = model.get('orders').status ?? {}
  assert.deepEqual([observedGeneration, phase], [2, 'Running'])
  await operator.stop()
})

test('a finalizer that was set over a newer status does not let an older one replace it', async () => {
  const model = new OperatorModel()
  let isLate = true
  const operator = model.start({
    planner,
    around: async (verb, act, _, { kind }) => {
      if (verb === 'apply' && kind === 'KafkaBackup' && isLate) {
        isLate = false
        const ended = { run: 'other', purpose: 'main', job: 'other', phase: 'Completed' } as const
        const history = [{ ...ended, startTime: '1970-01-01T00:00:00Z', completionTime: '1970-01-01T00:00:00Z' }]
        const { resourceVersion: _, ...metadata } = model.get('orders').metadata
        model.kube.applyStatus(kinds.backup, { ...model.get('orders'), metadata, status: { history } } as never)
      }
      return act()
    },
  })
  model.put('backup', 'orders', { ...spec, schedule: '0 2 * * *' })
  await model.time.pass(1000)
  const given = model.get('orders')
  model.kube.put(kinds.backup, { ...given, spec: { ...given.spec, deletionPolicy: 'Delete' } } as never)
  await model.time.pass(5000)
  const { metadata, status } = model.get('orders')
  assert.deepEqual([metadata.finalizers?.length, status?.history?.map(({ run }) => run)], [1, ['other']])
  assert.equal(model.told.includes('reconciled orders badly'), false)
  await operator.stop()
})

test('a new leader whose caches lack a run and its Job neither ends that run nor starts another', async () => {
  const model = new OperatorModel()
  const { held, isHeld } = openHold()
  const first = model.start({ planner })
  await model.time.pass(1000)
  const second = model.start({ planner, isHeld })
  model.put('backup', 'orders', { ...spec, schedule: '0 * * * *' })
  await model.time.pass(1000)
  for (const kind of ['KafkaBackup', 'Job', 'Pod']) held.add(kind)
  await model.time.pass(3_600_000)
  assert.equal(model.jobs.length, 1)
  model.startPod(model.jobs[0] as never)
  await model.time.pass(120_000)
  await first.stop()
  await model.time.pass(90_000)
  const { active, history } = model.get('orders').status ?? {}
  assert.deepEqual([model.jobs.length, active?.length, history], [1, 1, undefined])
  await second.stop()
})
