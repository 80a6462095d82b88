import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listGenerations, newestState, openBackup } from '../../../src/archive/catalog.ts'
import { commitRepair } from '../../../src/archive/commit-repair.ts'
import { describeBackup } from '../../../src/archive/describe.ts'
import { manifestKey } from '../../../src/archive/layout.ts'
import { listBackups } from '../../../src/archive/list-backups.ts'
import { packDocument } from '../../../src/archive/log/document.ts'
import { commitKey } from '../../../src/archive/log/keys.ts'
import { logMarker } from '../../../src/archive/log/marker.ts'
import { planRepair, type RepairReport } from '../../../src/archive/repair.ts'
import { openSelected } from '../../../src/archive/select-generation.ts'
import { verifyBackup } from '../../../src/archive/verify.ts'
import { copyBackup } from '../../../src/copy/copy-backup.ts'
import { withEncryption } from '../../../src/encryption/encrypted-storage.ts'
import { hasCode } from '../../../src/errors.ts'
import { deleteBackup } from '../../../src/retention/delete-backup.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { plain } from '../../copy/copies.ts'
import { keyOf, ownKeys } from '../../encryption/samples.ts'
import { openMemoryStorage } from '../../fakes/memory-storage.ts'
import { Death, dying } from '../../retention/dying.ts'
import { LogRun, markedWorld, readAllGenerations } from '../../retention/log-world.ts'
import { DAY, HOUR, World } from '../../retention/world.ts'
import { storeGenerations } from '../generation-samples.ts'
import { never } from '../sample-archive.ts'

const now = '2026-11-15T10:13:45.239Z'
const onProgress = () => {}

async function repair(storage: Storage, backupId: string): Promise<RepairReport> {
  const plan = await planRepair(storage, backupId, { deep: true, onProgress, foundAt: now }, never)
  if (!plan.state || !plan.report.needed) return plan.report
  const facts = { toolVersion: '0', run: 'r', now, newName: () => 'repair', confirm: async () => undefined }
  return commitRepair(storage, plan, facts, never)
}

/** With `first` generations of version 1, and then ten of version 2. */
async function grown(first: number): Promise<World> {
  const world = await markedWorld(first)
  await (await LogRun.open(world, 'a')).rounds(10, HOUR)
  return world
}

const losses: Record<string, Buffer | undefined> = {
  deleted: undefined,
  empty: Buffer.alloc(0),
  'not JSON': Buffer.from('garbage'),
  'with a flipped byte in its format': Buffer.from('{"format":"kafka-bacXup","format_version":2}\n'),
  'with a flipped byte in its version': Buffer.from('{"format":"kafka-backup","format_version":1}\n'),
  'with a flipped byte that makes it look newer': Buffer.from('{"format":"kafka-backup","format_version":3}\n'),
  'larger than a marker is': Buffer.alloc(2000, 'x'),
}

function isLost(key: string, how: RegExp) {
  return (error: unknown) => {
    assert.ok(hasCode(error, 'ARCHIVE_DAMAGED'), String(error))
    assert.ok(error.message.startsWith(`${key} `), error.message)
    assert.match(error.message, how)
    assert.match(error.help ?? '', /`kafka-backup repair` writes it again/)
    return true
  }
}

