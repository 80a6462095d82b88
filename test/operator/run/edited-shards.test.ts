import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnyController, ResourceSpec } from '../../../src/operator/crd/resource.ts'
import { configMapOf } from '../../../src/operator/job/build-pod.ts'
import type { Job } from '../../../src/operator/job/kube-job.ts'
import { KubeError } from '../../../src/operator/kube/kube-error.ts'
import { createPlanner } from '../../../src/operator/run/planner.ts'
import { kinds, OperatorModel } from './operator-model.ts'

const source = { kafkaCluster: { bootstrapServers: ['kafka:9092'] }, parallelism: 2 }
const storage = { backend: 'pvc', pvc: { claimName: 'store' } }
const planner = createPlanner('kafka-backup.dev', { image: 'kafka-backup:1', serviceAccountName: 'default' })

/** The Jobs of shards and commit, where the spec is edited before the shards end. */
async function runEdited(controller: AnyController, spec: ResourceSpec, edited: ResourceSpec, startMs = 1000) {
  const model = new OperatorModel()
  const operator = model.start({ planner })
  model.put(controller, 'orders', spec)
  await model.time.pass(startMs)
  const [shards] = model.jobs
  assert.ok(shards)
  model.kube.put(kinds[controller], { ...model.get('orders', controller), spec: edited } as never)
  await model.time.pass(1000)
  model.endJob(shards)
  await model.time.pass(1000)
  const commit = model.jobs.find(({ metadata }) => metadata.uid !== shards.metadata.uid)
  assert.ok(commit, 'the shards are committed')
  model.endJob(commit)
  await model.time.pass(1000)
  const { status } = model.get('orders', controller)
  await operator.stop()
  return { model, shards, commit, status }
}

function podOf({ spec }: Job) {
  const { template } = spec as { template: { spec: { containers: { args: string[] }[]; volumes: unknown[] } } }
  return template.spec
}

test('a backup in shards is committed with the spec of its shards, though the spec was edited meanwhile', async () => {
  const spec = { ...source, storage, topics: { include: ['orders'] } }
  const edited = { ...source, storage: { ...storage, pvc: { claimName: 'other' } }, topics: { include: ['payments'] } }
  const { shards, commit, status } = await runEdited('backup', spec, edited)
  assert.equal(configMapOf(commit), configMapOf(shards))
  assert.deepEqual(podOf(commit).volumes, podOf(shards).volumes)
  const [shardArgs, args] = [podOf(shards).containers[0]?.args, podOf(commit).containers[0]?.args]
  assert.deepEqual(args?.slice(-2), ['--commit', '--report'])
  assert.ok(shardArgs?.includes('--shard') && !args?.includes('--shard'))
  const ofSpec = ({ metadata }: Job) => metadata.annotations?.['kafka-backup.dev/spec-hash']
  assert.deepEqual([ofSpec(commit), commit.spec.completions], [ofSpec(shards), undefined])
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  assert.deepEqual([status?.phase, status?.history?.[0]?.generation, ready?.reason], ['Completed', 1, 'SpecChanged'])
})

test('a restore in shards is finished with the spec of its shards, though the spec was edited meanwhile', async () => {
  const spec = { ...source, storage, backupId: 'orders' }
  const edited = { ...spec, restore: { topics: { include: ['payments'] } } }
  const { shards, commit } = await runEdited('restore', spec, edited)
  assert.equal(configMapOf(commit), configMapOf(shards))
  const args = podOf(commit).containers[0]?.args ?? []
  assert.deepEqual([args[0], ...args.slice(-2)], ['restore', '--finish', '--report'])
  assert.ok(!args.includes('--prepare'))
})

test('fields that do not decide what a run does apply to the commit of shards', async () => {
  const spec = { ...source, storage, topics: { include: ['orders'] } }
  const { shards, commit } = await runEdited('backup', spec, { ...spec, job: { activeDeadlineSeconds: 600 } })
  assert.equal(configMapOf(commit), configMapOf(shards))
  assert.equal(commit.spec.activeDeadlineSeconds, 600)
})

const scheduled = { ...source, storage, topics: { include: ['orders'] }, schedule: '0 * * * *' }

for (const [what, edited] of [
  ['what it does', { ...scheduled, storage: { backend: 'nfs' } }],
  ['its schedule', { ...scheduled, schedule: 'daily' }],
  ['its pod', { ...scheduled, podTemplate: { spec: { volumes: [{ name: 'x', hostPath: { path: '/' } }] } } }],
] as const) {
  test(`shards are committed although the spec was edited to an invalid one: ${what}`, async () => {
    const { shards, commit, status } = await runEdited('backup', scheduled, edited as ResourceSpec, 3_600_000)
    assert.equal(configMapOf(commit), configMapOf(shards))
    const ready = status?.conditions?.find(({ type }) => type === 'Ready')
    assert.deepEqual([status?.history?.[0]?.phase, ready?.reason], ['Completed', 'InvalidSpec'])
  })
}

test('a commit of shards that the API server rejects is reported, although the spec is invalid too', async () => {
  const model = new OperatorModel()
  let isRejected = false
  const operator = model.start({
    planner,
    around: async (verb, act, _, { kind }) => {
      if (isRejected && verb === 'create' && kind === 'Job') throw new KubeError('KUBE_DENIED', 'exceeded quota')
      return act()
    },
  })
  model.put('backup', 'orders', scheduled)
  await model.time.pass(3_600_000)
  const [shards] = model.jobs
  assert.ok(shards)
  isRejected = true
  model.kube.put(kinds.backup, { ...model.get('orders'), spec: { ...scheduled, storage: { backend: 'nfs' } } } as never)
  model.endJob(shards)
  await model.time.pass(60_000)
  const { status } = model.get('orders')
  assert.deepEqual([status?.active?.length, status?.reason], [1, 'JobRefused'])
  const tries = model.calls.filter(({ verb, kind }) => verb === 'create' && kind === 'Job').length - 1
  assert.ok(tries > 0 && tries < 6, `${tries} tries in a minute`)
  isRejected = false
  await model.time.pass(600_000)
  assert.equal(model.jobs.length, 2)
  await operator.stop()
})
