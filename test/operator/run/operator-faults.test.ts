import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Resource } from '../../../src/operator/crd/resource.ts'
import { KubeError } from '../../../src/operator/kube/kube-error.ts'
import type { Planner } from '../../../src/operator/run/planner.ts'
import { createPlanner } from '../../../src/operator/run/planner.ts'
import type { FakeCall } from '../../fakes/fake-kube.ts'
import { numbersToTry } from '../../full.ts'
import {
  isOfElection,
  kinds,
  namespace,
  OperatorModel,
  type RunningOperator,
  type StartOptions,
} from './operator-model.ts'
import { plainPlanner } from './plain-planner.ts'

interface Case {
  name: string
  planner: Planner
  spec: Resource['spec']
  /** Whether Jobs that ended are kept for their logs. */
  isKept: boolean
}

const backupSpec: Resource['spec'] = {
  kafkaCluster: { bootstrapServers: ['kafka:9092'] },
  topics: { include: ['*'] },
  storage: { backend: 'pvc', pvc: { claimName: 'store' } },
}
const settings = { image: 'kafka-backup:1', serviceAccountName: 'default' }
const cases: Case[] = [
  { name: 'with the plainest of plans', planner: plainPlanner, spec: {}, isKept: false },
  { name: 'with real plans', planner: createPlanner('kafka-backup.dev', settings), spec: backupSpec, isKept: true },
]

/** How many calls a resource takes from its making to its end, those of the election aside. */
async function countCalls(of: Case): Promise<number> {
  const model = new OperatorModel()
  const calls: FakeCall[] = []
  await runThrough(model, of, {
    around: (_, act, __, call) => {
      if (isOfWork(call)) calls.push(call)
      return act()
    },
  })
  return calls.length
}

function isOfWork(call: FakeCall): boolean {
  return !isOfElection(call) && call.verb !== 'list'
}

/** One backup from its making to its end, with pods that run by themselves. */
async function runThrough(
  model: OperatorModel,
  of: Case,
  options: StartOptions,
  forMs = 30_000,
): Promise<RunningOperator> {
  const over = new AbortController()
  const world = model.runJobs(over.signal)
  const operator = model.start({ planner: of.planner, ...options })
  model.put('backup', 'orders', of.spec)
  await model.time.pass(forMs)
  over.abort()
  await model.time.pass(0)
  await world
  return operator
}

function assertRanOnce(model: OperatorModel, { isKept }: { isKept: boolean }): void {
  const { phase, history } = model.get('orders').status ?? {}
  assert.deepEqual([phase, history?.map(({ run }) => run)], ['Completed', ['once']])
  assert.equal(model.jobsMade.length, 1)
  const kept = isKept ? 1 : 0
  assert.deepEqual([model.jobs.length, model.configMaps.length], [kept, kept])
}

for (const of of cases) {
  test(`creates one Job and ends correctly whichever call fails, ${of.name}`, async () => {
    const total = await countCalls(of)
    assert.ok(total >= 8, `${total} calls`)
    const faults: [string, () => KubeError, 'before' | 'after'][] = [
      ['409', () => new KubeError('KUBE_CONFLICT', 'conflict', { status: 409 }), 'before'],
      ['429', () => new KubeError('KUBE_UNREACHABLE', 'too many requests', { status: 429 }), 'before'],
      ['500', () => new KubeError('KUBE_UNREACHABLE', 'internal error', { status: 500 }), 'before'],
      ['500 after it was done', () => new KubeError('KUBE_UNREACHABLE', 'internal error', { status: 500 }), 'after'],
      ['no answer, though it was done', () => new KubeError('KUBE_UNREACHABLE', 'no answer within 30000 ms'), 'after'],
    ]
    for (const [turn, [what, make, when]] of faults.entries()) {
      for (const at of numbersToTry(total, turn)) {
        const model = new OperatorModel()
        let count = 0
        const operator = await runThrough(model, of, {
          around: async (_, act, __, call) => {
            if (!isOfWork(call) || ++count !== at) return act()
            if (when === 'after') await act()
            throw make()
          },
        })
        assert.ok(count >= at)
        assertRanOnce(model, of)
        const ends = model.told.filter(line => line.startsWith('ended'))
        assert.equal(ends.length, 1, `told at call ${at}, ${what}: ${ends}`)
        await operator.stop()
      }
    }
  })

  test(`survives an API server that fails two of three calls for a while, ${of.name}`, async () => {
    const model = new OperatorModel()
    let count = 0
    const around: StartOptions['around'] = async (_, act, __, call) => {
      if (!isOfWork(call) || ++count > 20 || count % 3 === 0) return act()
      if (count % 3 === 1) await act()
      throw new KubeError('KUBE_UNREACHABLE', 'overloaded')
    }
    const operator = await runThrough(model, of, { around }, 3_600_000)
    assertRanOnce(model, of)
    await operator.stop()
  })

  for (const when of ['before', 'after'] as const) {
    test(`another operator finishes the work of one that is killed ${when} any of its calls, ${of.name}`, async () => {
      const total = await countCalls(of)
      for (let at = 1; at <= total; at++) {
        const model = new OperatorModel()
        let count = 0
        const killed = Promise.withResolvers<never>()
        killed.promise.catch(() => undefined)
        const first = model.start({
          planner: of.planner,
          lease: undefined,
          around: async (_, act, __, call) => {
            if (isOfWork(call)) count++
            // A killed process sees no answer and makes no call any more.
            if (count > at || (count === at && when === 'before')) return killed.promise
            const result = await act()
            return count === at ? killed.promise : result
          },
        })
        const over = new AbortController()
        const world = model.runJobs(over.signal)
        model.put('backup', 'orders', of.spec)
        await model.time.pass(60_000)
        assert.equal(count >= at, true)
        const second = model.start({ planner: of.planner, lease: undefined })
        await model.time.pass(60_000)
        assertRanOnce(model, of)
        over.abort()
        first.controller.abort()
        killed.reject(new Error('killed'))
        await second.stop()
        await Promise.all([world, first.ended])
      }
    })
  }

  test(`a resource that is deleted during its work is not a failure, ${of.name}`, async () => {
    const total = await countCalls(of)
    for (let at = 1; at <= total; at++) {
      const model = new OperatorModel()
      let count = 0
      const operator = model.start({
        planner: of.planner,
        around: async (_, act, __, call) => {
          if (isOfWork(call) && ++count === at && model.kube.all(kinds.backup).length > 0) {
            model.kube.remove(kinds.backup, { namespace, name: 'orders' })
          }
          return act()
        },
      })
      const over = new AbortController()
      const world = model.runJobs(over.signal)
      model.put('backup', 'orders', of.spec)
      await model.time.pass(60_000)
      assert.ok(!model.told.includes('reconciled orders badly'), `call ${at}: ${JSON.stringify(model.log)}`)
      assert.ok(model.told.includes('gone backup orders'))
      over.abort()
      await operator.stop()
      await world
    }
  })
}

