import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBackup, readGeneration, scanGenerations } from '../../../src/archive/catalog.ts'
import { commitRepair } from '../../../src/archive/commit-repair.ts'
import { manifestKey } from '../../../src/archive/layout.ts'
import { type ListChange, noChange } from '../../../src/archive/log/change.ts'
import { commitKey } from '../../../src/archive/log/keys.ts'
import { LogWriter } from '../../../src/archive/log/log-writer.ts'
import { logMarker } from '../../../src/archive/log/marker.ts'
import { diffRows, zeroRow } from '../../../src/archive/log/row-change.ts'
import type { Segment } from '../../../src/archive/manifest.ts'
import { planRepair, type RepairReport } from '../../../src/archive/repair.ts'
import { readSegment } from '../../../src/archive/segment-reader.ts'
import { withSegment } from '../../../src/archive/summary.ts'
import { type VerifyReport, verifyBackup } from '../../../src/archive/verify.ts'
import { hasCode } from '../../../src/errors.ts'
import { encodeRun } from '../../fakes/batches.ts'
import { type MemoryStorage, openMemoryStorage } from '../../fakes/memory-storage.ts'

const { signal } = new AbortController()
const now = '2026-11-15T10:13:45.239Z'
const facts = { tool_version: '0', run: '0a0b0c0d', complete: true, created_at: now, started_at: now }
const ids = ['a', 'b', 'c'].map(one => one.repeat(32))
const ROUNDS = 30

/** Three partitions of three topics that get a record in each round; merges, roll-ups and one checkpoint are made as a writer does. */
async function writtenBackup({ complete } = { complete: true }): Promise<MemoryStorage> {
  const storage = openMemoryStorage()
  let names = 0
  const newRun = () => (names++).toString(16).padStart(8, '0')
  const pieces = { compression: 'none' as const, segmentBytes: 1 << 20, mergeAfterMs: 3_600_000 }
  const options = { backupId: 'b', pieces, newRun, nowMs: () => Date.parse(now) }
  const log = await LogWriter.open(storage, { manifest: undefined }, options, signal)
  const common = { state: 'current' as const, internal: false, replication_factor: 1, configs: {} }
  const topics = new Map(ids.map((id, i) => [id, { name: `topic-${i}`, id, ...common }]))
  for (let round = 0; round < ROUNDS; round++) {
    const packs = log.openPacks(newRun(), signal) ?? assert.fail()
    const handed: [string, Promise<Segment>][] = []
    for (const id of ids) {
      const from = BigInt(round)
      const writer = packs.open(`${id}/0`, false, () => assert.fail())
      const counts = { startOffset: from, endOffset: from + 1n, batches: 1, records: 1, abortedRecords: 0 }
      const batch = encodeRun(from, 1, { valueBytes: 50 })
      const time = batch.readBigInt64BE(35)
      await writer.append([batch], { ...counts, firstTimestamp: time, lastTimestamp: time, aborted: [] }, signal)
      handed.push([`${id}/0`, (await writer.hand(signal)).durable])
    }
    await packs.flush()
    const lists = new Map<string, ListChange>()
    for (const [list, durable] of handed) {
      const [row, segment] = [log.state.lists.get(list), await durable]
      const {
        partition: _,
        indexes: __,
        ...after
      } = withSegment({ partition: 0, indexes: [], ...(row ?? zeroRow) }, segment, 0, [])
      lists.set(list, {
        isNew: !row,
        row: diffRows(row ?? zeroRow, after),
        parts: row ? [[0, row.segments], segment] : [segment],
      })
    }
    await log.commit(
      { ...facts, complete },
      { ...noChange, topics: round === 0 ? topics : noChange.topics, lists },
      async () => undefined,
      signal,
    )
    await log.tidy(signal)
    if (round === 19) await log.checkpoint(signal)
  }
  return storage
}

const options = { deep: true, onProgress: () => {} }

