import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newestState, openBackup } from '../../../src/archive/catalog.ts'
import { commitRepair } from '../../../src/archive/commit-repair.ts'
import { type ListPart, noChange, type TopicRow } from '../../../src/archive/log/change.ts'
import { keepGeneration } from '../../../src/archive/log/keep-generation.ts'
import { commitKey } from '../../../src/archive/log/keys.ts'
import { LogWriter } from '../../../src/archive/log/log-writer.ts'
import { diffRows, type ListRow, zeroRow } from '../../../src/archive/log/row-change.ts'
import { coverOf } from '../../../src/archive/log/salvage.ts'
import type { ManifestPartition, Segment } from '../../../src/archive/manifest.ts'
import { planRepair, type RepairReport } from '../../../src/archive/repair.ts'
import { verifyBackup } from '../../../src/archive/verify.ts'
import { copyBackup } from '../../../src/copy/copy-backup.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { plain } from '../../copy/copies.ts'
import { encodeRun } from '../../fakes/batches.ts'
import { openMemoryStorage } from '../../fakes/memory-storage.ts'
import { LogRun } from '../../retention/log-world.ts'
import { HOUR, World } from '../../retention/world.ts'
import { never, storeSegment } from '../sample-archive.ts'

const now = '2026-11-15T10:13:45.239Z'
const facts = { tool_version: '0', run: '0a0b0c0d', complete: true, created_at: now, started_at: now }
const common = { state: 'current' as const, internal: false, replication_factor: 1, configs: {} }
const compaction = { began_at: now, current_at: now, current_end: 10n, may_hold_deleted_keys: false }

/** What a commit adds to a list: ten records, and what is said of them. */
interface Step {
  list: string
  aborted?: Segment['aborted']
  row?: Partial<ListRow>
}

/** One commit for each array of steps; without checkpoints. The segments by the name of list and number. */
async function writeLog(
  storage: Storage,
  commits: readonly (readonly Step[])[],
  folderOf = (topic: string) => topic,
): Promise<Map<string, Segment>> {
  let names = 0
  const newRun = () => (names++).toString(16).padStart(8, '0')
  const options = { backupId: 'b', newRun, nowMs: () => Date.parse(now) }
  const log = await LogWriter.open(storage, { manifest: undefined }, options, never)
  const stored = new Map<string, Segment>()
  for (const steps of commits) {
    const topics = new Map<string, TopicRow>()
    const lists = new Map()
    for (const { list, aborted, row } of steps) {
      const [id = ''] = list.replace('reread/', '').split('/')
      const before = log.state.lists.get(list) ?? zeroRow
      const from = before.end_offset
      const folder = `b/kafka/${folderOf(`topic-${id}`)}/${list.split('/').at(-1)}`
      const key = `${folder}/${String(from).padStart(20, '0')}.${newRun()}.log`
      const plainSegment = await storeSegment(storage, key, [encodeRun(from, 10)], false)
      const segment = { ...plainSegment, ...(aborted && { aborted }) }
      stored.set(`${list}#${before.segments}`, segment)
      const sums = { records: before.records + 10, batches: before.batches + 1, segments: before.segments + 1 }
      const bytes = { bytes: before.bytes + segment.plain_size, stored_bytes: before.stored_bytes + segment.size }
      const end = { end_offset: from + 10n, high_watermark: from + 10n, last_stable_offset: from + 10n, last_epoch: 0 }
      const after = { ...before, ...sums, ...bytes, ...end, ...row }
      const parts = before.segments > 0 ? [[0, before.segments], segment] : [segment]
      lists.set(list, { isNew: before.segments === 0, row: diffRows(before, after), parts })
      if (before.segments === 0 && !log.state.topics.has(id)) topics.set(id, { name: `topic-${id}`, id, ...common })
    }
    await log.commit(facts, { ...noChange, topics, lists }, async () => undefined, never)
  }
  return stored
}