test('counts a Job that ended while no operator ran', async () => {
  const model = new OperatorModel()
  const first = model.start()
  model.put('backup', 'orders')
  await model.time.pass(1000)
  await first.stop()
  model.endJob(model.jobs[0] as never, false)
  model.told.length = 0
  await model.time.pass(3_600_000)
  const second = model.start()
  await model.time.pass(1000)
  assert.equal(model.get('orders').status?.phase, 'Failed')
  assert.deepEqual(
    model.told.filter(line => line.startsWith('ended')),
    ['ended orders once Failed'],
  )
  await second.stop()
})

test('counts and reports the end of a run whose status was written before the API server went away', async () => {
  const model = new OperatorModel()
  let isCut = false
  let isAway = false
  const down = () => new KubeError('KUBE_UNREACHABLE', 'connection refused')
  const operator = model.start({
    planner: createPlanner('kafka-backup.dev', settings),
    isHeld: ({ kind }) => isCut && kind === 'KafkaBackup',
    around: async (_, act, __, call) => {
      if (isOfElection(call)) return act()
      if (isAway) throw down()
      const result = await act()
      if (!isCut || call.verb !== 'applyStatus') return result
      isAway = true
      throw down()
    },
  })
  model.put('backup', 'orders', backupSpec)
  await model.time.pass(1000)
  isCut = true
  model.endJob(model.jobs[0] as never, false)
  // It tries several times meanwhile, later than the write that was accepted.
  await model.time.pass(40_000)
  assert.deepEqual([isAway, model.get('orders').status?.phase], [true, 'Failed'])
  isCut = false
  isAway = false
  model.kube.nudge()
  await model.time.pass(120_000)
  const reported = [
    ...model.told.filter(line => line.startsWith('ended')),
    ...model.log.flatMap(({ fields }) => (fields as { reason?: string }).reason ?? []),
  ]
  assert.deepEqual(
    reported.filter(one => one.includes('Failed')),
    ['ended orders once Failed', 'BackupFailed'],
  )
  await operator.stop()
})

test('a Job that the API server rejects leaves no ConfigMap behind', async () => {
  const model = new OperatorModel()
  let isFull = true
  const operator = model.start({
    planner: createPlanner('kafka-backup.dev', settings),
    around: async (_, act, __, { verb, kind }) => {
      if (!isFull || verb !== 'create' || kind !== 'Job') return act()
      throw new KubeError('KUBE_DENIED', 'exceeded quota', { status: 403 })
    },
  })
  model.put('backup', 'orders', { ...backupSpec, mode: 'full', schedule: '*/5 * * * *' })
  await model.time.pass(20 * 60_000)
  assert.deepEqual([model.jobs.length, model.configMaps.length], [0, 0])
  assert.equal(model.get('orders').status?.reason, 'JobRefused')
  isFull = false
  await model.time.pass(15 * 60_000)
  assert.deepEqual([model.jobs.length, model.configMaps.length], [1, 1])
  await operator.stop()
})

test('200 concurrent resources need a linear number of calls', async () => {
  const count = async (resources: number) => {
    const model = new OperatorModel()
    const over = new AbortController()
    const world = model.runJobs(over.signal)
    const operator = model.start()
    for (let at = 0; at < resources; at++) model.put('backup', `orders-${at}`)
    await model.time.pass(30_000)
    const phases = model.kube.all(kinds.backup).map(({ status }) => status?.phase)
    assert.deepEqual(new Set(phases), new Set(['Completed']))
    assert.equal(model.jobsMade.length, resources)
    over.abort()
    await operator.stop()
    await world
    return model.calls.filter(call => !isOfElection(call) && call.verb !== 'list').length
  }
  const [few, many] = [await count(20), await count(200)]
  assert.ok(many <= few * 10, `${few} calls for 20, ${many} for 200`)
  assert.ok(many <= 200 * 14, `${many} calls`)
})
