import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applyParts, type Change, type ListChange, noChange, type TopicRow } from '../../../src/archive/log/change.ts'
import { CommitLog } from '../../../src/archive/log/commit-log.ts'
import { DamagedSources } from '../../../src/archive/log/damaged-sources.ts'
import { ListTails } from '../../../src/archive/log/list-tails.ts'
import { mergePieces } from '../../../src/archive/log/merge-pieces.ts'
import { MergingLog } from '../../../src/archive/log/merging-log.ts'
import { openGeneration } from '../../../src/archive/log/open-generation.ts'
import { PackSet } from '../../../src/archive/log/pack-set.ts'
import { PackStream } from '../../../src/archive/log/pack-stream.ts'
import type { Merge } from '../../../src/archive/log/plan-merges.ts'
import { diffRows, zeroRow } from '../../../src/archive/log/row-change.ts'
import { SegmentLists } from '../../../src/archive/log/segment-lists.ts'
import type { Segment } from '../../../src/archive/manifest.ts'
import { readSegment } from '../../../src/archive/segment-reader.ts'
import { SegmentWriter } from '../../../src/archive/segment-writer.ts'
import { withSegment } from '../../../src/archive/summary.ts'
import { encodeRun } from '../../fakes/batches.ts'
import { openMemoryStorage } from '../../fakes/memory-storage.ts'
import { randomFrom } from './random-state.ts'

const { signal } = new AbortController()
const facts = { tool_version: '0.2.0', run: '0a0b0c0d', complete: true, created_at: '', started_at: '' }

const topic: TopicRow = {
  name: 't',
  id: '',
  state: 'current',
  internal: false,
  replication_factor: 1,
  configs: {},
}

/** A backup of partitions that get a record now and then, on a store in memory. */
class Backup {
  readonly storage = openMemoryStorage({ now: () => Date.parse(this.now) })
  readonly log: CommitLog
  readonly merging: MergingLog
  /** What each generation must hold: the end of each list. */
  readonly ends: Map<string, bigint>[] = [new Map()]
  puts = 0
  readonly merged: Merge[] = []
  onMerge: (merges: readonly Merge[]) => Promise<void> = async () => {}
  olderThanMs = 0
  #serial = 0
  now = '2026-11-15T10:13:45.239Z'

  constructor(maxPieceBytes = 20_000) {
    const store = this.storage
    const create = store.create.bind(store)
    store.create = (...args) => {
      this.puts++
      return create(...args)
    }
    this.log = new CommitLog(store, 'b', () => `w${this.#serial++}`)
    const rules = () => ({ maxPieceBytes, olderThanMs: this.olderThanMs })
    this.merging = new MergingLog(this.log, new ListTails(), {
      merge: this.#merge,
      rules,
      damaged: new DamagedSources(),
      onDamaged: () => assert.fail(),
    })
  }

