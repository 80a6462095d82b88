import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { describeBackup } from '../../src/archive/describe.ts'
import { manifestKey } from '../../src/archive/layout.ts'
import { readRecoveryWindows } from '../../src/archive/recovery-window.ts'
import { readTopicWindows } from '../../src/jobs/measure-backup.ts'
import { createRandom } from '../fakes/faulty-storage.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { type SampleGeneration, storeGenerations } from './generation-samples.ts'
import { never } from './sample-archive.ts'

const timeOf = (generation: number) => new Date(Date.UTC(2026, 0, 2, 3, generation)).toISOString()

/** Topics come one after the other, and none goes. */
function randomHistory(random: () => number): SampleGeneration[] {
  const topics = ['t0']
  return Array.from({ length: 1 + Math.floor(random() * 12) }, (_, at) => {
    if (random() < 0.3) topics.push(`t${topics.length}`)
    return { created_at: timeOf(at + 1), complete: random() < 0.7, topics: [...topics] }
  })
}

describe('the recovery window of a topic', () => {
  test('is from the oldest to the newest complete generation that hold it, for random histories of both versions', async () => {
    for (let seed = 0; seed < 60; seed++) {
      const random = createRandom(seed)
      const history = randomHistory(random)
      const storage = openMemoryStorage()
      await storeGenerations(storage, history, [undefined, 1, 3][seed % 3])
      const last = history.findLastIndex(one => one.complete)
      const expected = (history[last]?.topics ?? []).map(topic => {
        const first = history.findIndex(one => one.complete && one.topics?.includes(topic))
        const point = (at: number) => ({ generation: at + 1, created_at: timeOf(at + 1) })
        return [`id-${topic}`, { oldest: point(first), newest: point(last) }]
      })
      const found = await readRecoveryWindows(storage, 'b1', never)
      assert.deepEqual(Object.fromEntries(found), Object.fromEntries(expected), `seed ${seed}`)
    }
  })

  test('does not need generations that are damaged, and is part of describe', async () => {
    const storage = openMemoryStorage()
    const topics = ['a']
    await storeGenerations(storage, [
      ...[1, 2].map(generation => ({ created_at: timeOf(generation), topics })),
      ...[3, 4].map(generation => ({ created_at: timeOf(generation), topics: ['a', 'b'] })),
    ])
    await storage.replace(manifestKey('b1', 1), Buffer.from('{'), never)
    const description = await describeBackup(storage, 'b1', {}, never)
    assert.deepEqual(
      description.topics.map(({ name, recovery_window }) => [name, recovery_window?.oldest.generation]),
      [
        ['a', 2],
        ['b', 3],
      ],
    )
    const window = { newestAt: timeOf(4) }
    assert.deepEqual(await readTopicWindows(storage, 'b1', description, never), [
      { topic: 'a', oldestAt: timeOf(2), ...window },
      { topic: 'b', oldestAt: timeOf(3), ...window },
    ])
  })

  test('is read with few requests where very many generations are incomplete, and then begins too late', async () => {
    const storage = openMemoryStorage()
    const topics = ['a']
    const count = 230
    await storeGenerations(
      storage,
      Array.from({ length: count }, (_, at) => ({
        created_at: timeOf(1),
        topics,
        records: 1,
        complete: at === 120 || at === count - 1,
      })),
    )
    let reads = 0
    const counting = new Proxy(storage, {
      get: (target, name, receiver) => {
        if (name === 'read') reads++
        return Reflect.get(target, name, receiver)
      },
    })
    const windows = [...(await readRecoveryWindows(counting, 'b1', never)).values()]
    assert.deepEqual(
      windows.map(({ oldest, newest }) => [oldest.generation, newest.generation]),
      [[count, count]],
    )
    assert.ok(reads < 150, `${reads} reads`)
  })

  test('is missing where no generation is complete', async () => {
    const storage = openMemoryStorage()
    await storeGenerations(storage, [{ created_at: timeOf(1), complete: false }])
    assert.equal((await describeBackup(storage, 'b1', {}, never)).topics[0]?.recovery_window, null)
  })
})
