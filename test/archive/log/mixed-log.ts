import assert from 'node:assert/strict'
import { newestState, readGeneration } from '../../../src/archive/catalog.ts'
import { freshKey, rereadKey } from '../../../src/archive/incarnation.ts'
import { listSegments } from '../../../src/archive/indexes.ts'
import { stateOf } from '../../../src/archive/log/as-manifest.ts'
import { keepGeneration } from '../../../src/archive/log/keep-generation.ts'
import { LogWriter } from '../../../src/archive/log/log-writer.ts'
import { planChange } from '../../../src/archive/log/plan-change.ts'
import type { Manifest, ManifestPartition, ManifestTopic, Segment } from '../../../src/archive/manifest.ts'
import { readSegment } from '../../../src/archive/segment-reader.ts'
import { emptyPartition, withSegment } from '../../../src/archive/summary.ts'
import { walkBatches } from '../../../src/batch/walk.ts'
import { formatUtc } from '../../../src/lib/clock.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { encodeRun } from '../../fakes/batches.ts'
import { HOUR, World } from '../../retention/world.ts'
import { draftManifest, factsOf, never, topicOf } from '../sample-archive.ts'
import type { Random } from './random-state.ts'

const now = '2026-03-15T12:00:00.000Z'
const pieces = { compression: 'none' as const, segmentBytes: 1 << 20, mergeAfterMs: 2 * HOUR }

export type Wrap = (storage: Storage) => Storage

/** What a log is built with: at each step something else happens to it. */
export interface MixedLog {
  world: World
  /** The same backup as it could have become: other objects have the same keys. */
  fork: World
}

/**
 * A backup `a` whose two partitions of `orders` are cut by retention, and whose compacted topic `profiles` is read again now and then. Prunes
 * remove old generations, and some are held or half kept. Merges, roll-ups and checkpoints are made as a writer does.
 */
export async function mixedLog(random: Random, wrap: Wrap): Promise<MixedLog> {
  const world = new World()
  await grow(world, random, wrap, 2)
  const fork = world.clone()
  await grow(fork, random, wrap, 2)
  await grow(world, random, wrap, 2)
  return { world, fork }
}

async function grow(world: World, random: Random, wrap: Wrap, times: number): Promise<void> {
  const storage = wrap(world.storage)
  for (let i = 0; i < times; i++) {
    const run = await MixedRun.open(world, storage)
    const rounds = 3 + random(8)
    for (let round = 0; round < rounds; round++) await run.round(random)
    const { generation } = (await newestState(storage, 'a', never)).manifest ?? assert.fail()
    const held = generation - random(4)
    world.storage.objects.set(`a/holds/${String(held).padStart(12, '0')}.json`, Buffer.from('{}'))
    if (random(3) === 0) await keepGeneration(storage, 'a', held, never)
    const graceMs = random(2) === 0 ? 0 : HOUR / 2
    if (random(3) > 0) await world.prune({ graceMs, ...(random(2) > 0 && { olderThanMs: 1.4 * HOUR }) }, { storage })
  }
  const last = await MixedRun.open(world, storage)
  for (let round = random(12); round > 0; round--) await last.round(random)
}

/** A writer of the backup. */
class MixedRun {
  readonly #world: World
  readonly #log: LogWriter

  private constructor(world: World, log: LogWriter) {
    this.#world = world
    this.#log = log
  }

  static async open(world: World, storage: Storage): Promise<MixedRun> {
    const options = { backupId: 'a', newRun: world.newRun, nowMs: world.clock.now, pieces }
    return new MixedRun(world, await LogWriter.open(storage, await newestState(storage, 'a', never), options, never))
  }

  async round(random: Random): Promise<void> {
    const run = this.#world.newRun()
    const packs = this.#log.openPacks(run, never) ?? assert.fail()
    const added = new Map<string, readonly Segment[]>()
    const append = async (list: string, before: ManifestPartition, topic: string, count: number) => {
      if (count === 0) return before
      const writer = packs.open(list, false, () => assert.fail())
      const batches = Array.from({ length: count }, (_, i) => batchOf(topic, before, 10n * BigInt(i)))
      await writer.append(batches, factsOf(batches), never)
      const { durable } = await writer.hand(never)
      await packs.flush()
      const segment = await durable
      added.set(list, [segment])
      return withSegment(before, segment, 0, [])
    }
    const orders: ManifestPartition[] = []
    for (const number of [0, 1]) {
      const before = this.#partitionOf('orders', number)
      orders.push(await append(freshKey({ id: 'id-orders' }, number), before, 'orders', number === 0 ? 1 : random(3)))
    }
    const replaced = new Map<string, readonly Segment[]>()
    const profiles = await this.#profiles(random, append, added, replaced)
    const topics = [
      topicOf('orders', orders, { effective_configs: { 'cleanup.policy': 'delete' } }),
      topicOf('profiles', [profiles], { effective_configs: { 'cleanup.policy': 'compact' } }),
    ]
    await this.#commit(run, topics, added, replaced)
  }