  async round(lists: readonly string[]): Promise<void> {
    const packs = new PackSet(this.storage, this.#options(), signal)
    const ends = new Map(this.ends.at(-1))
    const writing: [string, Promise<Segment>][] = []
    for (const list of lists) {
      const from = ends.get(list) ?? 0n
      ends.set(list, from + 1n)
      const writer = packs.open(list, true, () => assert.fail())
      const one = { startOffset: from, endOffset: from + 1n, batches: 1, records: 1, abortedRecords: 0 }
      const times = { firstTimestamp: 1n, lastTimestamp: 1n, aborted: [] }
      await writer.append([encodeRun(from, 1, { valueBytes: 50 })], { ...one, ...times }, signal)
      writing.push([list, (await writer.hand(signal)).durable])
    }
    await packs.flush()
    const appends = writing.map(
      async ([list, durable]): Promise<[string, ListChange]> => [list, this.#append(list, await durable)],
    )
    const topics = new Map(lists.map(list => [list.slice(0, 32), { ...topic, id: list.slice(0, 32) }]))
    const change: Change = { ...noChange, topics, lists: new Map(await Promise.all(appends)) }
    await this.merging.commit(facts, change, async () => undefined, signal)
    this.ends.push(ends)
    await this.merging.tidy(signal)
  }

  async assertGeneration(generation: number): Promise<number> {
    const opened = await openGeneration(this.storage, 'b', generation, signal)
    const lists = new SegmentLists(this.storage, opened)
    let most = 0
    for (const [list, end] of this.ends[generation] ?? []) {
      const segments = await lists.read(list, opened.state.lists.get(list), signal)
      const bytes: Buffer[] = []
      for (const segment of segments) {
        for await (const some of readSegment(this.storage, segment, signal)) bytes.push(Buffer.from(some))
      }
      const expected = Array.from({ length: Number(end) }, (_, i) => encodeRun(BigInt(i), 1, { valueBytes: 50 }))
      assert.ok(Buffer.concat(bytes).equals(Buffer.concat(expected)), `${list} of ${generation}`)
      const row = opened.state.lists.get(list)
      assert.equal(
        row?.stored_bytes,
        segments.reduce((sum, { size }) => sum + size, 0),
      )
      most = Math.max(most, segments.filter(({ piece }) => piece).length)
    }
    return most
  }

  #append(list: string, segment: Segment): ListChange {
    const row = this.log.state.lists.get(list)
    const partition = { partition: 0, indexes: [], ...(row ?? zeroRow) }
    const { partition: _, indexes: __, ...after } = withSegment(partition, segment, 0, [])
    const parts = row ? [[0, row.segments] as const, segment] : [segment]
    return { isNew: !row, row: diffRows(row ?? zeroRow, after), parts }
  }

  #options() {
    return { backupId: 'b', run: `r${this.#serial++}`, maxPieceBytes: 20_000, now: () => this.now }
  }

  readonly #merge = async (merges: readonly Merge[]) => {
    this.merged.push(...merges)
    await this.onMerge(merges)
    const openSegment = ({ list, from }: Merge) =>
      SegmentWriter.open(
        this.storage,
        `b/kafka/t/0/${list.replace('/', '-')}.${from}.${this.#serial++}.log`,
        true,
        signal,
      )
    const packs = new PackStream(this.storage, this.#options(), signal)
    return mergePieces(merges, { storage: this.storage, packs, compression: 'auto', openSegment }, signal)
  }
}

test('whatever is merged, every generation holds the same records', async () => {
  const backup = new Backup()
  const random = randomFrom(5)
  const names = Array.from({ length: 10 }, (_, i) => `${String(i).repeat(32)}/0`)
  const rounds = 130
  for (let i = 1; i <= rounds; i++) await backup.round(names.filter((_, n) => n < 4 || random(n) === 0))
  const most: number[] = []
  for (let generation = 1; generation <= rounds; generation += 3) most.push(await backup.assertGeneration(generation))
  assert.ok(Math.max(...most) <= 16, `${Math.max(...most)} pieces`)
  // A commit each, a roll-up for eight, and a few checkpoints with their pages. Packs are not counted here.
  assert.ok(backup.puts < rounds * 1.35, `${backup.puts} documents in ${rounds} rounds`)
})

test('pieces that become too old while nothing is committed are merged, and one commit names the results', async () => {
  const backup = new Backup()
  const { merging, log } = backup
  const lists = [`${'a'.repeat(32)}/0`, `${'b'.repeat(32)}/0`]
  await backup.round(lists)
  await backup.round(lists)
  const quiet = async () => {
    await merging.tidy(signal)
    if (merging.isOverdue) await merging.commit(facts, noChange, async () => undefined, signal)
  }
  for (let i = 0; i < 5; i++) await quiet()
  assert.deepEqual([backup.merged.length, log.generation], [0, 2])
  backup.olderThanMs = Date.parse('2026-11-15T10:13:46Z')
  for (let i = 0; i < 5; i++) await quiet()
  assert.deepEqual([backup.merged.length, log.generation], [2, 3])
  backup.ends.push(new Map(backup.ends.at(-1)))
  assert.equal(await backup.assertGeneration(3), 0)
  // Those that come later are found, too.
  backup.now = '2026-11-15T10:14:45.239Z'
  await backup.round(lists)
  for (let i = 0; i < 5; i++) await quiet()
  assert.equal(log.generation, 4)
  backup.olderThanMs = Date.parse('2026-11-15T10:14:46Z')
  for (let i = 0; i < 5; i++) await quiet()
  assert.deepEqual([backup.merged.length, log.generation], [4, 5])
})

