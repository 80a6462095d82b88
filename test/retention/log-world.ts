import assert from 'node:assert/strict'
import { listGenerations, newestState, readGeneration } from '../../src/archive/catalog.ts'
import { freshKey } from '../../src/archive/incarnation.ts'
import { listSegments } from '../../src/archive/indexes.ts'
import { type FolderOf, manifestKey } from '../../src/archive/layout.ts'
import { stateOf } from '../../src/archive/log/as-manifest.ts'
import { LogWriter } from '../../src/archive/log/log-writer.ts'
import { logMarker } from '../../src/archive/log/marker.ts'
import { planChange } from '../../src/archive/log/plan-change.ts'
import { readCommit } from '../../src/archive/log/read-commit.ts'
import { readSegment } from '../../src/archive/segment-reader.ts'
import { emptyPartition, withSegment } from '../../src/archive/summary.ts'
import { formatUtc } from '../../src/lib/clock.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { draftManifest, factsOf, never, topicOf } from '../archive/sample-archive.ts'
import { encodeRun } from '../fakes/batches.ts'
import { HOUR, World } from './world.ts'

const owner = { id: 'id-orders' }

/** A backup `a` with so many generations of version 1, one an hour, and the marker of version 2 behind them: nothing is committed in version 2. */
export async function markedWorld(generations: number): Promise<World> {
  const world = new World()
  for (let i = 0; i < generations; i++) {
    await world.commit('a')
    world.clock.pass(HOUR)
  }
  await world.storage.create(manifestKey('a', generations + 1), logMarker, never)
  return world
}

/** A continuous run of version 2 in a world: ten records more in each of two partitions with every round. */
export class LogRun {
  readonly #world: World
  readonly #log: LogWriter
  readonly #storage: Storage
  readonly warnings: readonly string[]

  private constructor(world: World, log: LogWriter, storage: Storage, warnings: readonly string[]) {
    this.#world = world
    this.#log = log
    this.#storage = storage
    this.warnings = warnings
  }

  static async open(
    world: World,
    backupId: string,
    storage: Storage = world.storage,
    folderOf?: FolderOf,
    nowMs: () => number = world.clock.now,
  ): Promise<LogRun> {
    const base = await newestState(storage, backupId, never)
    const pieces = { compression: 'none' as const, segmentBytes: 1 << 20, mergeAfterMs: 6 * 3_600_000 }
    const warnings: string[] = []
    const onWarning = (message: string) => warnings.push(message)
    const options = { backupId, newRun: world.newRun, nowMs, pieces, folderOf, onWarning }
    return new LogRun(world, await LogWriter.open(storage, base, options, never), storage, warnings)
  }

  async rounds(count: number, betweenMs: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      await this.round()
      await this.#log.tidy(never)
      this.#world.clock.pass(betweenMs)
    }
  }

  /** Writes the pack and the commit of a round. */
  async round(complete = true): Promise<void> {
    const run = this.#world.newRun()
    const packs = this.#log.openPacks(run, never) ?? assert.fail()
    const known = this.#log.newest?.topics[0]?.partitions ?? []
    const handed = await Promise.all(
      [0, 1].map(async number => {
        const before = known[number] ?? emptyPartition(number, 0n)
        const batch = encodeRun(before.end_offset, 10)
        const writer = packs.open(freshKey(owner, number), false, () => assert.fail())
        await writer.append([batch], factsOf([batch]), never)
        return { before, ...(await writer.hand(never)) }
      }),
    )
    await packs.flush()
    const added = await Promise.all(handed.map(async ({ durable }) => [await durable]))
    const partitions = handed.map(({ before }, i) => withSegment(before, added[i]?.[0] ?? assert.fail(), 0, []))
    const topic = topicOf('orders', partitions, { effective_configs: { 'cleanup.policy': 'delete' } })
    const now = formatUtc(this.#world.clock.now())
    const facts = { tool_version: '0', run, complete, created_at: now, started_at: now }
    const before = this.#log.state
    const change = planChange({
      before,
      after: stateOf(draftManifest([topic], { backup_id: 'a' })),
      added: new Map(added.map((some, i) => [freshKey(owner, i), some])),
      replaced: new Map(),
      countOf: list => before.lists.get(list)?.segments ?? 0,
    })
    await this.#log.commit(facts, change, async () => undefined, never)
  }

  get storage(): Storage {
    return this.#storage
  }
}

/** A backup `a` of version 2 with rounds of ten minutes; a prune writes a checkpoint after each of these numbers. */
export async function grownLog(...rounds: number[]): Promise<World> {
  const world = new World()
  for (const [i, count] of rounds.entries()) {
    if (i > 0) await commitCheckpoint(world)
    await (await LogRun.open(world, 'a')).rounds(count, HOUR / 6)
  }
  return world
}

async function commitCheckpoint(world: World): Promise<void> {
  world.storage.modified.set(await world.stray('a'), 0)
  await world.prune({ graceMs: 100 * HOUR })
}

/** Copies of the world in which one of two objects, the other, or both are gone or have other bytes. */
export function* damageEach(intact: World, one: string, other: string): Generator<{ world: World; keys: string[] }> {
  for (const keys of [[one], [other], [one, other]]) {
    for (const bytes of [undefined, Buffer.from('other bytes')]) {
      const world = intact.clone()
      for (const key of keys) {
        if (bytes) world.storage.objects.set(key, bytes)
        else world.storage.objects.delete(key)
      }
      yield { world, keys }
    }
  }
}

/** The key of the checkpoint that a generation of the backup `a` names. */
export async function checkpointOf(world: World, generation: number): Promise<string> {
  return (await readCommit(world.storage, 'a', generation, never)).commit.checkpoint?.key ?? assert.fail()
}

/** Reads all bytes of all generations that are listed; how many records each has. */
export async function readAllGenerations(storage: Storage, backupId: string): Promise<Map<number, number>> {
  const records = new Map<number, number>()
  for (const generation of await listGenerations(storage, backupId, never)) {
    const manifest = await readGeneration(storage, backupId, generation, never)
    for (const topic of manifest.topics) {
      for (const partition of topic.partitions) {
        const bytes: Buffer[] = []
        for (const segment of await listSegments(storage, topic, partition, never)) {
          for await (const some of readSegment(storage, segment, never)) bytes.push(Buffer.from(some))
        }
        const expected = Array.from({ length: Number(partition.end_offset) / 10 }, (_, i) =>
          encodeRun(BigInt(10 * i), 10),
        )
        assert.ok(Buffer.concat(bytes).equals(Buffer.concat(expected)), `generation ${generation}`)
      }
    }
    records.set(
      generation,
      manifest.topics.flatMap(topic => topic.partitions).reduce((sum, one) => sum + one.records, 0),
    )
  }
  return records
}
