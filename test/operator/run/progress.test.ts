import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { test } from 'node:test'
import { systemClock } from '../../../src/lib/clock.ts'
import { OperatorMetrics } from '../../../src/operator/metrics/operator-metrics.ts'
import { openFetchProgress } from '../../../src/operator/run/progress-poller.ts'
import { parseProgress, RunMeter } from '../../../src/operator/run/run-meter.ts'
import { SimulatedTime } from '../../fakes/simulated-time.ts'
import { sampleResource } from '../metrics/sample-resources.ts'
import { isWrite, OperatorModel } from './operator-model.ts'

const open = new AbortController().signal
const page = (fields: object) => JSON.stringify({ phase: 'copying', fraction: 0.5, records: 0, bytes: 0, ...fields })
const podOf = (fields: object) => {
  const progress = parseProgress(page(fields))
  assert.ok(progress)
  return progress
}

test('rejects an invalid progress page', () => {
  for (const text of ['', 'ok', '[]', 'null', '{}', page({ records: -1 }), page({ bytes: '7' }), page({ phase: 3 })]) {
    assert.equal(parseProgress(text), undefined, text)
  }
  assert.deepEqual(parseProgress(page({ fraction: null, remaining_seconds: 12.2 })), {
    phase: 'copying',
    fraction: undefined,
    records: 0,
    bytes: 0,
    remainingSeconds: 13,
  })
})

test('the phase of a page is one short line without control characters', () => {
  assert.equal(podOf({ phase: 'copying\u001b[2J\n\u202eall' }).phase, 'copying [2J all')
  assert.ok(podOf({ phase: '😀'.repeat(100) }).phase.isWellFormed())
})

test('sums the progress of all pods, and never decreases', () => {
  const meter = new RunMeter()
  const shards = new Map([
    ['a', podOf({ records: 10, bytes: 100, fraction: 0.4, remaining_seconds: 5 })],
    ['b', podOf({ records: 20, bytes: 200, fraction: 0.8, remaining_seconds: 9 })],
  ])
  assert.deepEqual(meter.add(shards), { phase: 'copying', percent: 60, records: 30, bytes: 300, remainingSeconds: 9 })
  assert.equal(meter.add(new Map([['a', podOf({ records: 15, bytes: 150 })]])).records, 35)
  assert.equal(meter.add(new Map([['a', podOf({ records: 2, bytes: 20 })]])).records, 35)
  // A pod that tries again is another pod.
  assert.deepEqual(meter.add(new Map([['c', podOf({ records: 1, bytes: 1, fraction: null })]])), {
    phase: 'copying',
    records: 36,
    bytes: 351,
  })
})

test('shows the topics of a restore, also those that several pods fill', () => {
  const topic = (records: number, seconds: number | null, name = 'orders') => ({
    ...{ topic: name, records, planned_records: 100, fraction: 0, remaining_seconds: seconds },
  })
  const one = new RunMeter().add(
    new Map([['a', podOf({ topics_done: 2, active_topics: [topic(30, 7), topic(0, null, 'b')] })]]),
  )
  assert.deepEqual(one.activeTopics, [
    { topic: 'orders', percent: 30, remainingSeconds: 7 },
    { topic: 'b', percent: 0 },
  ])
  assert.equal(one.topicsDone, 2)
  const pods = [
    ['a', podOf({ topics_done: 1, active_topics: [topic(30, 7)] })],
    ['b', podOf({ topics_done: 1, active_topics: [topic(50, 9)] })],
  ] as const
  const both = new RunMeter().add(new Map(pods))
  assert.deepEqual(both.activeTopics, [{ topic: 'orders', percent: 40, remainingSeconds: 9 }])
  assert.equal('topicsDone' in both, false, 'a topic may be done in one pod only')
})

test('ignores topics of a page that cannot be, and more than a status takes', () => {
  for (const wrong of [7, 'x', {}, [null, 3, {}, { topic: 1 }, { topic: 't', records: -1, planned_records: 1 }]]) {
    assert.equal('activeTopics' in new RunMeter().add(new Map([['a', podOf({ active_topics: wrong })]])), false)
  }
  const many = Array.from({ length: 500 }, (_, i) => ({ topic: `t${i}\n`, records: 1, planned_records: 0 }))
  const { activeTopics = [] } = new RunMeter().add(new Map([['a', podOf({ active_topics: many })]]))
  assert.deepEqual([activeTopics.length, activeTopics[0]], [20, { topic: 't0', percent: 100 }])
})

test('sums the gaps of all pods, and omits them without any', () => {
  const meter = new RunMeter()
  assert.equal('gaps' in meter.add(new Map([['a', podOf({ records: 1, bytes: 1 })]])), false)
  assert.equal(meter.add(new Map([['a', podOf({ records: 1, bytes: 1, gaps: 2 })]])).gaps, 2)
  assert.equal(meter.add(new Map([['b', podOf({ records: 1, bytes: 1, gaps: 1 })]])).gaps, 3)
})

