import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeBackup } from '../../../src/archive/describe.ts'
import { listBackups } from '../../../src/archive/list-backups.ts'
import { type Change, type ListChange, noChange } from '../../../src/archive/log/change.ts'
import { CommitLog } from '../../../src/archive/log/commit-log.ts'
import { PackSet } from '../../../src/archive/log/pack-set.ts'
import { diffRows, zeroRow } from '../../../src/archive/log/row-change.ts'
import { beginLog } from '../../../src/archive/log/start-log.ts'
import { withSegment } from '../../../src/archive/summary.ts'
import { type VerifyReport, verifyBackup } from '../../../src/archive/verify.ts'
import { formatJson } from '../../../src/lib/json.ts'
import { encodeRun } from '../../fakes/batches.ts'
import { type MemoryStorage, openMemoryStorage } from '../../fakes/memory-storage.ts'
import { factsOf, never, storePartitions } from '../sample-archive.ts'

const facts = {
  tool_version: '0.2.0',
  run: '0a0b0c0d',
  complete: true,
  created_at: '2026-11-15T10:13:45.239Z',
  started_at: '2026-11-15T10:13:40.239Z',
}

/** Two partitions of version 1, continued by one pack with a piece of each, and a checkpoint of both. */
async function continuedBackup(): Promise<MemoryStorage> {
  const storage = openMemoryStorage()
  const before = await storePartitions(storage, [[[encodeRun(0n, 3)]], [[encodeRun(0n, 4)]]], true)
  const start = await beginLog(storage, 'b1', before, 'w1', never)
  let names = 2
  const log = new CommitLog(storage, 'b1', () => `w${names++}`, start)
  const now = () => facts.created_at
  const packs = new PackSet(storage, { backupId: 'b1', run: facts.run, maxPieceBytes: 1e6, now }, never)
  const writing = ['id-orders/0', 'id-orders/1'].map(async list => {
    const row = start.state.lists.get(list) ?? zeroRow
    const batch = encodeRun(row.end_offset, 2)
    const writer = packs.open(list, false, () => assert.fail())
    await writer.append([batch], factsOf([batch]), never)
    return { list, row, ...(await writer.hand(never)) }
  })
  const handed = await Promise.all(writing)
  await packs.flush()
  const appends = handed.map(async ({ list, row, durable }): Promise<[string, ListChange]> => {
    const segment = await durable
    const { partition: _, indexes: __, ...after } = withSegment({ partition: 0, indexes: [], ...row }, segment, 0, [])
    return [list, { isNew: false, row: diffRows(row, after), parts: [[0, row.segments], segment] }]
  })
  const change: Change = { ...noChange, lists: new Map(await Promise.all(appends)) }
  await log.commit(facts, change, never)
  await log.checkpoint(never)
  await log.commit(facts, noChange, never)
  return storage
}

function verify(storage: MemoryStorage, deep: boolean): Promise<VerifyReport> {
  return verifyBackup(storage, 'b1', { deep, onProgress: () => {} }, never)
}

function keyOf(storage: MemoryStorage, part: string): string {
  return [...storage.objects.keys()].find(key => key.includes(part)) ?? assert.fail()
}

test('verify finds nothing wrong with a backup that was continued as version 2, and counts its objects once', async () => {
  const storage = await continuedBackup()
  for (const deep of [false, true]) {
    const { ok, problems, records, generation, objects } = await verify(storage, deep)
    assert.deepEqual({ ok, problems, records, generation }, { ok: true, problems: [], records: 11, generation: 3 })
    // Two segments of version 1, a pack, and the commit.
    assert.equal(objects, 4)
  }
})

test('describe and list say of version 2 what they say of version 1, and nothing of its inside', async () => {
  const storage = await continuedBackup()
  const description = await describeBackup(storage, 'b1', {}, never)
  assert.deepEqual(description.generations, [1, 2, 3])
  assert.equal(description.totals.records, 11)
  assert.doesNotMatch(formatJson(description), /"list"|"indexes"/)
  assert.ok(description.topics.every(({ partitions }) => partitions.every(one => !('list' in one))))
  const [row] = await listBackups(storage, never)
  assert.ok(row && 'generation' in row && row.generation === 3, formatJson(row))
})

test('a pack that is missing is one problem, however many pieces it had', async () => {
  const storage = await continuedBackup()
  const key = keyOf(storage, '/packs/')
  await storage.remove(key, never)
  const { ok, problems } = await verify(storage, false)
  assert.deepEqual({ ok, problems }, { ok: false, problems: [{ key, problem: 'the object is missing' }] })
})

test('a page that is missing is one problem, however many lists it had', async () => {
  const storage = await continuedBackup()
  const key = [...storage.objects.keys()].filter(one => /checkpoints\/.*-\d+\.json/.test(one)).at(-1) ?? assert.fail()
  await storage.remove(key, never)
  const { ok, problems } = await verify(storage, false)
  const problem =
    'it is missing; an older checkpoint and the commits behind it are read instead, as long as they are there'
  assert.deepEqual({ ok, problems }, { ok: false, problems: [{ key, problem }] })
})

test('every byte of a pack that changes is found by a deep look', async () => {
  const storage = await continuedBackup()
  const key = keyOf(storage, '/packs/')
  const honest = await storage.read(key, never)
  for (let at = 0; at < honest.length; at += 7) {
    const bytes = Buffer.from(honest)
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
    await storage.replace(key, bytes, never)
    const { ok, problems } = await verify(storage, true)
    assert.ok(!ok && problems.every(problem => problem.key === key), `byte ${at}: ${formatJson(problems)}`)
  }
})