for (const first of [0, 3]) {
  describe(`a backup of version 2 behind ${first} generations of version 1 whose marker is`, () => {
    for (const [name, bytes] of Object.entries(losses)) {
      test(`${name}: is refused by writers, named by readers and repaired`, async () => {
        const world = await grown(first)
        const { storage } = world
        const key = manifestKey('a', first + 1)
        const newest = first + 10
        const readable = await readAllGenerations(storage, 'a')
        if (bytes) storage.objects.set(key, bytes)
        else storage.objects.delete(key)
        const before = world.keys('a/')
        const refusal = isLost(key, bytes ? / is damaged: / : / is missing: /)
        await assert.rejects(newestState(storage, 'a', never), refusal)
        await assert.rejects(LogRun.open(world, 'a'), refusal)
        await assert.rejects(openBackup(storage, 'a', never), refusal)
        await assert.rejects(describeBackup(storage, 'a', {}, never), refusal)
        const [row, ...others] = await listBackups(storage, never)
        assert.deepEqual([row?.backup_id, row && 'code' in row && row.code, others], ['a', 'ARCHIVE_DAMAGED', []])
        assert.deepEqual(await listGenerations(storage, 'a', never), [...readable.keys()])
        assert.equal((await openSelected(storage, 'a', { generation: newest }, never)).generation, newest)
        const found = await verifyBackup(storage, 'a', { deep: false, onProgress }, never)
        assert.deepEqual([found.ok, found.generation, found.problems.map(one => one.key)], [false, newest, [key]])
        assert.ok(found.warnings.some(one => one.includes('kafka-backup repair')))
        const pruned = await world.pruneOne({ graceMs: 0 })
        assert.match(pruned.reasons.join(), /it cannot be read: .* (is damaged|is missing)/)
        assert.deepEqual(world.keys('a/'), before)

        const { needed, marker, generation, lost } = await repair(storage, 'a')
        assert.deepEqual([needed, marker, generation, lost], [true, key, undefined, []])
        assert.deepEqual(await readAllGenerations(storage, 'a'), readable)
        assert.equal((await verifyBackup(storage, 'a', { deep: true, onProgress }, never)).ok, true)
        assert.equal((await repair(storage, 'a')).needed, false)
        await (await LogRun.open(world, 'a')).rounds(1, HOUR)
        assert.equal((await openBackup(storage, 'a', never)).generation, newest + 1)
      })
    }
  })
}

