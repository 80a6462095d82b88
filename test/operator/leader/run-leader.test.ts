import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KubeError } from '../../../src/operator/kube/kube-error.ts'
import { type Lease, leaseKind } from '../../../src/operator/leader/lease-claim.ts'
import {
  formatIdentity,
  type LeaderOptions,
  LeadershipLost,
  runLeader,
} from '../../../src/operator/leader/run-leader.ts'
import { FakeKube } from '../../fakes/fake-kube.ts'
import { createRandom } from '../../fakes/faulty-storage.ts'
import { SimulatedTime } from '../../fakes/simulated-time.ts'

const ref = { namespace: 'one', name: 'operator' }
const down = () => Promise.reject(new KubeError('KUBE_UNREACHABLE', 'down'))

test('the first candidate leads and keeps the lease, the second waits', async () => {
  const { kube, time, start } = openModel()
  const first = start('first')
  await time.pass(0)
  const second = start('second')
  await time.pass(10 * 60_000)
  assert.deepEqual([first.isLeading, second.isLeading], [true, false])
  const { spec } = leaseOf(kube)
  assert.equal(spec?.holderIdentity, 'first')
  assert.equal(spec?.leaseDurationSeconds, 15)
  assert.equal(spec?.leaseTransitions, 0)
  assert.equal(spec?.acquireTime, '2026-01-02T03:04:05.000000Z')
  assert.equal(spec?.renewTime, '2026-01-02T03:14:05.000000Z')
  await stopAll(time, first, second)
  assert.equal(time.pending, 0)
})

test('a leader that stops hands over immediately', async () => {
  const { kube, time, start } = openModel()
  const first = start('first')
  await time.pass(0)
  const second = start('second')
  await time.pass(5000)
  await stopAll(time, first)
  assert.equal(leaseOf(kube).spec?.holderIdentity, '')
  await time.pass(2500)
  assert.equal(second.isLeading, true)
  assert.equal(leaseOf(kube).spec?.leaseTransitions, 1)
  await stopAll(time, second)
})

test('keeps the lease until the work of a stopped leader has ended, then releases it', async () => {
  const { kube, time, start } = openModel()
  const first = start('first', { endingMs: 60_000 })
  await time.pass(0)
  const second = start('second')
  const stopped = first.stop()
  await time.pass(59_000)
  assert.equal(second.isLeading, false)
  assert.equal(leaseOf(kube).spec?.holderIdentity, 'first')
  await time.pass(4000)
  await stopped
  assert.equal(second.isLeading, true)
  await stopAll(time, second)
})

test('replaces a killed leader when its lease has expired, and not before', async () => {
  const { time, start } = openModel()
  const first = start('first')
  await time.pass(3000)
  const second = start('second')
  await time.pass(1000)
  first.cutOff()
  await time.pass(13_000)
  assert.equal(second.isLeading, false)
  await time.pass(8000)
  assert.equal(second.isLeading, true)
  await stopAll(time, first, second)
})

test('a leader that loses the API server stops before another can lead', async () => {
  const { time, start } = openModel()
  const first = start('first')
  await time.pass(3000)
  const second = start('second')
  first.cutOff()
  await time.pass(9500)
  assert.deepEqual([first.isLeading, second.isLeading], [false, false])
  assert.ok(first.reason instanceof LeadershipLost)
  assert.match(first.reason.message, /could not be renewed for 10000 ms/)
  await time.pass(10_000)
  assert.deepEqual([first.isLeading, second.isLeading], [false, true])
  await stopAll(time, first, second)
})

test('a leader whose requests hang stops in time', async () => {
  const { time, start } = openModel()
  const first = start('first', {
    around: async (_, act, signal) => {
      if (time.ms > 1000) await time.clock().sleep(3600_000, signal)
      return act()
    },
  })
  await time.pass(9999)
  assert.equal(first.isLeading, true)
  await time.pass(1)
  assert.equal(first.isLeading, false)
  await stopAll(time, first)
})

test('a renewal counts from its request, not from its response', async () => {
  const { time, start } = openModel()
  const first = start('first', {
    around: async (_, act, signal) => {
      const acted = await act()
      if (time.ms >= 2000) await time.clock().sleep(4900, signal)
      return acted
    },
  })
  await time.pass(6950)
  first.cutOff()
  await time.pass(5000)
  assert.equal(first.isLeading, true)
  await time.pass(100)
  assert.equal(first.isLeading, false)
  await stopAll(time, first)
})

