import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newestState, openBackup, readManifest } from '../../src/archive/catalog.ts'
import { noChange } from '../../src/archive/log/change.ts'
import { LogWriter } from '../../src/archive/log/log-writer.ts'
import type { ManifestPartition } from '../../src/archive/manifest.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import type { BackupOptions } from '../../src/backup/backup-options.ts'
import { commitShards } from '../../src/backup/commit-shards.ts'
import { runBackup } from '../../src/backup/run-backup.ts'
import { runContinuous } from '../../src/backup/run-continuous.ts'
import { runShard } from '../../src/backup/run-shard.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { indexAt } from '../archive/sample-archive.ts'
import { encodeRun } from '../fakes/batches.ts'
import { type FakeCluster, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { plainOptions } from './plain-options.ts'

const never = new AbortController().signal
const MINUTE = 60_000
const configs = { 'cleanup.policy': 'compact', 'delete.retention.ms': String(10 * MINUTE) }

const fixed = plainOptions({ commitIntervalMs: MINUTE })

/** The commit interval never passes by itself. */
class StillClock extends JumpingClock {
  override readonly sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    if (ms >= MINUTE) await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    await new Promise(resolve => setImmediate(resolve))
  }
}

interface Stage {
  fake: FakeCluster
  clock: StillClock
  storage: Storage
  events: ProgressEvent[]
  parts: Parameters<typeof runBackup>[1]
  backUp(changes?: Partial<BackupOptions>, signal?: AbortSignal): ReturnType<typeof runBackup>
}

/** A compacted topic of ten batches with ten records each, once backed up. */
async function withStage(work: (stage: Stage) => Promise<void>): Promise<void> {
  const fake = await startFakeCluster([fakeTopic('users', [runs(0, 10)], { configs })])
  const clock = new StillClock()
  const storage = openMemoryStorage()
  const events: ProgressEvent[] = []
  let names = 0
  try {
    const onProgress = (event: ProgressEvent) => events.push(event)
    const cluster = await fake.open({ clock })
    const parts = { cluster, storage, clock, newRun: () => `r${++names}`, toolVersion: '0', onProgress }
    const backUp = (changes = {}, signal = never) => runBackup({ ...fixed, ...changes }, parts, signal)
    await backUp()
    await work({ fake, clock, storage, events, parts, backUp })
  } finally {
    await fake.close()
  }
}

const runs = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => encodeRun(BigInt((from + i) * 10), 10))

/** The cleaner removes the batches below 50 and two others; twenty records are new. */
function compact(fake: FakeCluster): void {
  const [topic] = fake.state.topics
  assert.ok(topic)
  topic.partitions = [fakePartition([...runs(5, 2), ...runs(9, 3)], { logStart: 0n })]
}

/** The cleaner leaves only these batches. */
function keep(fake: FakeCluster, batches: readonly number[]): void {
  const [topic] = fake.state.topics
  assert.ok(topic)
  topic.partitions = [
    fakePartition(
      batches.flatMap(batch => runs(batch, 1)),
      { logStart: 0n },
    ),
  ]
}

const keptOffsets = [50n, 60n, 90n, 100n, 110n]

async function newestOf(storage: Storage): Promise<ManifestPartition> {
  const { topics } = await openBackup(storage, 'b1', never)
  return topics[0]?.partitions[0] ?? assert.fail('there is no partition')
}

async function offsetsOf(
  storage: Storage,
  { indexes, list }: Pick<ManifestPartition, 'indexes' | 'list'>,
): Promise<bigint[]> {
  const offsets: bigint[] = []
  const listed = await Promise.all(indexes.map(ref => indexAt(storage, ref)))
  const segments = (await list?.read(never)) ?? listed.flatMap(one => one.segments)
  for (const { key } of segments) {
    const bytes = await storage.read(key, never)
    for (let at = 0; at < bytes.length; at += 12 + bytes.readInt32BE(at + 8)) offsets.push(bytes.readBigInt64BE(at))
  }
  return offsets
}

async function assertIntact(storage: Storage): Promise<void> {
  const { problems } = await verifyBackup(storage, 'b1', { deep: true, onProgress: () => undefined }, never)
  assert.deepEqual(problems, [])
}

/** Stops the run when it has read what is new, and the first batches again. */
function stopWhileReading(fake: FakeCluster, count = 2): AbortSignal {
  const stop = new AbortController()
  const log = fake.state.topics[0]?.partitions[0] ?? assert.fail('there is no partition')
  const { batches } = log
  let fetches = 0
  fake.state.fetchError = () => {
    fetches++
    log.batches = fetches === 2 ? batches.slice(0, count) : batches
    if (fetches === 3) stop.abort(new Error('stopped'))
    return 0
  }
  return stop.signal
}