async function repair(storage: MemoryStorage): Promise<RepairReport> {
  const plan = await planRepair(storage, 'b', { ...options, foundAt: now }, signal)
  if (!plan.state) assert.fail('version 1')
  if (!plan.report.needed) return plan.report
  let names = 0
  const newName = () => `repair${names++}`
  return commitRepair(
    storage,
    plan,
    { toolVersion: '0', run: 'r', now, newName, confirm: async () => undefined },
    signal,
  )
}

function verify(storage: MemoryStorage): Promise<VerifyReport> {
  return verifyBackup(storage, 'b', options, signal)
}

function keys(storage: MemoryStorage, part: string): string[] {
  return [...storage.objects.keys()].filter(key => key.includes(part)).sort()
}

/** The offsets that the newest generation has of each topic. */
async function offsetsOf(storage: MemoryStorage): Promise<Map<string, bigint[]>> {
  const { topics } = await openBackup(storage, 'b', signal)
  const found = new Map<string, bigint[]>()
  for (const { name, partitions } of topics) {
    const offsets: bigint[] = []
    for (const segment of (await partitions[0]?.list?.read(signal)) ?? []) {
      for await (const bytes of readSegment(storage, segment, signal)) {
        for (let at = 0; at < bytes.length; at += 12 + bytes.readInt32BE(at + 8)) offsets.push(bytes.readBigInt64BE(at))
      }
    }
    found.set(name, offsets)
  }
  return found
}

const damages: Record<string, (storage: MemoryStorage, key: string) => Promise<void>> = {
  deleted: (storage, key) => storage.remove(key, signal),
  flipped: async (storage, key) => {
    const bytes = Buffer.from(await storage.read(key, signal))
    const at = bytes.length >> 1
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
    await storage.replace(key, bytes, signal)
  },
  truncated: async (storage, key) => {
    const bytes = await storage.read(key, signal)
    await storage.replace(key, bytes.subarray(0, bytes.length - 5), signal)
  },
  swapped: async (storage, key) => {
    const folder = key.slice(0, key.indexOf('/', 2) + 1)
    const other = keys(storage, folder).find(one => one !== key) ?? keys(storage, '/commits/')[0] ?? assert.fail()
    await storage.replace(key, await storage.read(other, signal), signal)
  },
}

const objects: Record<string, (storage: MemoryStorage) => string | undefined> = {
  'the commit before the newest': () => commitKey('b', ROUNDS - 1),
  'the newest roll-up': storage => keys(storage, '/rollups/').at(-1),
  'the first roll-up': storage => keys(storage, '/rollups/')[0],
  'the checkpoint': storage => keys(storage, '/checkpoints/').find(key => !/-\d+\.json/.test(key)),
  'a page of the checkpoint': storage => keys(storage, '/checkpoints/').find(key => /-\d+\.json/.test(key)),
  'the newest pack': storage => keys(storage, '/packs/').at(-1),
  'the pack of the first round': storage => keys(storage, '/packs/')[0],
}

for (const [damage, act] of Object.entries(damages)) {
  for (const [object, find] of Object.entries(objects)) {
    test(`repairs a backup after ${object} was ${damage}, and loses nothing that is intact`, async () => {
      const storage = await writtenBackup()
      const honest = await offsetsOf(storage)
      const key = find(storage) ?? assert.fail(object)
      await act(storage, key)
      const before = await verify(storage)
      const report = await repair(storage)
      if (!report.needed) {
        // Only generations that are not the newest need it.
        assert.deepEqual(await offsetsOf(storage), honest)
        return
      }
      assert.equal(before.ok, false)
      assert.ok(
        before.problems.some(one => one.key === key),
        JSON.stringify(before.problems),
      )
      assert.equal(report.generation, ROUNDS + 1)
      const { topics } = await openBackup(storage, 'b', signal)
      const after = await offsetsOf(storage)
      for (const { name, partitions } of topics) {
        const lost = report.lost.filter(one => one.topic === name)
        const isLost = (offset: bigint) => lost.some(({ from, to }) => offset >= from && offset < to)
        assert.deepEqual(
          after.get(name),
          honest.get(name)?.filter(offset => !isLost(offset)),
          name,
        )
        const gaps = partitions[0]?.gaps.map(({ from, to, reason }) => ({ from, to, reason })) ?? []
        const holes = lost.filter(one => !one.at_end).map(({ from, to }) => ({ from, to, reason: 'damaged' }))
        assert.deepEqual(gaps, holes)
      }
      const newest = await verifyBackup(storage, 'b', { ...options, deep: false }, signal)
      assert.deepEqual({ ok: newest.ok, problems: newest.problems }, { ok: true, problems: [] })
      assert.equal((await repair(storage)).needed, false)
    })
  }
}