test('a leader that stops during a renewal releases the lease', async () => {
  const { kube, time, start } = openModel()
  const first = start('first', {
    around: async (verb, act, signal) => {
      const acted = await act()
      if (verb === 'replace' && time.ms === 2000) await time.clock().sleep(1000, signal)
      return acted
    },
  })
  await time.pass(2500)
  await stopAll(time, first)
  assert.equal(leaseOf(kube).spec?.holderIdentity, '')
})

test('a candidate that stops before it learns that it leads releases the lease', async () => {
  const { kube, time, start } = openModel()
  const first = start('first', {
    around: async (verb, act, signal) => {
      const acted = await act()
      if (verb === 'create') await time.clock().sleep(1000, signal)
      return acted
    },
  })
  await time.pass(500)
  assert.equal(leaseOf(kube).spec?.holderIdentity, 'first')
  await stopAll(time, first)
  assert.equal(first.terms, 0)
  assert.equal(leaseOf(kube).spec?.holderIdentity, '')
})

test('survives a short loss of the API server', async () => {
  const { time, start } = openModel()
  const first = start('first')
  await time.pass(3000)
  first.cutOff()
  await time.pass(6000)
  first.reconnect()
  await time.pass(60_000)
  assert.equal(first.terms, 1)
  assert.equal(first.isLeading, true)
  await stopAll(time, first)
})

test('a disconnected leader leads again later, after its work has ended', async () => {
  const { time, start } = openModel()
  const first = start('first', { endingMs: 30_000 })
  await time.pass(3000)
  first.cutOff()
  await time.pass(12_000)
  first.reconnect()
  await time.pass(20_000)
  assert.equal(first.terms, 1)
  await time.pass(20_000)
  assert.equal(first.terms, 2)
  await stopAll(time, first)
})

test('a leader whose lease was taken stops at its next renewal', async () => {
  const { kube, time, start } = openModel()
  const first = start('first')
  await time.pass(3000)
  const lease = leaseOf(kube)
  kube.put(leaseKind, { ...lease, spec: { ...lease.spec, holderIdentity: 'intruder' } } as Lease)
  await time.pass(2500)
  assert.equal(first.isLeading, false)
  assert.match((first.reason as Error).message, /intruder holds the lease/)
  await stopAll(time, first)
})

test('tolerates an edited or deleted lease', async () => {
  const { kube, time, start } = openModel()
  const first = start('first')
  await time.pass(3000)
  const lease = leaseOf(kube)
  kube.put(leaseKind, { ...lease, metadata: { ...lease.metadata, labels: { by: 'somebody' } } })
  await time.pass(10_000)
  assert.deepEqual(leaseOf(kube).metadata.labels, { by: 'somebody' })
  kube.remove(leaseKind, ref)
  await time.pass(10_000)
  assert.equal(first.terms, 1)
  assert.equal(leaseOf(kube).spec?.holderIdentity, 'first')
  await stopAll(time, first)
})

test('failing work ends the leader with its error and releases the lease', async () => {
  const { kube, time } = openModel()
  const failed = runLeader(
    { api: kube.api(), clock: time.clock(), random: () => 0.5, lease: ref, identity: 'first' },
    () => Promise.reject(new Error('broken')),
    new AbortController().signal,
  )
  await assert.rejects(failed, /broken/)
  assert.equal(leaseOf(kube).spec?.holderIdentity, '')
})

test('each process of a pod has a different identity', () => {
  assert.notEqual(formatIdentity('pod', 'a'), formatIdentity('pod', 'b'))
})

test('two never lead at the same time, despite delays, losses, disconnections, stops and wrong clocks', async () => {
  let terms = 0
  for (let seed = 1; seed <= 60; seed++) terms += await runChaos(seed)
  assert.ok(terms > 300, `${terms} terms were led, which is too few to prove anything`)
})