describe('a compacted partition whose tombstones may have been missed', () => {
  test('is described as its log is now, and older generations stay as they were', () =>
    withStage(async ({ fake, clock, storage, backUp, events }) => {
      compact(fake)
      clock.pass(10 * MINUTE)
      const report = await backUp()
      assert.deepEqual(await offsetsOf(storage, await newestOf(storage)), keptOffsets)
      assert.deepEqual([report.copied.records, report.reread?.records], [20, 50])
      assert.equal(report.rereads?.[0]?.reason, 'late')
      const partition = await newestOf(storage)
      assert.deepEqual([partition.start_offset, partition.records, partition.gaps], [0n, 50, []])
      assert.deepEqual([partition.compaction?.may_hold_deleted_keys, partition.reread], [false, undefined])
      await assertIntact(storage)
      const first = (await readManifest(storage, 'b1', 1, never)).topics[0]?.partitions[0]
      assert.equal((await offsetsOf(storage, first ?? assert.fail())).length, 10)
      const told = events.flatMap(event => (event.type === 'note' ? [event.message] : []))
      assert.match(told.join(), /topic users: reads 1 partition again from the log start: .*delete\.retention\.ms/)
    }))

  test('has what is new in a generation of its own before it is read again', () =>
    withStage(async ({ fake, clock, storage, backUp }) => {
      compact(fake)
      clock.pass(10 * MINUTE)
      const { manifest } = await backUp()
      assert.equal(manifest.generation, 3)
      const between = await readManifest(storage, 'b1', 2, never)
      const partition = between.topics[0]?.partitions[0] ?? assert.fail()
      assert.deepEqual([between.complete, partition.end_offset], [true, 120n])
      assert.equal(partition.compaction?.may_hold_deleted_keys, true)
    }))

  test('continues after a run that was stopped, and takes the place of the list in one commit', () =>
    withStage(async ({ fake, clock, storage, backUp }) => {
      compact(fake)
      clock.pass(10 * MINUTE)
      await assert.rejects(backUp({}, stopWhileReading(fake)), /stopped/)
      const pending = await newestOf(storage)
      assert.equal(pending.compaction?.may_hold_deleted_keys, true)
      const begun = pending.reread ?? assert.fail('nothing is pending')
      assert.deepEqual([begun.records, begun.end_offset], [20, 70n])
      await assertIntact(storage)
      const report = await backUp()
      assert.equal(report.rereads?.[0]?.isResumed, true)
      assert.equal(report.reread?.records, 30)
      assert.deepEqual(await offsetsOf(storage, await newestOf(storage)), keptOffsets)
      assert.equal((await newestOf(storage)).compaction?.may_hold_deleted_keys, false)
      await assertIntact(storage)
    }))

  test('may still hold deleted keys where the reading lasted too long, and is read once more', () =>
    withStage(async ({ fake, clock, storage, backUp }) => {
      compact(fake)
      clock.pass(10 * MINUTE)
      await assert.rejects(backUp({}, stopWhileReading(fake)), /stopped/)
      clock.pass(10 * MINUTE)
      await backUp()
      assert.deepEqual(await offsetsOf(storage, await newestOf(storage)), keptOffsets)
      assert.equal((await newestOf(storage)).compaction?.may_hold_deleted_keys, true)
      const { rereads } = await backUp()
      assert.equal(rereads?.[0]?.reason, 'suspect')
      assert.equal((await newestOf(storage)).compaction?.may_hold_deleted_keys, false)
    }))

  test('is reported where it loses records in the newest generation that have expired at the source', () =>
    withStage(async ({ fake, clock, storage, backUp }) => {
      const [topic] = fake.state.topics
      assert.ok(topic)
      topic.partitions = [fakePartition(runs(5, 7))]
      clock.pass(10 * MINUTE)
      const { warnings, manifest } = await backUp()
      assert.match(
        warnings.join(),
        /topic users: records of 1 partition have expired at the source; only older generations/,
      )
      assert.deepEqual(manifest.warnings, warnings)
      assert.deepEqual((await newestOf(storage)).start_offset, 50n)
      clock.pass(MINUTE)
      assert.deepEqual((await backUp()).warnings, [])
    }))

  test('stays as it is where the job says never, with a warning', () =>
    withStage(async ({ fake, clock, storage, backUp }) => {
      compact(fake)
      clock.pass(10 * MINUTE)
      const { warnings, rereads } = await backUp({ compactedReread: 'never' })
      assert.deepEqual(warnings, [
        'topic users: 1 partition may hold keys that were deleted at the source (backup.compacted_reread: never)',
      ])
      assert.equal(rereads, undefined)
      assert.equal((await newestOf(storage)).records, 120)
    }))

  test('is read again when the backup holds more than twice what the source holds, and then not again', () =>
    withStage(async ({ fake, clock, storage, backUp, events }) => {
      const found: [bigint[], string | undefined][] = []
      for (const batch of [10, 11, 12, 13]) {
        clock.pass(MINUTE)
        keep(fake, [batch])
        const { rereads } = await backUp()
        found.push([await offsetsOf(storage, await newestOf(storage)), rereads?.[0]?.reason])
      }
      assert.deepEqual(found, [
        [[100n], 'size'],
        [[100n, 110n], undefined],
        [[100n, 110n, 120n], undefined],
        [[130n], 'size'],
      ])
      const { bytes, compaction } = await newestOf(storage)
      assert.deepEqual([compaction?.base_bytes, compaction?.source_bytes], [bytes, bytes])
      const told = events.flatMap(event => (event.type === 'note' ? [event.message] : []))
      const why = 'the backup holds more than twice what the source holds'
      const note = `topic users: reads 1 partition again from the log start: ${why}`
      assert.deepEqual(told, [note, note])
      await assertIntact(storage)
      const first = (await readManifest(storage, 'b1', 1, never)).topics[0]?.partitions[0]
      assert.equal((await offsetsOf(storage, first ?? assert.fail())).length, 10)
    }))

  test('is read again when the backup has doubled where the brokers do not tell sizes, which is reported once', () =>
    withStage(async ({ fake, clock, storage, backUp, events }) => {
      fake.state.hidesSizes = true
      const [topic] = fake.state.topics
      assert.ok(topic)
      topic.configs = { ...configs, 'delete.retention.ms': String(100 * 60 * MINUTE) }
      keep(fake, [20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30])
      await backUp()
      assert.equal((await newestOf(storage)).records, 210)
      for (const hours of [1, 23]) {
        clock.pass(hours * 60 * MINUTE)
        await backUp()
      }
      assert.equal((await newestOf(storage)).records, 110)
      const told = events.flatMap(event => (event.type === 'note' ? [event.message] : []))
      assert.match(told[0] ?? '', /^the brokers do not tell the sizes of partitions/)
      assert.match(told[1] ?? '', /more than twice what it held when the log was last read from its start$/)
      assert.equal(told.length, 2)
    }))

  test('is read again by the shard whose it is', () =>
    withStage(async ({ fake, clock, storage, parts }) => {
      compact(fake)
      clock.pass(10 * MINUTE)
      for (const index of [0, 1]) await runShard(fixed, { index, count: 2 }, parts, never)
      clock.pass(20 * MINUTE)
      await commitShards(fixed, parts, never)
      assert.deepEqual(await offsetsOf(storage, await newestOf(storage)), keptOffsets)
      assert.equal((await newestOf(storage)).compaction?.may_hold_deleted_keys, false)
      await assertIntact(storage)
    }))

  for (const again of [1, 2, 3]) {
    test(`is read to the end by a shard, after a pause with ${again} segments of a backup of version 2`, () =>
      withStage(async ({ fake, clock, storage, parts, backUp }) => {
        compact(fake)
        clock.pass(10 * MINUTE)
        // Each batch is a segment: the list has one of before and two that are new.
        await assert.rejects(backUp({ segmentBytes: 1 }, stopWhileReading(fake, again)), /stopped/)
        const paused = await newestOf(storage)
        assert.deepEqual([paused.segments, paused.reread?.segments], [3, again])
        const base = await newestState(storage, 'b1', never)
        const own = { backupId: 'b1', newRun: parts.newRun, nowMs: clock.now }
        const facts = { tool_version: '0', run: 'v2', complete: false, created_at: '', started_at: '' }
        const log = await LogWriter.open(storage, base, own, never)
        await log.commit(facts, noChange, async () => undefined, never)
        await runShard(fixed, { index: 0, count: 1 }, parts, never)
        await commitShards(fixed, parts, never)
        const partition = await newestOf(storage)
        assert.deepEqual(await offsetsOf(storage, partition), keptOffsets)
        assert.deepEqual([partition.records, partition.reread], [50, undefined])
        await assertIntact(storage)
      }))
  }

  test('is read again by a continuous run, not more often than the job allows', () =>
    withStage(async ({ fake, clock, storage, parts }) => {
      compact(fake)
      clock.pass(10 * MINUTE)
      const stop = new AbortController()
      let rounds = 0
      const afterRound: NonNullable<typeof parts.afterRound> = async newest => {
        if (++rounds === 3) stop.abort(new Error('enough'))
        const log = fake.state.topics[0]?.partitions[0]
        assert.ok(log)
        const next = Number(log.highWatermark / 10n)
        Object.assign(log, fakePartition([...log.batches, ...runs(next, 1)], { logStart: 0n }))
        clock.pass(11 * MINUTE)
        return newest
      }
      const ticking = { ...parts, clock: new TickingClock(clock), afterRound }
      const options = { ...fixed, continuous: true, commitIntervalMs: 1000, compactedRereadIntervalMs: 15 * MINUTE }
      await assert.rejects(runContinuous(options, ticking, stop.signal), /enough/)
      const partition = await newestOf(storage)
      // Minute 10 is too soon after the first reading, and minute 32 after the second, which began at minute 21.
      assert.equal(partition.compaction?.began_at, '2026-01-02T03:25:05.000Z')
      await assertIntact(storage)
    }))
})

/** Sleeps end at once; the time is that of another clock. */
class TickingClock extends JumpingClock {
  readonly #clock: JumpingClock

  constructor(clock: JumpingClock) {
    super()
    this.#clock = clock
  }

  override readonly now = (): number => this.#clock.now()
  override readonly monotonic = (): number => this.#clock.monotonic()
  override readonly sleep = async (_ms: number, signal?: AbortSignal): Promise<void> => {
    await new Promise(resolve => setTimeout(resolve, 50))
    signal?.throwIfAborted()
  }
}