/** Cuts the first segments off a list and removes their objects, as retention does. */
async function trimList(storage: Storage, list: string, removed: readonly Segment[]): Promise<void> {
  const options = { backupId: 'b', newRun: () => 'fedcba98', nowMs: () => Date.parse(now) }
  const log = await LogWriter.open(storage, await newestState(storage, 'b', never), options, never)
  const before = log.state.lists.get(list) ?? assert.fail(list)
  const sum = (pick: (segment: Segment) => number) => removed.reduce((total, one) => total + pick(one), 0)
  const after = {
    ...before,
    start_offset: removed.at(-1)?.end_offset ?? before.start_offset,
    records: before.records - sum(one => one.records),
    batches: before.batches - sum(one => one.batches),
    bytes: before.bytes - sum(one => one.plain_size),
    stored_bytes: before.stored_bytes - sum(one => one.size),
    segments: before.segments - removed.length,
  }
  const parts = after.segments > 0 ? [[removed.length, before.segments] as [number, number]] : []
  const lists = new Map([[list, { isNew: false, row: diffRows(before, after), parts }]])
  await log.commit(facts, { ...noChange, lists }, async () => undefined, never)
  for (const { key } of removed) await storage.remove(key, never)
}

/** Commits a change of one list. */
async function changeList(
  storage: Storage,
  list: string,
  change: (before: ListRow) => { after: ListRow; parts: readonly ListPart[]; isNew?: boolean },
): Promise<void> {
  const options = { backupId: 'b', newRun: () => 'abcdef98', nowMs: () => Date.parse(now) }
  const log = await LogWriter.open(storage, await newestState(storage, 'b', never), options, never)
  const before = log.state.lists.get(list) ?? assert.fail(list)
  const { after, parts, isNew = false } = change(before)
  const row = diffRows(isNew ? zeroRow : before, after)
  await log.commit(
    facts,
    { ...noChange, lists: new Map([[list, { isNew, row, parts }]]) },
    async () => undefined,
    never,
  )
}

/** Adds ten records to a list. */
async function appendTo(storage: Storage, list: string): Promise<void> {
  const { topics } = await openBackup(storage, 'b', never)
  const { name, partitions } = topics[0] ?? assert.fail()
  const from = partitions[0]?.end_offset ?? assert.fail()
  const key = `b/kafka/${name}/0/${String(from).padStart(20, '0')}.appended.log`
  const segment = await storeSegment(storage, key, [encodeRun(from, 10)], false)
  await changeList(storage, list, before => ({
    after: {
      ...before,
      end_offset: from + 10n,
      records: before.records + 10,
      batches: before.batches + 1,
      bytes: before.bytes + segment.plain_size,
      stored_bytes: before.stored_bytes + segment.size,
      segments: before.segments + 1,
    },
    parts: [[0, before.segments], segment],
  }))
}

async function repair(storage: Storage, backupId = 'b'): Promise<RepairReport> {
  const options = { deep: false, onProgress: () => undefined, foundAt: now }
  const plan = await planRepair(storage, backupId, options, never)
  if (!plan.state) assert.fail('version 1')
  if (!plan.report.needed) return plan.report
  let names = 0
  const own = { toolVersion: '0', run: 'r', now, newName: () => `repair${names++}`, confirm: async () => undefined }
  return commitRepair(storage, plan, own, never)
}

async function partitionOf(storage: Storage, topic: string): Promise<ManifestPartition> {
  const { topics } = await openBackup(storage, 'b', never)
  return topics.find(one => one.id === topic)?.partitions[0] ?? assert.fail()
}