test('a merge of old pieces that fails while nothing is committed is tried again after the next commit', async () => {
  const backup = new Backup()
  const { merging } = backup
  const lists = [`${'a'.repeat(32)}/0`]
  await backup.round(lists)
  backup.olderThanMs = Date.parse('2026-11-15T10:13:46Z')
  backup.onMerge = async () => Promise.reject(new Error('the store is away'))
  let failures = 0
  for (let i = 0; i < 5; i++) await merging.tidy(signal).catch(() => failures++)
  assert.deepEqual([failures, merging.isOverdue], [1, false])
  backup.onMerge = async () => {}
  await merging.commit(facts, noChange, async () => undefined, signal)
  for (let i = 0; i < 2; i++) await merging.tidy(signal)
  assert.equal(merging.isOverdue, true)
})

test('small segments merge again, and every generation still holds the same records', async () => {
  // Everything that is merged becomes a segment.
  const backup = new Backup(400)
  const lists = ['a', 'b'].map(name => `${name.repeat(32)}/0`)
  for (let i = 1; i <= 320; i++) {
    await backup.round(lists)
    if (i % 20 === 0) await backup.merging.checkpoint(signal)
  }
  for (const generation of [64, 150, 270, 300, 320]) await backup.assertGeneration(generation)
  const segments = backup.log.state.lists.get(lists[0] ?? '')?.segments ?? 0
  assert.ok(segments < 75, `${segments} segments`)
  assert.ok(backup.merged.some(({ sources }) => sources.length >= 8 && !sources[0]?.piece))
})

test('a merge of segments that were cut off meanwhile is dropped', async () => {
  const backup = new Backup(400)
  const list = `${'a'.repeat(32)}/0`
  const isPlanned = () => backup.merged.some(({ sources }) => sources.length >= 8 && !sources[0]?.piece)
  backup.onMerge = async merges => {
    if (!merges.some(({ sources }) => sources.length >= 8 && !sources[0]?.piece)) return
    const row = backup.log.state.lists.get(list) ?? zeroRow
    const cut: ListChange = {
      isNew: false,
      row: diffRows(row, { ...row, segments: row.segments - 1 }),
      parts: [[1, row.segments]],
    }
    await backup.merging.commit(facts, { ...noChange, lists: new Map([[list, cut]]) }, async () => undefined, signal)
  }
  for (let i = 1; i <= 400 && !isPlanned(); i++) {
    await backup.round([list])
    if (i % 20 === 0) await backup.merging.checkpoint(signal)
  }
  assert.ok(isPlanned())
  const before = backup.log.state.lists.get(list)?.segments
  await backup.merging.commit(facts, noChange, async () => undefined, signal)
  assert.equal(backup.log.state.lists.get(list)?.segments, before)
  const opened = await openGeneration(backup.storage, 'b', backup.log.generation, signal)
  assert.equal(
    (await new SegmentLists(backup.storage, opened).read(list, opened.state.lists.get(list), signal)).length,
    before,
  )
})

test('a merge of a list that was replaced meanwhile is dropped', async () => {
  const backup = new Backup()
  const list = `${'a'.repeat(32)}/0`
  for (let i = 0; i < 4; i++) await backup.round([list])
  const row = backup.log.state.lists.get(list) ?? zeroRow
  const change: Change = {
    ...noChange,
    lists: new Map([[list, { isNew: true, row: diffRows(zeroRow, { ...row, segments: 0 }), parts: [] }]]),
  }
  await backup.merging.commit(facts, change, async () => undefined, signal)
  const opened = await openGeneration(backup.storage, 'b', 5, signal)
  assert.deepEqual(await new SegmentLists(backup.storage, opened).read(list, opened.state.lists.get(list), signal), [])
})

test('a change that names more segments than a list had is not applied', () => {
  assert.equal(applyParts([], [[0, 1]]), undefined)
})
