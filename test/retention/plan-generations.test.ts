import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readGeneration } from '../../src/archive/catalog.ts'
import { manifestKey } from '../../src/archive/layout.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import type { KeepRules } from '../../src/retention/keep-rules.ts'
import { planGenerations, type RetainedGeneration } from '../../src/retention/plan-generations.ts'
import { never } from '../archive/sample-archive.ts'
import { createRandom } from '../fakes/faulty-storage.ts'
import { DAY, HOUR, World } from './world.ts'

const numbersOf = (generations: readonly RetainedGeneration[], rules: KeepRules): number[] =>
  planGenerations(generations, rules).map(({ generation }) => generation)

/** The ISO time cut to the period; weeks by the number of their Monday. */
const periods: Record<Exclude<keyof KeepRules, 'keepLast'>, (ms: number) => string> = {
  keepHourly: ms => new Date(ms).toISOString().slice(0, 13),
  keepDaily: ms => new Date(ms).toISOString().slice(0, 10),
  // 1970-01-01 was a Thursday.
  keepWeekly: ms => String(Math.floor((ms / DAY + 3) / 7)),
  keepMonthly: ms => new Date(ms).toISOString().slice(0, 7),
  keepYearly: ms => new Date(ms).toISOString().slice(0, 4),
}

/** Says the same in another way: the last of each period, of the newest periods. */
function keptByDefinition(generations: readonly RetainedGeneration[], rules: KeepRules): number[] {
  const complete = generations.filter(one => one.complete)
  const kept = new Set(rules.keepLast ? complete.slice(-rules.keepLast).map(one => one.generation) : [])
  for (const [field, periodOf] of Object.entries(periods)) {
    const last = new Map(complete.map(one => [periodOf(one.timeMs), one.generation]))
    const count = rules[field as keyof KeepRules] ?? 0
    for (const generation of count === 0 ? [] : [...last.values()].slice(-count)) kept.add(generation)
  }
  return [...kept].sort((a, b) => a - b)
}

function randomHistory(random: () => number): RetainedGeneration[] {
  let timeMs = Date.parse('2025-12-20T00:00:00Z') + random() * 30 * DAY
  return Array.from({ length: 1 + Math.floor(random() * 60) }, (_, at) => {
    timeMs += random() < 0.3 ? random() * 40 * DAY : random() * 3 * HOUR
    return { generation: at + 1, timeMs: Math.floor(timeMs), complete: random() < 0.8 }
  })
}

function randomRules(random: () => number): KeepRules {
  const fields = ['keepLast', ...Object.keys(periods)].filter(() => random() < 0.5)
  return Object.fromEntries(fields.map(field => [field, Math.floor(random() * 5)]))
}

describe('the rules for generations', () => {
  test('keep the last complete one of each of the newest periods, for random histories and rules', () => {
    for (let seed = 0; seed < 2000; seed++) {
      const random = createRandom(seed)
      const history = randomHistory(random)
      const rules = randomRules(random)
      assert.deepEqual(numbersOf(history, rules), keptByDefinition(history, rules), `seed ${seed}`)
    }
  })

  test('keep the same, however often generations were thinned on the way', () => {
    for (let seed = 0; seed < 500; seed++) {
      const random = createRandom(seed)
      const history = randomHistory(random)
      const rules = randomRules(random)
      let left: RetainedGeneration[] = []
      for (const one of history) {
        left.push(one)
        if (random() > 0.5) continue
        const kept = new Set([...numbersOf(left, rules), one.generation])
        left = left.filter(({ generation }) => kept.has(generation))
      }
      // An incomplete newest one stays until the next.
      assert.deepEqual(numbersOf(left, rules), numbersOf(history, rules), `seed ${seed}`)
    }
  })

  test('keep nothing without a rule, and name the rules that keep a generation', () => {
    const history = [1, 2, 3].map(generation => ({ generation, timeMs: generation * DAY, complete: true }))
    assert.deepEqual(planGenerations(history, {}), [])
    assert.deepEqual(planGenerations(history, { keepLast: 1, keepDaily: 2 }), [
      { generation: 2, reasons: ['keep_daily'] },
      { generation: 3, reasons: ['keep_last', 'keep_daily'] },
    ])
  })
})

/** A generation every six hours for five days, and one minute more. */
async function fiveDays(): Promise<World> {
  const world = new World()
  for (let at = 0; at < 20; at++) {
    await world.commit('a', { partitions: 1, complete: at % 4 !== 3 })
    world.clock.pass(6 * HOUR)
  }
  return world
}

