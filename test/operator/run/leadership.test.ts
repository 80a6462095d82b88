import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KubeError } from '../../../src/operator/kube/kube-error.ts'
import { isOfElection, isWrite, OperatorModel } from './operator-model.ts'

test('one of two replicas works, and the other takes over when it stops', async () => {
  const model = new OperatorModel()
  const first = model.start()
  await model.time.pass(100)
  const second = model.start()
  model.put('backup', 'orders')
  await model.time.pass(5000)
  assert.equal(model.jobsMade.length, 1)
  assert.deepEqual(
    [first.health.ready().body, second.health.ready().body],
    [
      { status: 'ok', leader: true },
      { status: 'ok', leader: false },
    ],
  )
  await first.stop()
  await model.time.pass(5000)
  model.endJob(model.jobs[0] as never)
  await model.time.pass(5000)
  assert.equal(model.get('orders').status?.phase, 'Completed')
  assert.equal(model.jobsMade.length, 1)
  await second.stop()
})

test('losing the lease stops all writes immediately, and the next leader continues', async () => {
  const model = new OperatorModel()
  let isCut = false
  const late: { call: string; ms: number }[] = []
  const first = model.start({
    around: async (verb, act, signal, call) => {
      if (isCut && isOfElection(call)) throw new KubeError('KUBE_UNREACHABLE', 'no route')
      if (isCut && isWrite(call)) late.push({ call: verb, ms: model.time.ms })
      // The first Job takes so long that the lease is lost meanwhile.
      if (verb === 'create' && call.kind === 'ConfigMap') {
        isCut = true
        await model.time.clock().sleep(30_000, signal)
      }
      return act()
    },
  })
  await model.time.pass(1000)
  model.put('backup', 'orders')
  await model.time.pass(1000)
  const second = model.start()
  const over = new AbortController()
  const world = model.runJobs(over.signal)
  await model.time.pass(60_000)
  assert.deepEqual(late, [])
  assert.equal(model.jobsMade.length, 1)
  assert.equal(model.get('orders').status?.phase, 'Completed')
  assert.deepEqual([first.health.isLeader, second.health.isLeader], [false, true])
  over.abort()
  isCut = false
  await Promise.all([first.stop(), second.stop(), world])
})

test('a replica that no longer leads reports no resources, and the next leader all of them', async () => {
  const model = new OperatorModel()
  model.put('backup', 'orders')
  const first = model.start()
  await model.time.pass(1000)
  assert.deepEqual(model.told.filter(line => /seen|gone|leads/.test(line)).slice(0, 3), [
    'leads false',
    'leads true',
    'seen backup orders',
  ])
  await first.stop()
  assert.deepEqual(model.told.slice(-2), ['gone backup orders', 'leads false'])
})

test('works immediately without an election, and writes no lease', async () => {
  const model = new OperatorModel()
  const operator = model.start({ lease: undefined })
  model.put('restore', 'orders')
  await model.time.pass(100)
  assert.equal(model.jobs.length, 1)
  assert.ok(!model.calls.some(isOfElection))
  await operator.stop()
})

test('writes nothing, not even the lease, before all watches are in sync', async () => {
  const model = new OperatorModel()
  let isDown = true
  const operator = model.start({
    around: async (verb, act, _, { kind }) => {
      if (isDown && verb === 'list' && kind === 'Pod') throw new KubeError('KUBE_UNREACHABLE', 'no route')
      return act()
    },
  })
  model.put('backup', 'orders')
  await model.time.pass(60_000)
  assert.deepEqual(model.calls.filter(isWrite), [])
  isDown = false
  await model.time.pass(60_000)
  assert.equal(model.jobs.length, 1)
  await operator.stop()
})

test('reports missing CRDs once, and waits for them', async () => {
  const model = new OperatorModel()
  let isMissing = true
  const operator = model.start({
    around: async (verb, act, _, { kind }) => {
      if (isMissing && verb === 'list' && kind === 'KafkaBackup') {
        throw new KubeError('KUBE_NOT_FOUND', 'cannot list: 404 page not found', { status: 404 })
      }
      return act()
    },
  })
  await model.time.pass(10 * 60_000)
  const warnings = model.log.filter(({ level }) => level === 'warn')
  assert.deepEqual(
    warnings.map(({ message }) => message),
    [
      'the API server does not know kafkabackups.kafka-backup.dev: install the CustomResourceDefinitions, as with `kafka-backup crds --api-group kafka-backup.dev | kubectl apply --server-side -f -`',
    ],
  )
  const ready = operator.health.ready()
  assert.equal(ready.isOk, false)
  assert.match(JSON.stringify(ready.body), /kafkabackups\.kafka-backup\.dev/)
  assert.equal(operator.health.live().isOk, true)
  isMissing = false
  await model.time.pass(60_000)
  assert.equal(operator.health.ready().isOk, true)
  await operator.stop()
})

