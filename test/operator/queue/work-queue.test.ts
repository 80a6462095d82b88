import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type QueueObserver, WorkQueue, type WorkResult } from '../../../src/operator/queue/work-queue.ts'
import { createRandom } from '../../fakes/faulty-storage.ts'
import { SimulatedTime } from '../../fakes/simulated-time.ts'

type Work = (key: string, signal: AbortSignal) => Promise<WorkResult>

test('a key is queued once however often it is added, and keys are processed in order', async () => {
  const { queue, time, run, log, stop } = openQueue()
  for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key)
  assert.equal(queue.depth, 3)
  run(1)
  await time.pass(0)
  assert.deepEqual(log, ['a', 'b', 'c'])
  assert.equal(queue.depth, 0)
  await stop()
})

test('a key that is added while it is processed is processed once more afterwards', async () => {
  const { queue, time, run, log, stop } = openQueue(async key => {
    if (log.length === 1) for (let count = 0; count < 5; count++) queue.add(key)
    await time.clock().sleep(100)
    return {}
  })
  queue.add('a')
  run(3)
  await time.pass(50)
  assert.deepEqual(log, ['a'])
  await time.pass(1000)
  assert.deepEqual(log, ['a', 'a'])
  await stop()
})

test('a failing key is retried after a delay that doubles up to a limit, and resets after a success', async () => {
  const times: number[] = []
  let isBroken = true
  const { queue, time, run, stop } = openQueue(async () => {
    times.push(time.ms)
    if (isBroken) throw new Error('broken')
    return {}
  })
  queue.add('a')
  run(1)
  await time.pass(30 * 60_000)
  const delays = times.slice(1).map((ms, index) => ms - (times[index] ?? 0))
  assert.deepEqual(delays.slice(0, 10), [1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 120_000, 120_000, 120_000])
  isBroken = false
  await time.pass(10 * 60_000)
  isBroken = true
  times.length = 0
  queue.add('a')
  await time.pass(1000)
  assert.equal((times[1] ?? 0) - (times[0] ?? 0), 1000)
  await stop()
})

test('a failing key does not delay others, and a new event processes it immediately', async () => {
  const { queue, time, run, log, stop } = openQueue(async key => {
    if (key === 'bad') throw new Error('broken')
    return {}
  })
  queue.add('bad')
  run(1)
  await time.pass(10_000)
  log.length = 0
  queue.add('good')
  queue.add('bad')
  await time.pass(0)
  assert.deepEqual(log, ['good', 'bad'])
  await stop()
})

test('a key can be delayed, also by months, and the earliest time counts', async () => {
  const dayMs = 24 * 3600_000
  const { queue, time, run, log, stop } = openQueue()
  const startMs = time.startMs
  queue.addAt('month', startMs + 40 * dayMs)
  queue.addAt('hour', startMs + 2 * 3600_000)
  queue.addAt('hour', startMs + 3600_000)
  queue.addAt('hour', startMs + 3 * 3600_000)
  run(1)
  await time.pass(3600_000 - 1)
  assert.deepEqual(log, [])
  await time.pass(1)
  assert.deepEqual(log, ['hour'])
  await time.pass(10 * 3600_000)
  assert.deepEqual(log, ['hour'])
  await time.pass(40 * dayMs - 11 * 3600_000)
  assert.deepEqual(log, ['hour', 'month'])
  await stop()
})

test('the result of the work sets the next time', async () => {
  const { queue, time, run, log, stop } = openQueue(async () => ({ recheckAtMs: time.startMs + time.ms + 5000 }))
  queue.add('a')
  run(1)
  await time.pass(20_000)
  assert.equal(log.length, 5)
  await stop()
})

test('notices within half a minute that a wall clock set forward makes a time due', async () => {
  const time = new SimulatedTime()
  let aheadMs = 0
  const clock = { ...time.clock(), now: () => time.startMs + time.ms + aheadMs }
  const { queue, run, log, stop } = openQueue(undefined, { time, clock })
  queue.addAt('a', time.startMs + 24 * 3600_000)
  run(1)
  await time.pass(1000)
  aheadMs = 24 * 3600_000
  await time.pass(30_000)
  assert.deepEqual(log, ['a'])
  await stop()
})

test('processes every key after the wall clock is set back', async () => {
  const time = new SimulatedTime()
  let aheadMs = 2 * 86_400_000
  const clock = { ...time.clock(), now: () => time.startMs + time.ms + aheadMs }
  const { queue, run, log, stop } = openQueue(undefined, { time, clock })
  queue.addAt('a', clock.now() + 3_600_000)
  run(1)
  await time.pass(40_000)
  assert.deepEqual(log, [])
  aheadMs = 0
  await time.pass(30_000)
  assert.equal(log.length, 1)
  await stop()
})

