import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { mergePieces } from '../../../src/archive/log/merge-pieces.ts'
import { PackSet, storePiece } from '../../../src/archive/log/pack-set.ts'
import { PackStream } from '../../../src/archive/log/pack-stream.ts'
import { planWindows } from '../../../src/archive/log/pack-windows.ts'
import { describePiece } from '../../../src/archive/log/packed-piece.ts'
import { PieceStore } from '../../../src/archive/log/piece-store.ts'
import { type Merge, planMerges, tailOf } from '../../../src/archive/log/plan-merges.ts'
import type { Segment } from '../../../src/archive/manifest.ts'
import { readSegment } from '../../../src/archive/segment-reader.ts'
import { type ChunkFacts, SegmentWriter } from '../../../src/archive/segment-writer.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { encodeBatch, encodeRun } from '../../fakes/batches.ts'
import { openMemoryStorage } from '../../fakes/memory-storage.ts'
import { randomFrom } from './random-state.ts'

const { signal } = new AbortController()
const MINUTE = 60_000
const start = Date.parse('2026-11-15T00:00:00.000Z')

function factsFor(from: bigint, count: number): ChunkFacts {
  const times = { firstTimestamp: 5n, lastTimestamp: 9n }
  return {
    startOffset: from,
    endOffset: from + BigInt(count),
    batches: 1,
    records: count,
    abortedRecords: 0,
    ...times,
    aborted: [],
  }
}

/** Rounds in which some lists get records; merges happen as a writer would do them. */
class Rounds {
  readonly storage = openMemoryStorage({ now: () => this.nowMs })
  readonly lists = new Map<string, Segment[]>()
  /** The bytes that each list must have. */
  readonly expected = new Map<string, Buffer[]>()
  nowMs = start
  most = 0
  merges = 0
  #round = 0