  /** Appends to the compacted partition, or reads some of it again, from a place that may be behind its start. */
  async #profiles(
    random: Random,
    append: (list: string, before: ManifestPartition, topic: string, count: number) => Promise<ManifestPartition>,
    added: Map<string, readonly Segment[]>,
    replaced: Map<string, readonly Segment[]>,
  ): Promise<ManifestPartition> {
    const owner = { id: 'id-profiles' }
    const { reread, ...own } = this.#partitionOf('profiles', 0)
    const compaction = { began_at: now, current_at: now, current_end: own.end_offset, may_hold_deleted_keys: false }
    const left = Number(own.end_offset - own.start_offset) / 10
    const begun = reread ?? (left > 3 && random(4) === 0 ? rereadOf(own, random(left - 1)) : undefined)
    if (!begun) return { ...(await append(freshKey(owner, 0), own, 'profiles', random(3))), compaction }
    const missing = Number(own.end_offset - begun.end_offset) / 10
    const more = await append(rereadKey(owner, 0), begun, 'profiles', Math.min(missing, 1 + random(3)))
    if (more.end_offset < own.end_offset) return { ...own, compaction, reread: { ...more, compaction } }
    const list = rereadKey(owner, 0)
    const stored = reread ? await this.#log.readList(list, never) : []
    const whole = [...stored, ...(added.get(list) ?? [])]
    added.delete(list)
    replaced.set(freshKey(owner, 0), whole)
    return { ...more, compaction, segments: whole.length }
  }

  #partitionOf(topic: string, number: number): ManifestPartition {
    const known = this.#log.newest?.topics.find(({ name }) => name === topic)
    return known?.partitions[number] ?? emptyPartition(number, 0n)
  }

  async #commit(
    run: string,
    topics: ManifestTopic[],
    added: ReadonlyMap<string, readonly Segment[]>,
    replaced: ReadonlyMap<string, readonly Segment[]>,
  ): Promise<void> {
    const time = formatUtc(this.#world.clock.now())
    const facts = { tool_version: '0', run, complete: true, created_at: time, started_at: time }
    const before = this.#log.state
    const after = stateOf(draftManifest(topics, { backup_id: 'a' }))
    const countOf = (list: string) => before.lists.get(list)?.segments ?? 0
    const change = planChange({ before, after, added, replaced, countOf })
    await this.#log.commit(facts, change, async () => undefined, never)
    await this.#log.tidy(never)
    this.#world.clock.pass(HOUR / 6)
  }
}

function rereadOf({ start_offset }: ManifestPartition, skipped: number): ManifestPartition {
  return emptyPartition(0, start_offset + 10n * BigInt(skipped))
}

/** The same offset of a partition always has the same records. */
function batchOf(topic: string, { partition, end_offset }: ManifestPartition, at: bigint): Buffer {
  const baseTimestamp = 1_700_000_000_000n + BigInt(partition) + (topic === 'orders' ? 1000n : 0n)
  return encodeRun(end_offset + at, 10, { baseTimestamp, maxTimestamp: baseTimestamp })
}

/** All that a reader sees of a generation. */
export interface Snapshot {
  state: ReturnType<typeof stateOf>
  /** By list, then by base offset. */
  batches: ReadonlyMap<string, ReadonlyMap<bigint, string>>
}

export async function snapshotOf(storage: Storage, generation: number): Promise<Snapshot> {
  return snapshot(storage, await readGeneration(storage, 'a', generation, never))
}

export async function snapshot(storage: Storage, manifest: Manifest): Promise<Snapshot> {
  const batches = new Map<string, ReadonlyMap<bigint, string>>()
  for (const topic of manifest.topics) {
    for (const one of topic.partitions) {
      batches.set(freshKey(topic, one.partition), await batchesOf(storage, topic, one))
      if (one.reread) batches.set(rereadKey(topic, one.partition), await batchesOf(storage, topic, one.reread))
    }
  }
  return { state: stateOf(manifest), batches }
}

async function batchesOf(
  storage: Storage,
  topic: ManifestTopic,
  partition: ManifestPartition,
): Promise<Map<bigint, string>> {
  const found = new Map<bigint, string>()
  for (const segment of await listSegments(storage, topic, partition, never)) {
    const chunks: Buffer[] = []
    for await (const some of readSegment(storage, segment, never)) chunks.push(Buffer.from(some))
    const bytes = Buffer.concat(chunks)
    let at = 0
    for (const { baseOffset, sizeBytes } of walkBatches(bytes, 0, bytes.length)) {
      found.set(baseOffset, bytes.toString('latin1', at, at + sizeBytes))
      at += sizeBytes
    }
  }
  return found
}