describe('the best cover of segments that overlap', () => {
  const segment = (start: number, end: number) =>
    ({ key: `${start}-${end}`, start_offset: BigInt(start), end_offset: BigInt(end) }) as Segment
  const cases: Record<string, [own: [number, number][], others: [number, number][], expected: string]> = {
    'takes the merged segment instead of what it was merged from': [
      [],
      [
        [0, 1],
        [1, 2],
        [0, 2],
        [2, 3],
      ],
      '0-2 2-3',
    ],
    'does not let a short segment hide a long one': [
      [],
      [
        [0, 4],
        [2, 10],
        [4, 6],
      ],
      '2-10',
    ],
    'keeps its own segments where others hold as much': [
      [
        [0, 2],
        [2, 4],
      ],
      [[0, 4]],
      '0-2 2-4',
    ],
    'fills a hole': [
      [
        [0, 2],
        [6, 8],
      ],
      [
        [2, 4],
        [4, 6],
        [2, 5],
      ],
      '0-2 2-4 4-6 6-8',
    ],
    'gives up its own segment for more offsets': [
      [[0, 37]],
      [
        [0, 30],
        [30, 60],
        [60, 80],
      ],
      '0-30 30-60 60-80',
    ],
  }
  for (const [name, [own, others, expected]] of Object.entries(cases)) {
    test(name, () => {
      const mine = own.map(range => segment(...range))
      const cover = coverOf([...mine, ...others.map(range => segment(...range))], new Set(mine))
      assert.equal(cover.map(({ key }) => key).join(' '), expected)
    })
  }
})