test('the comparison of a restore does not count as restored records', () => {
  const meter = new RunMeter()
  const told = (fields: object) => meter.add(new Map([['a', podOf(fields)]]))
  told({ phase: 'copying', records: 1000, bytes: 5000 })
  assert.equal(told({ phase: 'groups', records: 1000, bytes: 5000 }).records, 1000)
  const { phase, percent, records, bytes } = told({ phase: 'comparing', fraction: 0.3, records: 300, bytes: 9000 })
  assert.deepEqual({ phase, percent, records, bytes }, { phase: 'comparing', percent: 30, records: 1000, bytes: 5000 })
  assert.equal(told({ phase: 'groups', records: 900, bytes: 4000 }).records, 1000)
})

test('the comparison of a restore does not count as restored records when its groups follow', () => {
  const meter = new RunMeter()
  const told = (pod: string, fields: object) => meter.add(new Map([[pod, podOf(fields)]])).records
  told('shard', { phase: 'copying', records: 1000, bytes: 5000, planned_records: 1000, planned_offsets: null })
  const compared = { phase: 'groups', records: 1000, bytes: 5000, planned_records: null, planned_offsets: 1200 }
  assert.equal(told('finish', compared), 1000, 'of a pod that completes the restore')
  const written = { phase: 'groups', records: 7, bytes: 70, planned_records: 7, planned_offsets: null }
  assert.equal(told('resumed', written), 1007, 'of a restore that compares nothing')
})

test('a pod with nonsense numbers cannot break the counters or the status', async () => {
  for (const fields of [{ records: 1e308 }, { bytes: 1e300 }, { records: 2 ** 53 }]) {
    assert.equal(parseProgress(page(fields)), undefined, JSON.stringify(fields))
  }
  assert.equal(parseProgress(page({ remaining_seconds: 1e300 }))?.remainingSeconds, undefined)
  const meter = new RunMeter()
  const clock = new SimulatedTime().clock()
  const metrics = new OperatorMetrics({ version: '1', clock, holdMs: 0 })
  const resource = sampleResource()
  metrics.seen('backup', resource)
  for (const records of [9e15, 0, 9e15, 1, 9e15]) {
    const told = meter.add(new Map([['a', podOf({ records, bytes: records })]]))
    assert.ok(Number.isSafeInteger(told.records) && Number.isSafeInteger(told.bytes), JSON.stringify(told))
    metrics.progressed('backup', resource, 'once', told)
  }
  await metrics.format()
})

test('polls running pods, and updates the status at most every 15 seconds', async () => {
  const model = new OperatorModel()
  let records = 0
  const asked: string[] = []
  const operator = model.start({
    fetchProgress: async ip => {
      asked.push(ip)
      records += 100
      return page({ records })
    },
  })
  model.put('backup', 'orders')
  await model.time.pass(1000)
  assert.deepEqual(asked, [])
  const [job] = model.jobs
  assert.ok(job)
  model.startPod(job, '10.1.2.3')
  await model.time.pass(100)
  const before = model.calls.length
  await model.time.pass(60_000)
  assert.equal(asked.length, 12)
  assert.ok(asked.every(ip => ip === '10.1.2.3'))
  const told = model.told.filter(line => line.startsWith('progressed'))
  assert.deepEqual(
    [told.length, told[0], told.at(-1)],
    [12, 'progressed orders once 100', 'progressed orders once 1200'],
  )
  const writes = model.calls.slice(before).filter(call => isWrite(call) && call.kind === 'KafkaBackup')
  assert.ok(writes.length >= 4 && writes.length <= 5, `${writes.length} writes in a minute`)
  assert.ok((model.get('orders').status?.progress?.records ?? 0) >= 1000)
  model.endJob(job)
  await model.time.pass(10_000)
  assert.equal(model.get('orders').status?.progress, undefined)
  assert.equal(model.told.filter(line => line.startsWith('progressed')).length, 12)
  await operator.stop()
})

test('passes the last successful round of a pod to the plan', async () => {
  const model = new OperatorModel()
  const seen: (number | undefined)[] = []
  const { plainPlanner } = await import('./plain-planner.ts')
  const operator = model.start({
    fetchProgress: async () => page({ phase: 'waiting', last_round_at: '2025-11-16T02:00:00.000Z' }),
    planner: {
      ...plainPlanner,
      planResource: situation => {
        seen.push(situation.lastRoundMs)
        return plainPlanner.planResource(situation)
      },
    },
  })
  model.put('backup', 'orders')
  await model.time.pass(1000)
  model.startPod(model.jobs[0] as never)
  await model.time.pass(20_000)
  assert.deepEqual([seen[0], seen.at(-1)], [undefined, Date.parse('2025-11-16T02:00:00Z')])
  assert.equal(parseProgress(page({ last_round_at: 'soon' }))?.lastRoundMs, undefined)
  await operator.stop()
})