describe('the marker of version 2', () => {
  test('is written again where retention has removed the oldest commits', async () => {
    const world = await grown(0)
    for (let i = 0; i < 3; i++) {
      await world.prune({ graceMs: HOUR })
      world.clock.pass(2 * HOUR)
    }
    const readable = await readAllGenerations(world.storage, 'a')
    const [oldest = 0] = readable.keys()
    assert.ok(oldest > 1, 'the prune has removed the oldest')
    world.storage.objects.delete(manifestKey('a', 1))
    await assert.rejects(LogRun.open(world, 'a'), isLost(manifestKey('a', oldest), /is missing/))
    await repair(world.storage, 'a')
    assert.deepEqual(await readAllGenerations(world.storage, 'a'), readable)
    await (await LogRun.open(world, 'a')).rounds(1, HOUR)
    assert.equal((await openBackup(world.storage, 'a', never)).generation, Math.max(...readable.keys()) + 1)
  })

  test('is written again where it has a higher number than the commits, as a copy that was killed leaves it', async () => {
    for (const [name, bytes] of Object.entries(losses).filter(([, one]) => one && one.length < 100)) {
      const world = await grown(0)
      const target = openMemoryStorage()
      await target.create(manifestKey('a', 9), logMarker, never)
      for (const generation of [5, 7]) {
        await copyBackup({ source: world.storage, target }, 'a', { ...plain, generation }, never)
        const readable = await readAllGenerations(target, 'a')
        target.objects.set(manifestKey('a', 9), bytes ?? assert.fail())
        // What looks like a newer version, behind all commits, may be one.
        if (name.includes('newer')) {
          assert.equal((await repair(target, 'a')).needed, false)
          target.objects.set(manifestKey('a', 9), logMarker)
          continue
        }
        assert.equal((await repair(target, 'a')).marker, manifestKey('a', 9), name)
        assert.deepEqual(target.objects.get(manifestKey('a', 9)), logMarker)
        assert.deepEqual(await readAllGenerations(target, 'a'), readable)
      }
    }
  })

  test('is written again encrypted where the backup is', async () => {
    for (const damage of [(_: Buffer) => undefined, (bytes: Buffer) => bytes.subarray(0, 20)]) {
      const inner = openMemoryStorage()
      const open = () => withEncryption(inner, ownKeys([keyOf(1)]))
      await storeGenerations(open(), [{ created_at: now }, { created_at: now }, { created_at: now }], 2)
      const key = manifestKey('b1', 2)
      const damaged = damage(await inner.read(key, never))
      if (damaged) inner.objects.set(key, damaged)
      else inner.objects.delete(key)
      await assert.rejects(newestState(open(), 'b1', never), isLost(key, /is damaged|is missing/))
      assert.equal((await repair(open(), 'b1')).marker, key)
      assert.equal((await openBackup(open(), 'b1', never)).generation, 3)
      assert.ok(!(await inner.read(key, never)).includes('kafka-backup"'), 'it is encrypted')
    }
  })

  test('of a version that this program does not know is neither damaged nor replaced', async () => {
    const world = await grown(0)
    const newer = Buffer.from('{"format":"kafka-backup","format_version":3}\n')
    // A writer of that version begins behind the newest commit of version 2.
    world.storage.objects.set(manifestKey('a', 11), newer)
    await assert.rejects(newestState(world.storage, 'a', never), error => hasCode(error, 'ARCHIVE_TOO_NEW'))
    await repair(world.storage, 'a')
    assert.deepEqual(world.storage.objects.get(manifestKey('a', 11)), newer)
  })

  test('of a newer version is not called damaged where the commits behind it are of that version, too', async () => {
    const world = await grown(0)
    const newer = Buffer.from('{"format":"kafka-backup","format_version":3}\n')
    world.storage.objects.set(manifestKey('a', 1), newer)
    const key = commitKey('a', 10)
    const commit = { format: 'kafka-backup-commit', format_version: 3 }
    world.storage.objects.set(key, await packDocument(commit, key))
    await assert.rejects(newestState(world.storage, 'a', never), error => hasCode(error, 'ARCHIVE_TOO_NEW'))
  })

  test('is not written where manifests of version 1 have the numbers of commits', async () => {
    const world = await grown(0)
    const other = new World()
    await other.commit('a')
    const manifest = await other.storage.read(manifestKey('a', 1), never)
    world.storage.objects.set(manifestKey('a', 1), manifest)
    for (const attempt of [newestState(world.storage, 'a', never), repair(world.storage, 'a')]) {
      await assert.rejects(attempt, error => {
        assert.ok(hasCode(error, 'ARCHIVE_DAMAGED'), String(error))
        assert.match(error.message, /is not the marker of format version 2/)
        assert.match(error.help ?? '', /from a copy/)
        return true
      })
    }
    assert.deepEqual(await world.storage.read(manifestKey('a', 1), never), manifest)
  })

  test('is not missed in a backup whose deletion was cut short', async () => {
    const start = await grown(0)
    start.clock.pass(DAY)
    const calm = start.clone()
    const { storage, calls } = dying(calm.storage, Number.POSITIVE_INFINITY, 'kill-before')
    await deleteBackup('a', calm.partsAt(storage), { isDryRun: false }, never)
    let withoutMarker = 0
    for (let nth = 1; nth <= calls.length; nth++) {
      const world = start.clone()
      const { storage } = dying(world.storage, nth, 'kill-before')
      await deleteBackup('a', world.partsAt(storage), { isDryRun: false }, never).catch(error => {
        if (!(error instanceof Death)) throw error
      })
      if (world.keys('a/manifests/').some(key => /[0-9]\.json$/.test(key)) || world.keys('a/commits/').length === 0)
        continue
      withoutMarker++
      await assert.rejects(newestState(world.storage, 'a', never), error => hasCode(error, 'BACKUP_PRUNED'))
      assert.deepEqual(await listBackups(world.storage, never), [])
    }
    assert.ok(withoutMarker > 0, 'the marker goes before the commits')
  })
})