describe('a repair', () => {
  test('keeps transactions rolled back whose marker is in a segment that is lost', async () => {
    const storage = openMemoryStorage()
    const aborted = [{ producer_id: 7n, first_offset: 5n, last_offset: 15n }]
    const stored = await writeLog(storage, [
      [{ list: 'a/0', row: { open_aborted: [{ ...aborted[0], last_offset: null } as never] } }],
      [{ list: 'a/0', aborted, row: { open_aborted: [] } }],
      [{ list: 'a/0' }],
    ])
    await storage.remove(stored.get('a/0#1')?.key ?? '', never)
    await repair(storage)
    assert.deepEqual((await partitionOf(storage, 'a')).open_aborted, aborted)
  })

  test('keeps transactions rolled back whose marker was named by a lost commit, up to the end of the hole', async () => {
    const storage = openMemoryStorage()
    const open = { producer_id: 7n, first_offset: 5n, last_offset: null }
    await writeLog(storage, [
      [{ list: 'a/0', row: { open_aborted: [open] } }],
      [{ list: 'a/0', aborted: [{ ...open, last_offset: 15n }], row: { open_aborted: [] } }],
      [{ list: 'a/0' }],
    ])
    await storage.remove(commitKey('b', 2), never)
    const { lost } = await repair(storage)
    assert.deepEqual(lost, [{ topic: 'topic-a', partition: 0, from: 10n, to: 20n, at_end: false }])
    const { open_aborted, end_offset } = await partitionOf(storage, 'a')
    assert.deepEqual([open_aborted, end_offset], [[{ ...open, last_offset: 19n }], 30n])
  })

  test('counts what it commits where a later commit has merged what a lost one added', async () => {
    const storage = openMemoryStorage()
    const stored = await writeLog(storage, [[{ list: 'a/0' }], [{ list: 'a/0' }], [{ list: 'a/0' }]])
    const [first, second] = [stored.get('a/0#0') ?? assert.fail(), stored.get('a/0#1') ?? assert.fail()]
    const bytes = Buffer.concat([await storage.read(first.key, never), await storage.read(second.key, never)])
    const key = `b/kafka/topic-a/0/${'0'.repeat(20)}.merged.log`
    const merged = { ...(await storeSegment(storage, key, [bytes], false)), end_offset: 20n, batches: 2, records: 20 }
    const options = { backupId: 'b', newRun: () => 'fedcba98', nowMs: () => Date.parse(now) }
    const log = await LogWriter.open(storage, await newestState(storage, 'b', never), options, never)
    const before = log.state.lists.get('a/0') ?? assert.fail()
    const row = diffRows(before, { ...before, segments: 2 })
    const change = { ...noChange, lists: new Map([['a/0', { isNew: false, row, parts: [merged, [2, 3]] }]]) }
    await log.commit(facts, change as never, async () => undefined, never)
    await storage.remove(commitKey('b', 3), never)
    await storage.remove(commitKey('b', 2), never)
    await repair(storage)
    const { records, segments, end_offset } = await partitionOf(storage, 'a')
    assert.deepEqual({ records, segments, end_offset }, { records: 20, segments: 1, end_offset: 20n })
  })

  test('says that compacted partitions may hold deleted keys when records or commits are lost', async () => {
    for (const damage of ['segment', 'commit', 'last segment'] as const) {
      const storage = openMemoryStorage()
      const stored = await writeLog(storage, [
        [
          { list: 'a/0', row: { compaction } },
          { list: 'c/0', row: { compaction } },
        ],
        [{ list: 'a/0' }, { list: 'c/0' }],
        [{ list: 'a/0' }],
      ])
      const segment = stored.get(damage === 'segment' ? 'a/0#1' : 'a/0#2')?.key ?? ''
      await storage.remove(damage === 'commit' ? commitKey('b', 2) : segment, never)
      await repair(storage)
      const suspect = (topic: string) => partitionOf(storage, topic).then(one => one.compaction?.may_hold_deleted_keys)
      assert.equal(await suspect('a'), true, damage)
      // Of the other one only a lost commit may have lost something.
      assert.equal(await suspect('c'), damage === 'commit', damage)
    }
  })

  test('reports lists whose topic was named by a lost commit only, instead of dropping them', async () => {
    const storage = openMemoryStorage()
    await writeLog(storage, [[{ list: 'a/0' }], [{ list: 'a/0' }, { list: 'd/0' }], [{ list: 'a/0' }, { list: 'd/0' }]])
    await storage.remove(commitKey('b', 2), never)
    const { lost } = await repair(storage)
    const ofList = lost.filter(({ topic }) => topic !== 'topic-a')
    assert.deepEqual(ofList, [{ topic: 'topic-d', partition: 0, from: 10n, to: 20n, at_end: true }])
  })

  test('names the topic of such a list by its ID where names are hidden', async () => {
    const storage = openMemoryStorage()
    await writeLog(storage, [[{ list: 'a/0' }], [{ list: 'd/0' }], [{ list: 'd/0' }]], () => 'c0ffee'.padEnd(32, '0'))
    await storage.remove(commitKey('b', 2), never)
    const { lost, unnamed_topics } = await repair(storage)
    assert.deepEqual(lost, [{ topic: 'd', topic_id: 'd', partition: 0, from: 10n, to: 20n, at_end: true }])
    assert.deepEqual(unnamed_topics, [])
  })

  test('names topics that only a lost commit may have named by what the store has of them', async () => {
    const storage = openMemoryStorage()
    await writeLog(storage, [[{ list: 'a/0' }], [{ list: 'd/0' }], [{ list: 'a/0' }]])
    assert.deepEqual((await repair(storage)).unnamed_topics, [])
    await storage.remove(commitKey('b', 2), never)
    const { lost, lost_commits, unnamed_topics } = await repair(storage)
    assert.deepEqual([lost, lost_commits, unnamed_topics], [[], [{ from: 2, to: 2 }], ['topic-d']])
  })

  test('does not list what retention has cut off behind a lost commit, neither as readable nor as lost', async () => {
    const all = ['a/0#0', 'a/0#1', 'a/0#2', 'a/0#3']
    const cases: Record<string, { cuts: number[]; start: bigint; end: bigint; lost: [bigint, bigint][] }> = {
      'a part of it': { cuts: [2], start: 20n, end: 40n, lost: [[20n, 30n]] },
      'in two steps': { cuts: [1, 2], start: 20n, end: 40n, lost: [[20n, 30n]] },
      'what the lost commit has added': { cuts: [3], start: 30n, end: 40n, lost: [] },
      everything: { cuts: [4], start: 40n, end: 40n, lost: [] },
    }
    for (const [name, { cuts, start, end, lost }] of Object.entries(cases)) {
      const storage = openMemoryStorage()
      const stored = await writeLog(storage, [
        ...[[{ list: 'a/0' }], [{ list: 'a/0' }], [{ list: 'a/0' }], [{ list: 'a/0' }, { list: 'c/0' }]],
      ])
      let from = 0
      for (const to of cuts) {
        await trimList(
          storage,
          'a/0',
          all.slice(from, to).map(one => stored.get(one) ?? assert.fail(one)),
        )
        from = to
      }
      await storage.remove(commitKey('b', 3), never)
      const report = await repair(storage)
      assert.deepEqual(
        [report.lost_commits, report.problems.map(({ key }) => key)],
        [[{ from: 3, to: 3 }], [commitKey('b', 3)]],
        name,
      )
      assert.deepEqual(
        report.lost.map(one => [one.from, one.to]),
        lost,
        name,
      )
      const { start_offset, end_offset, gaps } = await partitionOf(storage, 'a')
      assert.deepEqual([start_offset, end_offset, gaps.map(one => [one.from, one.to])], [start, end, lost], name)
      const { ok, problems } = await verifyBackup(storage, 'b', { deep: false, onProgress: () => undefined }, never)
      assert.deepEqual([ok, problems], [true, []], name)
    }
  })

  test('knows what a lost commit has cut off where the next one counts fewer segments and their objects are gone', async () => {
    for (const next of ['a cut', 'an append'] as const) {
      const storage = openMemoryStorage()
      const steps = [[{ list: 'a/0' }], [{ list: 'a/0' }], [{ list: 'a/0' }]]
      const stored = await writeLog(storage, steps)
      const segment = (name: string) => stored.get(name) ?? assert.fail(name)
      await trimList(storage, 'a/0', [segment('a/0#0')])
      if (next === 'a cut') await trimList(storage, 'a/0', [segment('a/0#1')])
      else await appendTo(storage, 'a/0')
      await storage.remove(commitKey('b', 4), never)
      const { lost } = await repair(storage)
      assert.deepEqual(lost, [], next)
      const { start_offset, end_offset, records, gaps } = await partitionOf(storage, 'a')
      const expected = next === 'a cut' ? [20n, 30n, 10, []] : [10n, 40n, 30, []]
      assert.deepEqual([start_offset, end_offset, records, gaps], expected, next)
    }
  })

  test('says that retention may have cut off what is gone at the beginning where a lost commit may have done so', async () => {
    const cases: Record<string, { commit: boolean; object: 'gone' | 'cut short'; isSaid: boolean }> = {
      'a commit and the object are gone': { commit: true, object: 'gone', isSaid: true },
      'the object is there, and damaged': { commit: true, object: 'cut short', isSaid: false },
      'no commit is lost': { commit: false, object: 'gone', isSaid: false },
    }
    for (const [name, { commit, object, isSaid }] of Object.entries(cases)) {
      const storage = openMemoryStorage()
      const stored = await writeLog(storage, [
        ...[[{ list: 'a/0' }], [{ list: 'a/0' }], [{ list: 'c/0' }], [{ list: 'c/0' }]],
      ])
      const { key } = stored.get('a/0#0') ?? assert.fail()
      if (object === 'gone') await storage.remove(key, never)
      else await storage.replace(key, Buffer.from('short'), never)
      if (commit) await storage.remove(commitKey('b', 3), never)
      const { lost } = await repair(storage)
      const [first] = lost.filter(({ topic }) => topic === 'topic-a')
      const range = { topic: 'topic-a', partition: 0, from: 0n, to: 10n, at_end: false }
      assert.deepEqual(first, { ...range, ...(isSaid && { may_be_cut_off: true }) }, name)
      assert.deepEqual(
        (await partitionOf(storage, 'a')).gaps.map(({ from, to }) => [from, to]),
        [[0n, 10n]],
        name,
      )
    }
  })

  test('does not take what a lost commit has merged for something that retention has cut off', async () => {
    // The last one may lie in a pack that other lists need, or the store protects it.
    for (const removed of [2, 1]) {
      const storage = openMemoryStorage()
      const stored = await writeLog(storage, [[{ list: 'a/0' }], [{ list: 'a/0' }], [{ list: 'a/0' }]])
      const sources = ['a/0#0', 'a/0#1'].map(name => stored.get(name) ?? assert.fail(name))
      const bytes = Buffer.concat(await Promise.all(sources.map(({ key }) => storage.read(key, never))))
      const key = `b/kafka/topic-a/0/${'0'.repeat(20)}.merged.log`
      const merged = { ...(await storeSegment(storage, key, [bytes], false)), end_offset: 20n, batches: 2, records: 20 }
      await changeList(storage, 'a/0', before => ({ after: { ...before, segments: 2 }, parts: [merged, [2, 3]] }))
      await appendTo(storage, 'a/0')
      for (const one of sources.slice(0, removed)) await storage.remove(one.key, never)
      await storage.remove(commitKey('b', 4), never)
      const { lost } = await repair(storage)
      const range = { topic: 'topic-a', partition: 0, from: 0n, to: 10n * BigInt(removed), at_end: false }
      assert.deepEqual(lost, [{ ...range, may_be_cut_off: true }], `${removed} are gone`)
    }
  })

  test('adds cuts of retention to the right start where a lost commit has put a reread in the place of a list', async () => {
    const storage = openMemoryStorage()
    await writeLog(storage, [[{ list: 'a/0', row: { compaction } }], [{ list: 'a/0' }], [{ list: 'a/0' }]])
    // The reread has other segments than the list that it replaces: from 0 to 15 and from 15 to 30.
    const reread: Segment[] = []
    for (const from of [0n, 15n]) {
      const key = `b/kafka/topic-a/0/${String(from).padStart(20, '0')}.reread00.log`
      reread.push(await storeSegment(storage, key, [encodeRun(from, 15)], false))
    }
    await changeList(storage, 'a/0', before => ({ after: { ...before, segments: 2 }, parts: reread, isNew: true }))
    await appendTo(storage, 'a/0')
    for (const segment of reread) await trimList(storage, 'a/0', [segment])
    await storage.remove(commitKey('b', 4), never)
    const { lost } = await repair(storage)
    assert.deepEqual(lost, [])
    const { start_offset, end_offset, records, gaps } = await partitionOf(storage, 'a')
    assert.deepEqual([start_offset, end_offset, records, gaps], [30n, 40n, 10, []])
  })

  test('begins with the first segment of a list that a later commit has merged, though a lost one has put a reread there', async () => {
    const storage = openMemoryStorage()
    await writeLog(storage, [[{ list: 'a/0', row: { compaction } }], [{ list: 'a/0' }], [{ list: 'a/0' }]])
    const reread: Segment[] = []
    for (const from of [10n, 20n]) {
      const key = `b/kafka/topic-a/0/${String(from).padStart(20, '0')}.reread00.log`
      reread.push(await storeSegment(storage, key, [encodeRun(from, 10)], false))
    }
    const start = { start_offset: 10n, records: 20, segments: 2 }
    await changeList(storage, 'a/0', before => ({ after: { ...before, ...start }, parts: reread, isNew: true }))
    const key = `b/kafka/topic-a/0/${'10'.padStart(20, '0')}.merged00.log`
    const batches = [encodeRun(10n, 10), encodeRun(20n, 10)]
    const merged = await storeSegment(storage, key, batches, false)
    await changeList(storage, 'a/0', before => ({ after: { ...before, segments: 1 }, parts: [merged] }))
    await storage.remove(commitKey('b', 4), never)
    const { lost } = await repair(storage)
    const { start_offset, end_offset, records, gaps } = await partitionOf(storage, 'a')
    assert.deepEqual([lost, start_offset, end_offset, records, gaps], [[], 10n, 30n, 20, []])
  })

  test('begins with the state that later commits name, though its own commit and all before it are gone', async () => {
    const world = new World()
    await (await LogRun.open(world, 'a')).rounds(10, HOUR)
    await world.prune({ graceMs: 0, olderThanMs: 5.5 * HOUR })
    world.clock.pass(HOUR)
    await (await LogRun.open(world, 'a')).rounds(2, HOUR)
    await world.prune({ graceMs: 2.5 * HOUR })
    const { storage } = world
    const cut = commitKey('a', 11)
    assert.equal(world.keys('a/commits/')[0], cut, 'it has cut off something, and is the oldest that is left')
    const truth = await openBackup(storage, 'a', never)
    await storage.remove(cut, never)
    const { base, lost_commits, lost, generation } = await repair(storage, 'a')
    assert.deepEqual([base, lost_commits, generation], [10, [{ from: 11, to: 11 }], truth.generation + 1])
    assert.deepEqual(lost, [])
    const { topics } = await openBackup(storage, 'a', never)
    const ranges = (all: typeof topics) =>
      all.flatMap(({ partitions }) => partitions.map(one => [one.start_offset, one.end_offset, one.records]))
    assert.deepEqual(ranges(topics), ranges(truth.topics))
  })

  test('keeps what can be read of a list that began in a lost commit, also behind a cut of retention', async () => {
    const storage = openMemoryStorage()
    const steps = [[{ list: 'a/0' }], [{ list: 'a/0' }, { list: 'a/1' }], [{ list: 'a/1' }], [{ list: 'a/1' }]]
    const stored = await writeLog(storage, steps)
    await trimList(storage, 'a/1', [stored.get('a/1#0') ?? assert.fail()])
    await storage.remove(commitKey('b', 2), never)
    await repair(storage)
    const { topics } = await openBackup(storage, 'b', never)
    const list = topics[0]?.partitions.find(({ partition }) => partition === 1) ?? assert.fail()
    assert.deepEqual([list.start_offset, list.end_offset, list.records], [10n, 30n, 20])
  })

  test('loses nothing where the newest generation that opens is one that retention keeps in the place of a damaged commit', async () => {
    const storage = openMemoryStorage()
    await writeLog(storage, [[{ list: 'a/0' }], [{ list: 'a/0' }], [{ list: 'a/0' }], [{ list: 'a/0' }]])
    await keepGeneration(storage, 'b', 3, never)
    await storage.replace(commitKey('b', 3), Buffer.from('not a commit'), never)
    const { base, lost, lost_commits } = await repair(storage)
    assert.deepEqual([base, lost, lost_commits], [3, [], []])
    const { records, end_offset } = await partitionOf(storage, 'a')
    assert.deepEqual([records, end_offset], [40, 40n])
  })

  test('names the commit of another log in the place of one, and loses what that one has added', async () => {
    for (const exchanged of [3, 4, 5]) {
      const [storage, other] = [openMemoryStorage(), openMemoryStorage()]
      const steps = [[{ list: 'a/0' }], [{ list: 'a/0' }], [{ list: 'a/0' }], [{ list: 'a/0' }], [{ list: 'a/0' }]]
      await writeLog(storage, steps)
      await writeLog(other, [[{ list: 'c/0' }], ...steps.slice(1)])
      const key = commitKey('b', exchanged)
      await storage.replace(key, await other.read(key, never), never)
      const { problems, unreadable_generations } = await verifyBackup(
        storage,
        'b',
        { deep: true, onProgress: () => undefined },
        never,
      )
      assert.deepEqual(
        problems.map(one => one.key),
        [key],
      )
      assert.deepEqual(unreadable_generations, [{ from: exchanged, to: 5 }])
      const { lost_commits, base } = await repair(storage)
      assert.deepEqual([base, lost_commits], [exchanged - 1, [{ from: exchanged, to: exchanged }]])
      const { records, gaps, end_offset } = await partitionOf(storage, 'a')
      const expected =
        exchanged === 5 ? [40, [], 40n] : [40, [[10n * BigInt(exchanged - 1), 10n * BigInt(exchanged)]], 50n]
      assert.deepEqual([records, gaps.map(({ from, to }) => [from, to]), end_offset], expected)
    }
  })

  test('that is not needed names a damaged commit that retention has replaced', async () => {
    const storage = openMemoryStorage()
    await writeLog(storage, [[{ list: 'a/0' }], [{ list: 'a/0' }]])
    await keepGeneration(storage, 'b', 2, never)
    await storage.replace(commitKey('b', 2), Buffer.from('not a commit'), never)
    const { needed, problems } = await repair(storage)
    assert.deepEqual([needed, problems.map(({ key }) => key)], [false, [commitKey('b', 2)]])
    assert.match(problems[0]?.problem ?? '', /still readable through b\/kept\/000000000002\.json\.zst/)
  })

  test('that took pieces from older generations is continued, and these are merged again', async () => {
    for (const rounds of [24, 60]) {
      const world = new World()
      await (await LogRun.open(world, 'a')).rounds(rounds, HOUR / 6)
      const { storage } = world
      const listOf = async () => {
        const { topics } = await openBackup(storage, 'a', never)
        return (await topics[0]?.partitions[0]?.list?.read(never)) ?? []
      }
      const [longest] = (await listOf()).toSorted((a, b) => b.records - a.records)
      await storage.remove(longest?.key ?? '', never)
      const { lost, from_older, lost_commits } = await repair(storage, 'a')
      assert.deepEqual([lost, lost_commits, from_older.length > 0], [[], [], true])
      await (await LogRun.open(world, 'a')).rounds(60, HOUR / 6)
      const segments = await listOf()
      assert.ok(segments.filter(({ piece }) => piece).length <= 16, `${segments.length} segments`)
      const { topics } = await openBackup(storage, 'a', never)
      for (const { records, end_offset, gaps } of topics[0]?.partitions ?? []) {
        assert.deepEqual([records, end_offset, gaps], [10 * (rounds + 60), 10n * BigInt(rounds + 60), []])
      }
      const deep = { deep: true, onProgress: () => undefined, generation: rounds + 61 }
      const { problems } = await verifyBackup(storage, 'a', deep, never)
      assert.deepEqual(
        problems.filter(({ key }) => key !== longest?.key),
        [],
      )
    }
  })

  test('drops a reread that has lost something, though nothing else is lost, so that it begins again', async () => {
    const storage = openMemoryStorage()
    const stored = await writeLog(storage, [
      [{ list: 'a/0', row: { compaction } }],
      [{ list: 'reread/a/0' }],
      [{ list: 'reread/a/0' }],
    ])
    await storage.remove(stored.get('reread/a/0#0')?.key ?? '', never)
    const { needed, generation, problems } = await repair(storage)
    assert.deepEqual([needed, generation, problems.length], [true, 4, 1])
    const { reread, records } = await partitionOf(storage, 'a')
    assert.deepEqual([reread, records], [undefined, 10])
    assert.equal((await repair(storage)).needed, false)
  })

  test('drops a reread that began in a lost commit, because what it holds before its first segment is not known', async () => {
    const storage = openMemoryStorage()
    await writeLog(storage, [
      [{ list: 'a/0', row: { compaction } }],
      [{ list: 'a/0' }, { list: 'reread/a/0' }],
      [{ list: 'a/0' }, { list: 'reread/a/0' }],
    ])
    await storage.remove(commitKey('b', 2), never)
    await repair(storage)
    const { reread, records } = await partitionOf(storage, 'a')
    assert.deepEqual([reread, records], [undefined, 20])
    assert.equal((await repair(storage)).needed, false)
  })

  test('of a copy says that a copied generation is lost, though its commit can be read', async () => {
    const world = new World()
    const run = await LogRun.open(world, 'a')
    const target = openMemoryStorage()
    for (const rounds of [3, 1, 4]) {
      await run.rounds(rounds, HOUR)
      await copyBackup({ source: world.storage, target }, 'a', plain, never)
    }
    // The copies are generations 3, 4 and 8; the checkpoint of the last is lost.
    const checkpoint = [...target.objects.keys()].find(key => /checkpoints\/000000000007\.\w+\.json/.test(key))
    await target.remove(checkpoint ?? assert.fail(), never)
    const { lost_commits, base, generation } = await repair(target, 'a')
    assert.deepEqual({ lost_commits, base, generation }, { lost_commits: [{ from: 8, to: 8 }], base: 4, generation: 9 })
    const { topics, complete } = await openBackup(target, 'a', never)
    assert.deepEqual([topics[0]?.partitions[0]?.end_offset, complete], [40n, false])
  })
})
