import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listGenerations, openBackup, readGeneration } from '../../src/archive/catalog.ts'
import { listSegments } from '../../src/archive/indexes.ts'
import type { Segment } from '../../src/archive/manifest.ts'
import { readSegment } from '../../src/archive/segment-reader.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { runBackup } from '../../src/backup/run-backup.ts'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { givenKeys, keyOf, ownKeys } from '../encryption/samples.ts'
import { encodeRun } from '../fakes/batches.ts'
import { type FakeState, type FakeTopic, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { numbersToTry } from '../full.ts'
import { dying } from '../retention/dying.ts'
import { append, fixed, never, play, type RoundClock, runs, stopped } from './continuous-scene.ts'

/** Pieces become segments at 2 KiB, which a partition of the scene reaches after some rounds. */
const options = { beginsLog: true, segmentBytes: 32 << 10, compression: 'auto' as const }
const busy = (): FakeTopic[] => [fakeTopic('orders', [runs(0, 1)]), fakeTopic('other', [runs(0, 1)])]

/** Every round has something new for the first topic, and every second one for the other. */
function grow(rounds: number): ((state: FakeState) => void)[] {
  return Array.from({ length: rounds }, (_, i) => (state: FakeState) => {
    append(state, 0, runs(i + 1, 1))
    if (i % 2 === 1) append(state, 1, runs((i + 1) / 2, 1))
  })
}

async function segmentsOf(storage: Storage, generation: number): Promise<Map<string, readonly Segment[]>> {
  const manifest = await readGeneration(storage, 'b1', generation, never)
  const lists = new Map<string, readonly Segment[]>()
  for (const topic of manifest.topics) {
    for (const one of topic.partitions) {
      lists.set(`${topic.name}/${one.partition}`, await listSegments(storage, topic, one, never))
    }
  }
  return lists
}

/** Every generation holds the batches of the source from the first on, each once, and never fewer than the one before. */
async function assertGenerations(storage: Storage): Promise<void> {
  const before = new Map<string, number>()
  for (const generation of await listGenerations(storage, 'b1', never)) {
    for (const [name, segments] of await segmentsOf(storage, generation)) {
      const bytes: Buffer[] = []
      for (const segment of segments) {
        for await (const some of readSegment(storage, segment, never)) bytes.push(Buffer.from(some))
      }
      const whole = Buffer.concat(bytes)
      const batch = encodeRun(0n, 10).length
      const expected = Buffer.concat(runs(0, Math.round(whole.length / batch)))
      assert.ok(whole.equals(expected), `${name} of generation ${generation}`)
      assert.ok(whole.length >= (before.get(name) ?? 0), `${name} of generation ${generation} has lost something`)
      assert.ok(segments.filter(({ piece }) => piece).length <= 16, `${name} of generation ${generation}`)
      before.set(name, whole.length)
    }
  }
}

async function assertWhole(storage: Storage, records: number, what: string): Promise<void> {
  const report = await verifyBackup(storage, 'b1', { deep: true, onProgress: () => undefined }, never)
  assert.deepEqual([report.problems, report.gaps, report.records, report.complete], [[], [], records, true], what)
  await assertGenerations(storage)
}

/** Whether the newest generation has a piece that was merged, and a segment that pieces were merged into. */
async function isMerged(storage: Storage): Promise<boolean> {
  const newest = await openBackup(storage, 'b1', never)
  const all = [...(await segmentsOf(storage, newest.generation)).values()].flat()
  return all.some(one => (one.piece?.level ?? 0) > 0) && all.some(one => !one.piece && one.stored_from !== undefined)
}

/** Rounds until the scene has merged pieces; how many it took. */
async function playUntilMerged(storage: Storage, parts = {}): Promise<number> {
  let rounds = 0
  const between: ((state: FakeState) => Promise<void>)[] = []
  const next = async (state: FakeState) => {
    if (rounds > 0 && (await isMerged(storage))) return
    grow(rounds + 1)[rounds]?.(state)
    rounds++
    between.push(next)
  }
  between.push(next)
  const { error } = await play({ topics: busy(), storage, options, between, parts })
  assert.equal(error, stopped)
  return rounds
}

describe('a continuous run with small appends', () => {
  test('writes a pack and a commit for a round, and merges what it has written', async () => {
    const storage = openMemoryStorage()
    const rounds = await playUntilMerged(storage)
    await assertWhole(storage, 10 * (2 + rounds + Math.floor(rounds / 2)), `${rounds} rounds`)
    const keys = [...storage.objects.keys()]
    const commits = keys.filter(key => key.includes('/commits/')).length
    const packs = keys.filter(key => key.includes('/packs/')).length
    // The first round has large appends for these sizes, and a merge writes a pack for four rounds.
    assert.ok(packs <= 1.5 * commits, `${packs} packs, ${commits} commits`)
    assert.equal(keys.filter(key => key.includes('/index-')).length, 0)
  })

  test('merges what is older than merge_after although nothing is new, with one commit and not one for each round', async () => {
    // Its clock is behind, so that of the run counts.
    const storage = openMemoryStorage({ now: () => 0 })
    const quiet = { ...options, segmentBytes: 1 << 20, mergeAfterMs: 20 * 60_000 }
    const between = [
      ...grow(2),
      ...Array.from({ length: 8 }, () => async (_: FakeState, clock: RoundClock) => {
        clock.setMs += 5 * 60_000
      }),
    ]
    const { error } = await play({ topics: busy(), storage, options: quiet, between })
    assert.equal(error, stopped)
    const newest = await openBackup(storage, 'b1', never)
    const segments = [...(await segmentsOf(storage, newest.generation)).values()].flat()
    assert.deepEqual(segments.filter(({ piece }) => piece).length, 0)
    assert.equal(newest.generation, 4)
    await assertWhole(storage, 50, 'quiet')
  })

  test('can be encrypted with hidden names, and nothing of it stands in the clear', async () => {
    const memory = openMemoryStorage()
    const storage = withEncryption(memory, ownKeys([keyOf(1)], true, 'b1'))
    const encryption = await storage.keysFor('b1', never)
    await playUntilMerged(storage, { encryption })
    await assertGenerations(withEncryption(memory, givenKeys([keyOf(1)])))
    for (const [key, body] of memory.objects) {
      assert.ok(!key.includes('orders') && !body.includes('orders'), key)
      if (!key.startsWith('b1/keys/')) assert.ok(!body.includes('kafka-backup'), key)
    }
  })

  for (const kind of ['throw-before', 'throw-after'] as const) {
    test(`loses nothing, whichever call to the store fails while it merges (${kind})`, async () => {
      const calm = withFaults(openMemoryStorage(), [])
      await play({ topics: busy(), storage: calm, options, between: grow(9) })
      for (const nth of numbersToTry(calm.calls.length, kind === 'throw-before' ? 0 : 1)) {
        const memory = openMemoryStorage()
        const storage = withFaults(memory, [{ nth, effect: { kind } }])
        // The last round finds nothing new, and completes what a failed one has left.
        const between = [...grow(9), () => undefined]
        const { error } = await play({ topics: busy(), storage, options, between })
        assert.equal(error, stopped, `call ${nth}`)
        await assertWhole(memory, 150, `call ${nth}`)
      }
    })
  }

  for (const kind of ['kill-before', 'kill-after'] as const) {
    test(`that is killed at any call to the store is continued without loss or repetition (${kind})`, async () => {
      const calm = withFaults(openMemoryStorage(), [])
      await play({ topics: busy(), storage: calm, options, between: grow(9) })
      for (const nth of numbersToTry(calm.calls.length, kind === 'kill-before' ? 2 : 0)) {
        const memory = openMemoryStorage()
        const topics = busy()
        await play({ topics, storage: dying(memory, nth, kind).storage, options, between: grow(9), name: 'dead' })
        const { error } = await play({ topics, storage: memory, options, between: [() => undefined], name: 'next' })
        assert.equal(error, stopped, `call ${nth}`)
        const records = topics.reduce((sum, one) => sum + 10 * (one.partitions[0]?.batches.length ?? 0), 0)
        await assertWhole(memory, records, `call ${nth}`)
      }
    })
  }

  test('is continued by a single run, which writes segments only, and continues one of version 1', async () => {
    const storage = openMemoryStorage()
    const topics = busy()
    const fake = await startFakeCluster(topics)
    let names = 0
    const once = async () => {
      const parts = { cluster: await fake.open(), storage, newRun: () => `once${++names}`, toolVersion: '0' }
      const { systemClock } = await import('../../src/lib/clock.ts')
      const own = { ...fixed, ...options, continuous: false }
      return runBackup(own, { ...parts, clock: systemClock, onProgress: () => undefined }, never)
    }
    try {
      assert.equal((await once()).manifest.format_version, 1)
      await play({ topics, storage, options, between: grow(5), name: 'first' })
      for (const change of grow(8).slice(5)) {
        change(fake.state)
        const before = (await segmentsOf(storage, (await openBackup(storage, 'b1', never)).generation)).get('orders/0')
        const { manifest, copied } = await once()
        assert.deepEqual([manifest.format_version, copied.partitions > 0], [2, true])
        const after = (await segmentsOf(storage, manifest.generation)).get('orders/0') ?? []
        assert.ok(after.slice(before?.length).every(({ piece }) => !piece))
      }
      await assertWhole(storage, 10 * (2 + 8 + 4), 'continued by single runs')
    } finally {
      await fake.close()
    }
  })
})