  async add(lists: readonly string[], count = 1): Promise<void> {
    const packs = new PackSet(this.storage, this.#options(`r${++this.#round}`), signal)
    const added: [string, Promise<Segment>][] = []
    for (const list of lists) {
      const from = this.lists.get(list)?.at(-1)?.end_offset ?? 0n
      const batch = encodeRun(from, count, { valueBytes: 100 })
      const writer = packs.open(list, true, () => this.#openSegment(list, from))
      await writer.append([batch], factsFor(from, count), signal)
      added.push([list, (await writer.hand(signal)).durable])
      this.expected.set(list, [...(this.expected.get(list) ?? []), Buffer.from(batch)])
    }
    await packs.flush()
    for (const [list, durable] of added) this.lists.set(list, [...(this.lists.get(list) ?? []), await durable])
    this.nowMs += MINUTE
  }

  async merge(): Promise<Merge[]> {
    const olderThanMs = this.nowMs - 24 * 60 * MINUTE
    const due = [...this.lists].flatMap(([list, segments]) =>
      planMerges(list, tailOf(segments), { maxPieceBytes: 100_000, olderThanMs }),
    )
    const packs = new PackStream(this.storage, this.#options(`m${this.#round}`), signal)
    const openSegment = ({ list, sources }: Merge) => this.#openSegment(list, sources[0]?.start_offset ?? 0n)
    const parts = { storage: this.storage, packs, compression: 'auto' as const, openSegment }
    for (const { list, from, to, result } of (await mergePieces(due, parts, signal)).merged.toReversed()) {
      const segments = this.lists.get(list) ?? []
      this.lists.set(list, segments.toSpliced(from, to - from, result))
      this.merges++
    }
    this.most = Math.max(this.most, ...[...this.lists.values()].map(some => some.filter(one => one.piece).length))
    return due
  }

  async assertSame(): Promise<void> {
    for (const [list, segments] of this.lists) {
      const found: Buffer[] = []
      let next = 0n
      for (const segment of segments) {
        assert.equal(segment.start_offset, next)
        next = segment.end_offset
        for await (const bytes of readSegment(this.storage, segment, signal)) found.push(Buffer.from(bytes))
      }
      assert.ok(Buffer.concat(found).equals(Buffer.concat(this.expected.get(list) ?? [])), list)
    }
  }

  #options(run: string) {
    return { backupId: 'b', run, maxPieceBytes: 100_000, now: () => new Date(this.nowMs).toISOString() }
  }

  #openSegment(list: string, from: bigint): Promise<SegmentWriter> {
    const key = `b/kafka/t/${list}/${from}-${this.#round}.log.zst`
    return SegmentWriter.open(this.storage, key, true, signal)
  }
}

test('merged pieces hold the bytes of their sources, and no list has more than 16', async () => {
  const rounds = new Rounds()
  const random = randomFrom(3)
  const names = Array.from({ length: 12 }, (_, i) => `list${i}`)
  for (let i = 0; i < 150; i++) {
    await rounds.add(names.filter((_, n) => n < 3 || random(n) === 0))
    await rounds.merge()
  }
  await rounds.assertSame()
  assert.ok(rounds.most <= 16, `${rounds.most} pieces`)
  assert.ok(rounds.merges > 100, `${rounds.merges} merges`)
  const levels = new Set(rounds.lists.get('list0')?.map(({ piece }) => piece?.level))
  assert.deepEqual([...levels], [4, 3, 2, 1, 0])
})

test('lists that begin together merge their large pieces in different rounds', () => {
  const pack = { key: 'k', size: 1e9, blake3: '', stored_at: new Date(start).toISOString() }
  const piece = (from: number, to: number, level: number) => {
    const size = to - from
    const packed = { plainSize: size, isFrame: false, facts: factsFor(BigInt(from), size), level }
    return describePiece(packed, { position: 0, size, blake3: '' }, pack)
  }
  const lists = Array.from({ length: 300 }, (): Segment[] => [])
  const jobs: number[] = []
  for (let round = 4; round <= 1000; round += 4) {
    let bytes = 0
    for (const [i, list] of lists.entries()) {
      for (let at = round - 4; at < round; at++) list.push(piece(at, at + 1, 0))
      assert.ok(list.length <= 16, `${list.length} pieces`)
      const [merge] = planMerges(`topic/${i}`, tailOf(list), { maxPieceBytes: 1e9, olderThanMs: 0 })
      assert.ok(merge?.into.kind === 'piece' && merge.to === list.length)
      const from = Number(merge.sources[0]?.start_offset)
      list.splice(merge.from, list.length, piece(from, round, merge.into.level))
      bytes += round - from
    }
    jobs.push(bytes)
  }
  const mean = jobs.reduce((sum, one) => sum + one, 0) / jobs.length
  const [most = 0] = jobs.toSorted((a, b) => b - a)
  assert.ok(most < 3 * mean, `the largest of ${jobs.length} jobs has ${most} bytes, the mean is ${mean}`)
})

test('a large append is a segment at once, and pieces become one when they are large or old', async () => {
  const rounds = new Rounds()
  await rounds.add(['large'], 2000)
  assert.equal(rounds.lists.get('large')?.[0]?.piece, undefined)
  for (let i = 0; i < 4; i++) await rounds.add(['middle', 'small'], i === 3 ? 900 : 20)
  await rounds.merge()
  assert.equal(rounds.lists.get('middle')?.[0]?.piece, undefined)
  await rounds.add(['old'])
  rounds.nowMs += 25 * 60 * MINUTE
  await rounds.merge()
  const [segment] = rounds.lists.get('old') ?? []
  assert.equal(segment?.piece, undefined)
  assert.equal(segment?.stored_at, new Date(start + 5 * MINUTE).toISOString())
  await rounds.assertSame()
})

test('pieces that a gap or a segment divides do not merge with each other', async () => {
  const rounds = new Rounds()
  for (let i = 0; i < 3; i++) await rounds.add(['a'])
  const [piece] = rounds.lists.get('a') ?? []
  assert.ok(piece)
  const at = (offset: number) => ({ ...piece, start_offset: BigInt(offset), end_offset: BigInt(offset + 1) })
  const { piece: _, ...segment } = at(3)
  const rules = { maxPieceBytes: 1e9, olderThanMs: 0 }
  assert.deepEqual(planMerges('a', tailOf([at(0), at(1), at(5), at(6)]), rules), [])
  assert.deepEqual(planMerges('a', tailOf([at(1), at(2), segment, at(4), at(5)]), rules), [])
  const [merge] = planMerges('a', tailOf([segment, at(4), at(5), at(6), at(7)]), rules)
  assert.deepEqual([merge?.from, merge?.to, merge?.into.kind], [1, 5, 'piece'])
})

test('a list whose pieces cannot merge turns the oldest into segments, so that it has no more than 15', async () => {
  const rounds = new Rounds()
  await rounds.add(['a'])
  const [piece] = rounds.lists.get('a') ?? []
  assert.ok(piece)
  const apart = Array.from({ length: 20 }, (_, i) => ({
    ...piece,
    start_offset: BigInt(10 * i),
    end_offset: BigInt(10 * i + 1),
  }))
  const merges = planMerges('a', tailOf(apart), { maxPieceBytes: 1e9, olderThanMs: 0 })
  assert.deepEqual(
    merges.map(({ from, to, into }) => [from, to, into.kind]),
    [0, 1, 2, 3, 4].map(i => [i, i + 1, 'segment']),
  )
})

test('a pack that cannot be written fails every piece in it, and those only', async () => {
  const storage = openMemoryStorage()
  const failing: Storage = {
    ...storage,
    openWriter: (key, one) =>
      key.endsWith('-2.pack') ? Promise.reject(new Error('no space')) : storage.openWriter(key, one),
  }
  const now = () => new Date(start).toISOString()
  const packs = new PackSet(failing, { backupId: 'b', run: 'r', maxPieceBytes: 1e6, now }, signal)
  const write = async (list: string) => {
    const writer = packs.open(list, false, () => assert.fail())
    await writer.append([encodeRun(0n, 1)], factsFor(0n, 1), signal)
    return writer.hand(signal)
  }
  const first = await write('a')
  await packs.flush()
  assert.equal((await first.durable).piece?.pack.key, 'b/packs/r-1.pack')
  const others = [await write('b'), await write('c')]
  const failed = Promise.allSettled(others.map(({ durable }) => durable))
  await packs.flush()
  assert.deepEqual(
    (await failed).map(({ status }) => status),
    ['rejected', 'rejected'],
  )
})

test('a piece that grows while open pieces hold too much becomes a segment, and small ones stay pieces', async () => {
  const storage = openMemoryStorage()
  const now = () => new Date(start).toISOString()
  const options = { backupId: 'b', run: 'r', maxPieceBytes: 1e6, maxOpenBytes: 200_000, now }
  const packs = new PackSet(storage, options, signal)
  const write = async (list: string, valueBytes: number) => {
    const openSegment = () => SegmentWriter.open(storage, `b/kafka/t/0/${list}.log`, false, signal)
    const writer = packs.open(list, false, openSegment)
    await writer.append([encodeRun(0n, 1, { valueBytes })], factsFor(0n, 1), signal)
    return writer
  }
  const sizes = [150_000, 150_000, 1000]
  const writers = await Promise.all(sizes.map((bytes, i) => write(`l${i}`, bytes)))
  const handed = await Promise.all(writers.map(writer => writer.hand(signal)))
  const again = await (await write('l3', 150_000)).hand(signal)
  await packs.flush()
  const segments = await Promise.all([...handed, again].map(({ durable }) => durable))
  assert.deepEqual(
    segments.map(({ piece }) => piece !== undefined),
    [true, false, true, true],
  )
})

test('a slow store holds up those who add pieces, so that no more than two packs are in memory', async () => {
  const storage = openMemoryStorage()
  const gate = Promise.withResolvers<void>()
  const slow: Storage = { ...storage, openWriter: (key, one) => gate.promise.then(() => storage.openWriter(key, one)) }
  const now = () => new Date(start).toISOString()
  const options = { backupId: 'b', run: 'r', maxPieceBytes: 1e6, maxPackBytes: 100, now }
  const packs = new PackSet(slow, options, signal)
  const piece = { plain: Buffer.alloc(100), facts: factsFor(0n, 1), compressed: false }
  const added: Promise<Segment>[] = []
  const adding = (async () => {
    for (const list of ['a', 'b', 'c', 'd']) added.push((await storePiece(packs, { ...piece, list })).durable)
  })()
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(added.length, 2)
  gate.resolve()
  await adding
  await packs.flush()
  assert.equal((await Promise.all(added)).length, 4)
})

test('a piece that waits for its pack holds the memory of its frame, not of the records in it', async () => {
  const waiting: Buffer[] = []
  const packs = new PackSet(openMemoryStorage(), { backupId: 'b', run: 'r', maxPieceBytes: 1e6, now: () => '' }, signal)
  packs.add = async ({ stored }) => {
    waiting.push(stored)
    return new Promise<Segment>(() => undefined)
  }
  for (const bytes of [20_000, 200_000]) {
    await storePiece(packs, {
      list: 'a',
      plain: Buffer.alloc(bytes),
      facts: factsFor(0n, 1),
      compressed: true,
    })
  }
  assert.deepEqual(
    waiting.map(({ buffer }) => buffer.byteLength <= Buffer.poolSize),
    [true, true],
  )
})

test('a pack was stored when the store says, and by the clock of its writer if that is later or the store cannot say', async () => {
  const stored = async (storeMs: number, stat?: Storage['stat']) => {
    const memory = openMemoryStorage({ now: () => storeMs })
    const packs = new PackSet(
      { ...memory, ...(stat && { stat }) },
      { backupId: 'b', run: 'r', maxPieceBytes: 1e6, now },
      signal,
    )
    const { durable } = await storePiece(packs, {
      list: 'a',
      plain: encodeRun(0n, 1),
      facts: factsFor(0n, 1),
      compressed: false,
    })
    await packs.flush()
    return Date.parse((await durable).piece?.pack.stored_at ?? '')
  }
  assert.equal(await stored(start + MINUTE), start + MINUTE)
  assert.equal(await stored(start - MINUTE), start)
  for (const stat of [async () => undefined, () => Promise.reject(new Error('the store is away'))])
    assert.equal(await stored(start + MINUTE, stat), start)
})

test('pieces become old by the clock of the store also after the clock of their writer was stopped', async () => {
  let storeMs = start
  const memory = openMemoryStorage({ now: () => storeMs })
  const places = { backupId: 'b', newRun: () => 'r', nowMs: () => start }
  const store = new PieceStore(memory, places, { compression: 'none', segmentBytes: 1e6, mergeAfterMs: MINUTE })
  const add = async (run: string) => {
    const packs = store.openPacks(run, signal)
    await storePiece(packs, { list: 'a', plain: encodeRun(0n, 1), facts: factsFor(0n, 1), compressed: false })
    await packs.flush()
    return store.rules().olderThanMs
  }
  assert.equal(await add('r1'), start - MINUTE)
  storeMs += 3 * 24 * 60 * MINUTE
  assert.equal(await add('r2'), storeMs - MINUTE)
  storeMs = start - MINUTE
  assert.equal(await add('r3'), start - MINUTE)
})

test('near ranges are read at once, far and large ones for themselves', () => {
  const near = [
    { start: 0, end: 10 },
    { start: 20, end: 30 },
  ]
  assert.deepEqual(planWindows(near.toReversed()), [{ start: 0, end: 30 }])
  const far = { start: 1 << 20, end: (1 << 20) + 5 }
  assert.deepEqual(planWindows([...near, far]), [{ start: 0, end: 30 }, far])
  const large = { start: 30, end: 5 << 20 }
  assert.deepEqual(planWindows([...near, large]), [{ start: 0, end: 30 }, large])
})

/** Three pieces of 60 kB for each of 80 lists, in packs that are read in three windows each. */
async function storeLargePieces(memory: Storage): Promise<Map<string, { sources: Segment[]; expected: Buffer[] }>> {
  const lists = new Map<string, { sources: Segment[]; expected: Buffer[] }>()
  for (let i = 10; i < 90; i++) lists.set(`list${i}`, { sources: [], expected: [] })
  for (let round = 0; round < 3; round++) {
    const set = new PackSet(memory, { backupId: 'b', run: `r${round}`, maxPieceBytes: 1e6, now }, signal)
    const added = [...lists].map(async ([list, one]) => {
      const batch = encodeBatch({ baseOffset: BigInt(round), records: [{ value: randomBytes(60_000) }] })
      one.expected.push(batch)
      const piece = { list, plain: batch, facts: factsFor(BigInt(round), 1), compressed: true }
      return { one, durable: (await storePiece(set, piece)).durable }
    })
    const handed = await Promise.all(added)
    await set.flush()
    for (const { one, durable } of handed) one.sources.push(await durable)
  }
  return lists
}

const now = () => new Date(start).toISOString()

for (const into of [{ kind: 'segment' }, { kind: 'piece', level: 1 }] as const) {
  test(`pieces that lie in one window of a pack are read intact for a ${into.kind}, and its memory is freed behind them`, async () => {
    const memory = openMemoryStorage()
    const lists = await storeLargePieces(memory)
    const windows: Buffer[] = []
    let most = 0
    const readRange: Storage['readRange'] = async (...range) => {
      most = Math.max(most, windows.filter(({ length }) => length > 0).length)
      windows.push(await memory.readRange(...range))
      return windows.at(-1) as Buffer
    }
    const merges = [...lists].map(([list, { sources }]): Merge => ({ list, from: 0, to: 3, sources, into }))
    const openSegment = ({ list }: Merge) => SegmentWriter.open(memory, `b/kafka/t/${list}`, true, signal)
    const packs = new PackStream(memory, { backupId: 'b', run: 'm', maxPieceBytes: 1e6, now }, signal)
    const parts = { storage: { ...memory, readRange }, packs, compression: 'auto' as const, openSegment }
    const { merged, damaged } = await mergePieces(merges, parts, signal)
    assert.deepEqual(
      damaged.map(({ error }) => error.message),
      [],
    )
    // Segments are written four at a time: one that falls behind the others reads its window again.
    assert.ok(into.kind === 'piece' ? windows.length === 9 : windows.length >= 9, `${windows.length} windows`)
    assert.ok(windows.every(({ length }) => length === 0))
    // One for each pack, and while pieces across the ends of two are read, the next ones.
    if (into.kind === 'piece') assert.ok(most <= 5, `${most} windows were in memory`)
    for (const { list, result } of merged) {
      const found: Buffer[] = []
      for await (const bytes of readSegment(memory, result, signal)) found.push(Buffer.from(bytes))
      assert.ok(Buffer.concat(found).equals(Buffer.concat(lists.get(list)?.expected ?? [])), list)
    }
    assert.equal(merged.length, lists.size)
  })
}

test('two sets of packs with the same short name of a run write different objects', async () => {
  const storage = openMemoryStorage()
  let names = 0
  const places = { backupId: 'b', newRun: () => `more${names++}`, nowMs: () => start }
  const pieces = new PieceStore(storage, places, { compression: 'none', segmentBytes: 1 << 20, mergeAfterMs: MINUTE })
  // A year of rounds has more runs than half of the bits of such a name tell apart.
  for (let i = 0; i < 2; i++) {
    const packs = pieces.openPacks('0a0b0c0d', signal)
    const plain = encodeRun(0n, 1)
    const { durable } = await storePiece(packs, {
      list: 'a/0',
      plain,
      facts: factsFor(0n, 1),
      compressed: false,
    })
    await packs.flush()
    await durable
  }
  assert.equal(storage.objects.size, 2)
})