test('the generations that need a lost commit are named, and those that a roll-up covers are not among them', async () => {
  const early = await writtenBackup()
  await early.remove(commitKey('b', ROUNDS - 4), signal)
  assert.deepEqual((await verify(early)).unreadable_generations, [{ from: ROUNDS - 3, to: ROUNDS - 2 }])
  const storage = await writtenBackup()
  await storage.remove(commitKey('b', ROUNDS - 1), signal)
  const { unreadable_generations, problems } = await verify(storage)
  assert.deepEqual(problems, [{ key: commitKey('b', ROUNDS - 1), problem: 'it is missing' }])
  assert.deepEqual(unreadable_generations, [{ from: ROUNDS, to: ROUNDS }])
  const report = await repair(storage)
  assert.deepEqual(report.lost_commits, [{ from: ROUNDS - 1, to: ROUNDS - 1 }])
  assert.equal(report.base, ROUNDS - 2)
})

test('a page that is lost together with the commits before it costs its lists only what no later commit names', async () => {
  const storage = await writtenBackup()
  for (let generation = 1; generation <= 20; generation++) await storage.remove(commitKey('b', generation), signal)
  for (const key of keys(storage, '/checkpoints/').filter(one => /-\d+\.json/.test(one)))
    await storage.remove(key, signal)
  const report = await repair(storage)
  assert.equal(report.base, ROUNDS)
  assert.ok(report.lost.length > 0)
  const after = await offsetsOf(storage)
  for (const offsets of after.values()) assert.ok(offsets.length >= 10, `${offsets.length} records`)
  assert.equal((await verifyBackup(storage, 'b', { ...options, deep: false }, signal)).ok, true)
})

/** The longest piece that the newest generation has of the first topic. Its pack holds pieces of the others, too. */
async function mergedPiece(storage: MemoryStorage): Promise<Segment> {
  const { topics } = await openBackup(storage, 'b', signal)
  const segments = (await topics[0]?.partitions[0]?.list?.read(signal)) ?? []
  const [longest] = segments.toSorted((a, b) => Number(b.end_offset - b.start_offset - a.end_offset + a.start_offset))
  if (!longest || longest.end_offset - longest.start_offset < 4n) assert.fail('nothing was merged')
  return longest
}

test('takes what a lost pack held from the packs that it was merged from, which older generations name', async () => {
  const storage = await writtenBackup()
  const honest = await offsetsOf(storage)
  const { key } = await mergedPiece(storage)
  const { topics } = await openBackup(storage, 'b', signal)
  const held = await Promise.all(
    topics.map(async ({ name: topic, partitions }) => {
      const segments = (await partitions[0]?.list?.read(signal)) ?? []
      const lost = segments.filter(one => one.key === key)
      return lost.map(({ start_offset: from, end_offset: to }) => ({ topic, partition: 0, from, to }))
    }),
  )
  await storage.remove(key, signal)
  const { needed, lost, lost_commits, from_older } = await repair(storage)
  assert.deepEqual({ needed, lost, lost_commits }, { needed: true, lost: [], lost_commits: [] })
  assert.deepEqual(from_older, held.flat())
  assert.deepEqual(await offsetsOf(storage), honest)
  const { ok, problems } = await verifyBackup(storage, 'b', options, signal)
  assert.deepEqual({ ok, problems }, { ok: true, problems: [] })
  assert.equal((await openBackup(storage, 'b', signal)).complete, true)
  assert.equal((await repair(storage)).needed, false)
})