/** Three candidates with clocks of their own among faults; in the end, without them, one must lead. */
async function runChaos(seed: number): Promise<number> {
  const random = createRandom(seed)
  const { time, start } = openModel(seed)
  let isCalm = false
  const around = async <T>(_: string, act: () => Promise<T>, signal: AbortSignal): Promise<T> => {
    const clock = time.clock()
    if (isCalm) return act()
    await clock.sleep(random() ** 4 * 8000, signal)
    if (random() < 0.1) return down()
    const acted = act()
    acted.catch(() => undefined)
    // The answer may come late, or be lost though the server has acted.
    await clock.sleep(random() ** 4 * 8000, signal)
    return random() < 0.1 ? down() : acted
  }
  const begin = (name: string) => {
    const clock = time.clock({ rate: 0.9 + random() * 0.2, aheadMs: random() * 7200_000 })
    return start(name, { around, clock, endingMs: random() * 2000 })
  }
  const started = ['a', 'b', 'c'].map(begin)
  let candidates = [...started]
  for (let step = 0; step < 40; step++) {
    const at = Math.floor(random() * 3)
    const chosen = candidates[at]
    const dice = random()
    if (chosen && dice < 0.3) chosen.cutOff()
    else if (chosen && dice < 0.6) chosen.reconnect()
    else if (chosen && dice < 0.8) {
      await stopAll(time, chosen)
      const next = begin(`${'abc'[at]}${step}`)
      started.push(next)
      candidates = candidates.map(each => (each === chosen ? next : each))
    }
    await time.pass(random() * 20_000)
  }
  isCalm = true
  for (const candidate of candidates) candidate.reconnect()
  await time.pass(60_000)
  assert.equal(candidates.filter(({ isLeading }) => isLeading).length, 1, `seed ${seed}: one leads in the end`)
  await stopAll(time, ...candidates)
  return started.reduce((sum, candidate) => sum + candidate.terms, 0)
}

interface CandidateOptions {
  around?: <T>(verb: string, act: () => Promise<T>, signal: AbortSignal) => Promise<T>
  clock?: LeaderOptions['clock']
  /** How long the work takes to stop. */
  endingMs?: number
}

/** Fails the test at the moment when two lead. */
function openModel(seed = 0) {
  const kube = new FakeKube()
  const time = new SimulatedTime()
  const leading = new Set<string>()
  const start = (identity: string, options: CandidateOptions = {}) => {
    const { around = (_, act) => act(), clock = time.clock(), endingMs = 0 } = options
    const end = new AbortController()
    const candidate = {
      isLeading: false,
      terms: 0,
      reason: undefined as unknown,
      isCutOff: false,
      cutOff: () => {
        candidate.isCutOff = true
      },
      reconnect: () => {
        candidate.isCutOff = false
      },
      stop: async () => {
        end.abort(new Error('stopped'))
        await running
      },
    }
    const api = kube.api({
      around: (verb, act, signal) => (candidate.isCutOff ? down() : untilAborted(around(verb, act, signal), signal)),
    })
    const setLeading = (isLeading: boolean) => {
      candidate.isLeading = isLeading
      if (isLeading) leading.add(identity)
      else leading.delete(identity)
      assert.ok(leading.size <= 1, `seed ${seed}: at ${time.ms} ms ${[...leading]} lead`)
    }
    const work = async (signal: AbortSignal) => {
      candidate.terms++
      setLeading(true)
      await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
      candidate.reason = signal.reason
      setLeading(false)
      if (endingMs > 0) await time.clock().sleep(endingMs)
    }
    const running = runLeader({ api, clock, random: () => 0.5, lease: ref, identity }, work, end.signal)
    return candidate
  }
  return { kube, time, start }
}

/** Lets the time pass that it takes. */
async function stopAll(time: SimulatedTime, ...candidates: { stop(): Promise<void> }[]): Promise<void> {
  let isOver = false
  const stopped = Promise.all(candidates.map(candidate => candidate.stop())).finally(() => {
    isOver = true
  })
  for (let turn = 0; !isOver && turn < 1000; turn++) await time.pass(turn === 0 ? 0 : 100)
  assert.ok(isOver, 'it does not stop')
  await stopped
}

/** As the client does: the caller is let go, whatever becomes of the request. */
function untilAborted<T>(call: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    call.then(resolve, reject)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

function leaseOf(kube: FakeKube): Lease {
  return kube.all(leaseKind)[0] as Lease
}