describe('prune', () => {
  test('thins the generations of a backup by the rules, and each that is left is intact', async () => {
    const world = await fiveDays()
    const policy = { graceMs: 0, generations: { keepLast: 2, keepDaily: 3 } }
    const plan = await world.pruneOne(policy, true)
    assert.deepEqual(await world.pruneOne(policy), plan)
    // The world begins at noon: of each day the third and the fourth generation are before noon, and the fourth is incomplete.
    const left = await world.generations('a')
    assert.deepEqual(
      plan.generationsKept.map(({ generation }) => generation).filter(one => !left.includes(one)),
      [],
    )
    assert.equal(plan.generationsRemoved, 20 - left.length)
    assert.ok(left.length < 8 && left.includes(20) && left.includes(19), left.join())
    for (const generation of left) {
      const options = { deep: true, generation, onProgress: () => undefined }
      const { problems, records } = await verifyBackup(world.storage, 'a', options, never)
      assert.deepEqual([problems, records], [[], generation * 10])
    }
    assert.deepEqual(await world.missing(), [])
    assert.deepEqual(await world.generations('a'), left)
  })

  test('keeps every generation for the grace period, whatever the rules', async () => {
    const world = await fiveDays()
    await world.pruneOne({ graceMs: DAY, generations: { keepDaily: 1 } })
    const left = await world.generations('a')
    assert.deepEqual(left.slice(-4), [17, 18, 19, 20])
    const other = await fiveDays()
    await other.pruneOne({ graceMs: DAY })
    assert.deepEqual(left, await other.generations('a'))
  })

  test('keeps what older_than cuts off newer generations for those that the rules keep, and no longer', async () => {
    const world = await fiveDays()
    const [first] = world.keys('a/kafka/orders/0/0000')
    const policy = { graceMs: 0, olderThanMs: 2 * DAY, generations: { keepDaily: 9 } }
    // A complete newest generation, so that prune may cut.
    await world.commit('a', { partitions: 1 })
    await world.pruneOne(policy)
    const [oldest = 0] = await world.generations('a')
    assert.ok(oldest < 5 && world.keys().includes(first ?? ''), `${oldest}`)
    const held = await readGeneration(world.storage, 'a', oldest, never)
    assert.equal(held.topics[0]?.partitions[0]?.start_offset, 0n)
    await world.pruneOne({ graceMs: 0, olderThanMs: 2 * DAY })
    assert.equal(world.keys().includes(first ?? ''), false)
    assert.deepEqual(await world.missing(), [])
  })

  test('cuts nothing off if a generation that a rule may keep is damaged', async () => {
    const world = await fiveDays()
    await world.commit('a', { partitions: 1 })
    world.storage.objects.set(manifestKey('a', 2), Buffer.from('other bytes'))
    const before = world.keys('a/')
    const { notes } = await world.pruneOne({ graceMs: 0, olderThanMs: 2 * DAY, generations: { keepDaily: 9 } })
    assert.match(notes.join('\n'), /^left as it is: a\/manifests\/00000002\.json /)
    assert.deepEqual(world.keys('a/'), before)
  })

  test('judges the generations of each backup by themselves, and does not count them as backups', async () => {
    const world = new World()
    for (const id of ['a', 'b']) {
      for (let at = 0; at < 3; at++) {
        await world.commit(id, { partitions: 1 })
        world.clock.pass(DAY)
      }
    }
    await world.prune({ graceMs: 0, generations: { keepLast: 2 } })
    assert.deepEqual(
      [await world.generations('a'), await world.generations('b')],
      [
        [2, 3],
        [2, 3],
      ],
    )
    await world.prune({ graceMs: 0, keepLast: 1, generations: { keepLast: 2 } })
    assert.deepEqual([await world.generations('a'), await world.generations('b')], [[], [2, 3]])
  })

  test('leaves a backup with a damaged generation as it is, since a rule may keep that one', async () => {
    const world = await fiveDays()
    await world.storage.replace('a/manifests/00000018.json', Buffer.from('{'), never)
    const before = world.keys('a/')
    const { notes } = await world.pruneOne({ graceMs: 0, generations: { keepLast: 2 } })
    assert.match(notes.join(), /left as it is: .*a\/manifests\/00000018\.json/)
    assert.deepEqual(world.keys('a/'), before)
  })
})