test('a watch that keeps failing makes the operator not ready until it recovers', async () => {
  const model = new OperatorModel()
  let isDenied = false
  const operator = model.start({
    watchFault: kind => (isDenied && kind.kind === 'Job' ? 'error' : undefined),
    around: async (verb, act, _, { kind }) => {
      if (isDenied && verb === 'list' && kind === 'Job') throw new KubeError('KUBE_DENIED', 'jobs is forbidden')
      return act()
    },
  })
  await model.time.pass(1000)
  isDenied = true
  model.kube.nudge()
  await model.time.pass(30_000)
  assert.equal(operator.health.ready().isOk, true)
  await model.time.pass(60_000)
  assert.deepEqual(operator.health.ready().body, {
    status: 'waiting',
    waiting: [{ watch: 'jobs.batch in namespace "shop"', reason: 'jobs is forbidden' }],
  })
  isDenied = false
  await model.time.pass(60_000)
  assert.equal(operator.health.ready().isOk, true)
  await operator.stop()
})

test('a denied watch makes the operator not ready, also if the list is allowed', async () => {
  const model = new OperatorModel()
  let isDenied = true
  const operator = model.start({ watchFault: kind => (isDenied && kind.kind === 'Pod' ? 'error' : undefined) })
  await model.time.pass(90_000)
  assert.deepEqual(operator.health.ready().body, {
    status: 'waiting',
    waiting: [{ watch: 'pods in namespace "shop"', reason: 'the server broke down' }],
  })
  isDenied = false
  await model.time.pass(60_000)
  assert.equal(operator.health.ready().isOk, true)
  await model.time.pass(60_000)
  isDenied = true
  model.kube.nudge()
  await model.time.pass(30_000)
  assert.equal(operator.health.ready().isOk, true, 'a new trouble counts from its own beginning')
  await operator.stop()
})

test('reports a watch problem again if it returns', async () => {
  const model = new OperatorModel()
  let isDenied = false
  const operator = model.start({ watchFault: kind => (isDenied && kind.kind === 'Pod' ? 'error' : undefined) })
  const fail = async () => {
    isDenied = true
    model.kube.nudge()
    await model.time.pass(5 * 60_000)
    isDenied = false
    await model.time.pass(30 * 60_000)
  }
  await model.time.pass(1000)
  await fail()
  const warnings = () => model.log.filter(({ level }) => level === 'warn').length
  assert.equal(warnings(), 1)
  await fail()
  assert.equal(warnings(), 2)
  await operator.stop()
})

test('a denied election makes the operator not ready, and is reported once', async () => {
  const model = new OperatorModel()
  let isDenied = true
  const operator = model.start({
    around: async (_, act, __, call) => {
      if (isDenied && isOfElection(call) && call.verb === 'create') {
        throw new KubeError('KUBE_DENIED', 'leases is forbidden')
      }
      return act()
    },
  })
  await model.time.pass(30_000)
  assert.equal(operator.health.ready().isOk, true)
  await model.time.pass(60_000)
  assert.deepEqual(operator.health.ready().body, {
    status: 'waiting',
    waiting: [{ watch: 'the lease', reason: 'leases is forbidden' }],
  })
  assert.equal(operator.health.live().isOk, true)
  assert.deepEqual(
    model.log.filter(({ level }) => level === 'warn').map(({ message }) => message),
    ['the lease: leases is forbidden'],
  )
  isDenied = false
  await model.time.pass(30_000)
  assert.deepEqual(operator.health.ready().body, { status: 'ok', leader: true })
  await operator.stop()
})

test('the liveness probe names hanging work', async () => {
  const model = new OperatorModel()
  const operator = model.start({
    around: async (verb, act, signal, { kind }) => {
      if (verb === 'create' && kind === 'Job')
        await new Promise((_, reject) => signal.addEventListener('abort', reject))
      return act()
    },
  })
  model.put('backup', 'orders')
  await model.time.pass(9 * 60_000)
  assert.equal(operator.health.live().isOk, true)
  await model.time.pass(2 * 60_000)
  const { isOk, body } = operator.health.live()
  assert.equal(isOk, false)
  assert.deepEqual(body, { status: 'stuck', stuck: ['the work on KafkaBackup shop/orders has not ended for 660 s'] })
  await operator.stop()
})

test('the liveness probe names a hanging election', async () => {
  const model = new OperatorModel()
  const operator = model.start({
    around: (_, act, __, call) => (isOfElection(call) ? new Promise(() => undefined) : act()),
  })
  await model.time.pass(2 * 60_000)
  assert.deepEqual(operator.health.live().body, {
    status: 'stuck',
    stuck: ['the leader election has made no progress for 120 s'],
  })
  operator.controller.abort()
})
