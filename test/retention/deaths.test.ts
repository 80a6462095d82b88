import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { verifyBackup } from '../../src/archive/verify.ts'
import type { RetentionPolicy } from '../../src/retention/policy.ts'
import { never } from '../archive/sample-archive.ts'
import { Death, dying, momentsToTry } from './dying.ts'
import { DAY, World } from './world.ts'

interface Scene {
  name: string
  policy: Partial<RetentionPolicy>
  prepare(world: World): Promise<void>
}

const scenes: Scene[] = [
  {
    name: 'thinning the generations of a backup',
    policy: { olderThanMs: 2.5 * DAY, graceMs: 0, generations: { keepDaily: 2, keepLast: 1 } },
    prepare: async world => {
      for (let at = 0; at < 8; at++) {
        await world.commit('a', { partitions: 1 })
        world.clock.pass(DAY / 2)
      }
      await world.stray('a')
    },
  },
  {
    name: 'marking a backup',
    policy: { keepLast: 1 },
    prepare: async world => {
      await world.commit('a', { partitions: 1 })
      world.clock.pass(DAY)
      await world.commit('b', { partitions: 1 })
    },
  },
  {
    name: 'removing a backup at once',
    policy: { keepLast: 1, graceMs: 0 },
    prepare: async world => {
      for (let i = 0; i < 3; i++) await world.commit('a')
      world.storage.objects.set('a/keys/k.json', Buffer.from('{}'))
      world.clock.pass(DAY)
      await world.commit('b')
    },
  },
  {
    name: 'removing a backup whose grace period is over',
    policy: { keepLast: 1 },
    prepare: async world => {
      for (let i = 0; i < 2; i++) await world.commit('a')
      world.clock.pass(DAY)
      await world.commit('b')
      await world.prune({ keepLast: 1 })
      world.clock.pass(2 * DAY)
    },
  },
  {
    name: 'cutting off segments, with a grace period',
    policy: { olderThanMs: 2.5 * DAY },
    prepare: async world => {
      for (let day = 0; day < 4; day++) {
        await world.commit('a')
        world.clock.pass(DAY)
      }
      await world.stray('a')
      world.clock.pass(DAY)
    },
  },
  {
    name: 'cutting off and removing segments, generations and strays at once',
    policy: { olderThanMs: 2.5 * DAY, graceMs: 0 },
    prepare: async world => {
      for (let day = 0; day < 4; day++) {
        await world.commit('a', { segments: 2 })
        world.clock.pass(DAY)
      }
      await world.stray('a')
    },
  },
  {
    name: 'cutting off and removing where no run has left anything',
    policy: { olderThanMs: 2.5 * DAY, graceMs: 0 },
    prepare: async world => {
      for (let day = 0; day < 4; day++) {
        await world.commit('a', { partitions: 1 })
        world.clock.pass(DAY)
      }
    },
  },
  {
    name: 'sweeping strays behind a fence',
    policy: {},
    prepare: async world => {
      await world.commit('a')
      await world.stray('a')
      world.clock.pass(2 * DAY)
    },
  },
]

describe('a prune that dies at any call to the store, before it or after it took effect, while', () => {
  for (const { name, policy, prepare } of scenes) {
    test(`${name}: no manifest names what is not there, and the next prune ends it`, async () => {
      const whole = new World()
      await prepare(whole)
      const counting = dying(whole.storage, 0, 'kill-before')
      await whole.prune(policy, { storage: counting.storage })
      const expected = whole.keys().map(withoutRuns)
      assert.ok(counting.calls.length > 8, `only ${counting.calls.length} calls`)
      const moments = momentsToTry(counting.calls.length)
      let deaths = 0
      for (const [nth, moment] of moments) {
        const world = new World()
        await prepare(world)
        const { storage } = dying(world.storage, nth, moment)
        const died = await world.prune(policy, { storage }).then(
          () => false,
          error => error instanceof Death,
        )
        deaths += died ? 1 : 0
        assert.deepEqual(await world.missing(), [], `${moment} ${nth}`)
        // The lease of the one that died is dead by then, and so long that it goes as well.
        world.clock.pass(2 * 3_600_000)
        await world.prune(policy)
        await world.prune(policy)
        assert.deepEqual(await world.missing(), [], `${moment} ${nth}, and another prune`)
        const left = new Set(world.keys().map(withoutRuns))
        const lost = expected.filter(key => key.endsWith('.log') && !left.has(key))
        assert.deepEqual(lost, [], `${moment} ${nth}`)
        for (const id of new Set(world.keys().map(key => key.split('/')[0] ?? ''))) await assertWhole(world, id)
      }
      assert.ok(deaths > 0.8 * moments.length, `${deaths} deaths`)
    })
  }
})

/** What is marked is not for reading. */
async function assertWhole(world: World, id: string): Promise<void> {
  if (world.storage.objects.has(`${id}/manifests/pruned.json`)) return
  if ((await world.generations(id)).length === 0) return
  const report = await verifyBackup(world.storage, id, { deep: true, onProgress: () => undefined }, never)
  assert.deepEqual(report.problems, [])
}

function withoutRuns(key: string): string {
  return key.replace(/run\d+/, 'run')
}