test('only offsets that no readable generation holds become a gap', async () => {
  const storage = await writtenBackup()
  const honest = await offsetsOf(storage)
  const merged = await mergedPiece(storage)
  // What the older generations hold of offset 2: the pack of its round, and all that were merged from it.
  await damages.flipped?.(storage, merged.key)
  const { commits } = await scanGenerations(storage, 'b', signal)
  for (const generation of commits) {
    const { topics } = await readGeneration(storage, 'b', generation, signal)
    for (const { partitions } of topics) {
      for (const { start_offset, end_offset, key } of (await partitions[0]?.list?.read(signal)) ?? []) {
        if (start_offset <= 2n && 2n < end_offset) await storage.remove(key, signal)
      }
    }
  }
  const { lost } = await repair(storage)
  assert.deepEqual(
    lost.map(({ from, to, at_end }) => ({ from, to, at_end })),
    ids.map(() => ({ from: 2n, to: 3n, at_end: false })),
  )
  const after = await offsetsOf(storage)
  for (const [topic, offsets] of honest)
    assert.deepEqual(
      after.get(topic),
      offsets.filter(one => one !== 2n),
    )
})

test('a repair of a generation that is not complete commits one that is not complete', async () => {
  const storage = await writtenBackup({ complete: false })
  await storage.remove(keys(storage, '/rollups/').at(-1) ?? assert.fail(), signal)
  const { lost, lost_commits, needed } = await repair(storage)
  assert.deepEqual({ lost, lost_commits, needed }, { lost: [], lost_commits: [], needed: true })
  assert.equal((await openBackup(storage, 'b', signal)).complete, false)
})

test('without the newest commit the backup ends where the one before it did, and the next run continues there', async () => {
  const storage = await writtenBackup()
  await damages.flipped?.(storage, commitKey('b', ROUNDS))
  const { lost, lost_commits, generation } = await repair(storage)
  assert.deepEqual(
    { lost, lost_commits, generation },
    { lost: [], lost_commits: [{ from: ROUNDS, to: ROUNDS }], generation: ROUNDS + 1 },
  )
  const { topics, complete } = await openBackup(storage, 'b', signal)
  assert.equal(complete, false)
  for (const { partitions } of topics) assert.equal(partitions[0]?.end_offset, BigInt(ROUNDS - 1))
})

test('a lost roll-up loses nothing, since the commits are there', async () => {
  const storage = await writtenBackup()
  await storage.remove(keys(storage, '/rollups/').at(-1) ?? assert.fail(), signal)
  assert.equal((await verify(storage)).ok, false)
  const { lost, lost_commits, needed } = await repair(storage)
  assert.deepEqual({ lost, lost_commits, needed }, { lost: [], lost_commits: [], needed: true })
})

test('a replayed older commit in the place of a newer one is found and repaired', async () => {
  const storage = await writtenBackup()
  await storage.replace(commitKey('b', ROUNDS - 1), await storage.read(commitKey('b', ROUNDS - 2), signal), signal)
  assert.equal((await verify(storage)).ok, false)
  assert.equal((await repair(storage)).generation, ROUNDS + 1)
  assert.equal((await verifyBackup(storage, 'b', { ...options, deep: false }, signal)).ok, true)
})

test('an intact backup needs no repair, and one without a readable generation cannot be repaired', async () => {
  const storage = await writtenBackup()
  assert.equal((await repair(storage)).needed, false)
  const lost = openMemoryStorage()
  await lost.create(manifestKey('b', 1), logMarker, signal)
  await lost.create(commitKey('b', 1), Buffer.from('not a commit'), signal)
  await assert.rejects(repair(lost), error => hasCode(error, 'ARCHIVE_DAMAGED'))
})