test('counts a round of a pod with a fast clock when it is first reported, and only once', async () => {
  const model = new OperatorModel()
  const seen: (number | undefined)[] = []
  const { plainPlanner } = await import('./plain-planner.ts')
  const operator = model.start({
    fetchProgress: async () => page({ phase: 'waiting', last_round_at: '2099-01-01T00:00:00.000Z' }),
    planner: {
      ...plainPlanner,
      planResource: situation => {
        seen.push(situation.lastRoundMs)
        return plainPlanner.planResource(situation)
      },
    },
  })
  model.put('backup', 'orders')
  await model.time.pass(1000)
  model.startPod(model.jobs[0] as never)
  await model.time.pass(20_000)
  const toldMs = seen.at(-1) ?? assert.fail('no round was told of')
  assert.ok(toldMs <= model.time.clock().now())
  await model.time.pass(600_000)
  assert.equal(seen.at(-1), toldMs)
  await operator.stop()
})

test('shows the progress of the newer of two concurrent runs', async () => {
  const model = new OperatorModel()
  const { plainPlanner } = await import('./plain-planner.ts')
  const operator = model.start({
    fetchProgress: async ip => page({ records: ip === '10.0.0.1' ? 1000 : 5 }),
    planner: {
      ...plainPlanner,
      readJobState: (...args) => {
        const state = plainPlanner.readJobState(...args)
        return { ...state, createdMs: state.run === 'once' ? 1000 : 2000 }
      },
    },
  })
  model.put('backup', 'orders')
  await model.time.pass(1000)
  model.startPod(model.jobs[0] as never, '10.0.0.1')
  await model.time.pass(20_000)
  assert.equal(model.get('orders').status?.progress?.records, 1000)
  model.put('backup', 'orders', {}, { annotations: { trigger: 'now' } })
  await model.time.pass(1000)
  assert.equal(model.get('orders').status?.progress, undefined)
  model.startPod(model.jobs[1] as never, '10.0.0.2')
  for (let seconds = 0; seconds < 60; seconds += 10) {
    await model.time.pass(10_000)
    assert.equal(model.get('orders').status?.progress?.records, 5)
  }
  await operator.stop()
})

test('tolerates a pod that does not respond or responds with nonsense', async () => {
  const model = new OperatorModel()
  const operator = model.start({ fetchProgress: async () => 'nonsense' })
  const deaf = model.start({ fetchProgress: () => Promise.reject(new Error('ECONNREFUSED')), lease: undefined })
  model.put('backup', 'orders')
  await model.time.pass(1000)
  model.startPod(model.jobs[0] as never)
  await model.time.pass(60_000)
  assert.equal(model.get('orders').status?.phase, 'Running')
  assert.ok(!model.told.some(line => /progressed|badly/.test(line)))
  await Promise.all([operator.stop(), deaf.stop()])
})

test('polls a pod over HTTP, with limits for time and response size', async () => {
  let answer: (text: string) => string = text => text
  const server = createServer((request, response) => {
    const body = answer(request.url ?? '')
    if (body === 'hang') return
    response.writeHead(body === 'busy' ? 503 : 200).end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const fetchProgress = openFetchProgress(systemClock, (server.address() as AddressInfo).port)
  try {
    assert.equal(await fetchProgress('127.0.0.1', open), '/progress')
    answer = () => 'busy'
    await assert.rejects(fetchProgress('127.0.0.1', open), /answered 503/)
    answer = () => 'x'.repeat(65 * 1024)
    await assert.rejects(fetchProgress('127.0.0.1', open), /more than 65536 bytes/)
    answer = () => 'hang'
    await assert.rejects(fetchProgress('127.0.0.1', open), /no answer within 2000 ms/)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

test('passes on the size that a continuous run measured', () => {
  const meter = new RunMeter()
  const answer = parseProgress(page({ stored_bytes: 77 })) ?? assert.fail()
  assert.equal(meter.add(new Map([['p', answer]])).storedBytes, 77)
  assert.equal(parseProgress(page({ stored_bytes: null }))?.storedBytes, undefined)
  assert.equal(parseProgress(page({ stored_bytes: -1 }))?.storedBytes, undefined)
})

test('a pod that switches the protocol does not delay the others', async () => {
  const server = createSocketServer(socket => {
    socket.once('data', () => socket.write('HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'))
    socket.on('error', () => undefined)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const late = new Promise(resolve => setTimeout(resolve, 5000, 'still waiting').unref())
  try {
    const asked = openFetchProgress(systemClock, port)('127.0.0.1', open).catch(({ code }) => code)
    assert.equal(await Promise.race([asked, late]), 'ECONNRESET')
  } finally {
    server.close()
  }
})