test('a stopped queue waits for active work, starts nothing more, and continues in the next run', async () => {
  const { queue, time, run, log, stop } = openQueue(async (_, signal) => {
    await time.clock().sleep(10_000, signal)
    return {}
  })
  for (const key of ['a', 'b', 'c']) queue.add(key)
  run(2)
  await time.pass(1000)
  await stop()
  assert.deepEqual(log, ['a', 'b'])
  assert.equal(queue.depth, 3, 'what was broken off waits as well')
  run(3)
  await time.pass(0)
  assert.deepEqual(log, ['a', 'b', 'c', 'a', 'b'])
  await stop()
})

test('an observer sees depth, adds, retries and durations', async () => {
  const seen: unknown[][] = []
  const observer: QueueObserver = {
    depth: keys => seen.push(['depth', keys]),
    added: () => seen.push(['added']),
    retried: (error, key, delayMs) => seen.push(['retried', (error as Error).message, key, delayMs]),
    worked: (durationMs, isFailed) => seen.push(['worked', durationMs, isFailed]),
  }
  let left = 1
  const { queue, time, run, stop } = openQueue(
    async () => {
      await time.clock().sleep(20)
      if (left-- > 0) throw new Error('broken')
      return {}
    },
    { observer },
  )
  queue.add('a')
  queue.add('a')
  run(1)
  await time.pass(5000)
  assert.deepEqual(seen, [
    ['added'],
    ['depth', 1],
    ['depth', 0],
    ['retried', 'broken', 'a', 1000],
    ['worked', 20, true],
    ['depth', 0],
    ['added'],
    ['depth', 1],
    ['depth', 0],
    ['worked', 20, false],
    ['depth', 0],
  ])
  await stop()
})

test('no key has two workers, is lost, or misses a run after its last add, in any order', async () => {
  for (let seed = 1; seed <= 100; seed++) await runRandom(seed)
})

async function runRandom(seed: number): Promise<void> {
  const random = createRandom(seed)
  const time = new SimulatedTime()
  const active = new Set<string>()
  const addedMs = new Map<string, number>()
  const doneMs = new Map<string, number>()
  const workers = 1 + Math.floor(random() * 4)
  let isBroken = true
  const { queue, run, stop } = openQueue(
    async key => {
      assert.ok(!active.has(key), `seed ${seed}: two workers on ${key}`)
      active.add(key)
      assert.ok(active.size <= workers)
      const beganMs = time.ms
      await time.clock().sleep(random() * 300)
      active.delete(key)
      if (isBroken && random() < 0.3) throw new Error('broken')
      doneMs.set(key, beganMs)
      return {}
    },
    { time },
  )
  run(workers)
  for (let step = 0; step < 100; step++) {
    const key = `key-${Math.floor(random() * 8)}`
    const delayMs = random() < 0.3 ? random() * 5000 : 0
    addedMs.set(key, time.ms)
    if (delayMs > 0) queue.addAt(key, time.startMs + time.ms + delayMs)
    else queue.add(key)
    await time.pass(random() * 150)
  }
  isBroken = false
  await time.pass(20 * 60_000)
  for (const [key, ms] of addedMs) assert.ok((doneMs.get(key) ?? -1) >= ms, `seed ${seed}: ${key} was lost`)
  assert.equal(queue.depth, 0)
  await stop()
}

interface Parts {
  time?: SimulatedTime
  clock?: ReturnType<SimulatedTime['clock']>
  observer?: QueueObserver
}

/** Its delays have no jitter: each is the most that the policy allows. */
function openQueue(work: Work = async () => ({}), parts: Parts = {}) {
  const { time = new SimulatedTime() } = parts
  const { clock = time.clock(), observer } = parts
  const queue = new WorkQueue({ clock, random: () => 1, ...(observer && { observer }) })
  const log: string[] = []
  let end = new AbortController()
  let running: Promise<void> = Promise.resolve()
  const run = (workers: number) => {
    end = new AbortController()
    running = queue.run(
      workers,
      (key, signal) => {
        log.push(key)
        return work(key, signal)
      },
      end.signal,
    )
  }
  const stop = async () => {
    end.abort(new Error('the test is over'))
    await running
    assert.equal(time.pending, 0)
  }
  return { queue, time, run, log, stop }
}
