import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceSpec } from '../../../src/operator/crd/resource.ts'
import type { Job } from '../../../src/operator/job/kube-job.ts'
import { KubeError } from '../../../src/operator/kube/kube-error.ts'
import { createPlanner, type Planner } from '../../../src/operator/run/planner.ts'
import { OperatorModel, putSecret } from './operator-model.ts'

const HOUR_MS = 3_600_000
const planner = createPlanner('kafka-backup.dev', { image: 'kafka-backup:1', serviceAccountName: 'default' })

const spec: ResourceSpec = {
  schedule: '0 * * * *',
  kafkaCluster: { bootstrapServers: ['kafka:9092'] },
  topics: { include: ['*'] },
  storage: { backend: 's3', bucket: 'backups', region: 'eu-central-1' },
  drill: {
    schedule: '30 * * * *',
    kafkaCluster: { bootstrapServers: ['test:9092'] },
    signingKeySecret: { name: 'drill', key: 'drill.key' },
  },
}

const purposeOf = ({ metadata }: Job) => metadata.labels?.['kafka-backup.dev/purpose']

/** Lets Jobs of backups succeed after a second; drills run on. */
async function live(model: OperatorModel, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 60_000) {
    await model.time.pass(60_000)
    for (const job of model.jobs) if (purposeOf(job) === 'main' && !job.status?.conditions) model.endJob(job)
  }
}

const drillsMade = (model: OperatorModel) => model.jobs.filter(job => purposeOf(job) === 'drill').length
const mainsMade = (model: OperatorModel) => model.told.filter(line => /^ended orders scheduled-/.test(line)).length

test('a drill waits for its secret and blocks no backup, then runs as a Job of its own', async () => {
  const model = new OperatorModel()
  const operator = model.start({ planner })
  model.put('backup', 'orders', spec)
  await live(model, 2.2 * HOUR_MS)
  assert.deepEqual([drillsMade(model), mainsMade(model) >= 2], [0, true])
  const { drill, conditions = [] } = model.get('orders').status ?? {}
  assert.match(
    drill?.message ?? '',
    /^Missing secrets: drill \(spec\.drill\.signingKeySecret\)\. The drill starts when/,
  )
  const states = ['Drilled', 'Ready'].map(name => conditions.find(({ type }) => type === name)?.status)
  assert.deepEqual(states, ['False', 'True'])
  putSecret(model, 'drill')
  await model.time.pass(120_000)
  assert.equal(drillsMade(model), 1)
  const mains = mainsMade(model)
  await live(model, 2.2 * HOUR_MS)
  assert.equal(drillsMade(model), 1, 'one at a time')
  assert.ok(mainsMade(model) >= mains + 2, 'backups run next to it')
  await operator.stop()
})

test('a drill that the API server rejects blocks no backup, and is retried', async () => {
  const model = new OperatorModel()
  putSecret(model, 'drill')
  let isRefused = true
  const drills = new Set<string>()
  const noting: Planner = {
    ...planner,
    buildObjects: (controller, resource, start, pod) => {
      const objects = planner.buildObjects(controller, resource, start, pod)
      if (start.step.purpose === 'drill') drills.add(objects.job.metadata.name)
      return objects
    },
  }
  const operator = model.start({
    planner: noting,
    around: (verb, act, _, { kind, ref }) => {
      if (isRefused && verb === 'create' && kind === 'Job' && drills.has(ref.name)) {
        throw new KubeError('KUBE_DENIED', 'exceeded quota')
      }
      return act()
    },
  })
  model.put('backup', 'orders', spec)
  await live(model, 2.7 * HOUR_MS)
  const { drill, conditions = [] } = model.get('orders').status ?? {}
  assert.deepEqual([drillsMade(model), drill?.reason], [0, 'JobRefused'])
  assert.equal(conditions.find(({ type }) => type === 'Ready')?.status, 'True')
  assert.ok(mainsMade(model) >= 2)
  isRefused = false
  await model.time.pass(20 * 60_000)
  assert.equal(drillsMade(model), 1)
  await operator.stop()
})
