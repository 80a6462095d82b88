import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { openBackup } from '../../src/archive/catalog.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { copyBackup } from '../../src/copy/copy-backup.ts'
import { hasCode } from '../../src/errors.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { never } from '../archive/sample-archive.ts'
import { type MemoryStorage, openMemoryStorage } from '../fakes/memory-storage.ts'
import { Death, dying, momentsToTry } from '../retention/dying.ts'
import { LogRun, readAllGenerations } from '../retention/log-world.ts'
import { DAY, HOUR, World } from '../retention/world.ts'
import { plain } from './copies.ts'

const copy = (source: Storage, target: Storage, options: Partial<typeof plain> = {}) =>
  copyBackup({ source, target }, 'a', { ...plain, ...options }, never)

async function assertWhole(storage: Storage): Promise<void> {
  const { problems } = await verifyBackup(storage, 'a', { deep: true, onProgress: () => undefined }, never)
  assert.deepEqual(problems, [])
}

/** As another build of zstd may write it. */
function recompress(bytes: Buffer): Buffer {
  const other = zstdCompressSync(zstdDecompressSync(bytes), { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
  assert.ok(!other.equals(bytes))
  return other
}

function cloneOf({ objects }: MemoryStorage, { clock }: World): MemoryStorage {
  const clone = openMemoryStorage({ now: clock.now })
  for (const [key, body] of objects) clone.objects.set(key, body)
  return clone
}

describe('a copy of a backup of version 2', () => {
  test('has the newest generation, with the same records, and gets those that follow', async () => {
    for (const rounds of [1, 10]) {
      const world = new World()
      const run = await LogRun.open(world, 'a')
      await run.rounds(rounds, HOUR)
      const target = openMemoryStorage()
      const first = await copy(world.storage, target)
      assert.deepEqual([first.ok, first.generations, first.newest_generation], [true, [rounds], rounds])
      await run.rounds(10, HOUR)
      assert.deepEqual((await copy(world.storage, target, { dryRun: true })).generations, [rounds + 10])
      assert.deepEqual((await copy(world.storage, target)).generations, [rounds + 10])
      assert.deepEqual((await copy(world.storage, target, { verifyExisting: true })).generations, [])
      const there = await readAllGenerations(target, 'a')
      assert.deepEqual(
        [...there],
        [
          [rounds, 20 * rounds],
          [rounds + 10, 20 * (rounds + 10)],
        ],
      )
      await assertWhole(target)
    }
  })

  test('of a backup that began with version 1 continues a copy of that', async () => {
    const world = new World()
    await world.commit('a')
    await world.commit('a')
    const target = openMemoryStorage()
    assert.deepEqual((await copy(world.storage, target)).generations, [1, 2])
    await (await LogRun.open(world, 'a')).rounds(5, HOUR)
    assert.deepEqual((await copy(world.storage, target)).generations, [7])
    assert.deepEqual([...(await readAllGenerations(target, 'a')).keys()], [1, 2, 7])
    const other = openMemoryStorage()
    const first = await copy(world.storage, other, { dryRun: true })
    assert.deepEqual([first.generations, first.older_generations], [[7], [1, 2]], 'those of version 1 are left out')
    for (const generations of [[7], []]) {
      const report = await copy(world.storage, other)
      assert.deepEqual([report.generations, report.older_generations], [generations, [1, 2]])
    }
    assert.deepEqual((await copy(world.storage, openMemoryStorage(), { generation: 7 })).older_generations, [])
    assert.deepEqual((await copy(world.storage, target)).older_generations, [])
    assert.deepEqual((await copy(world.storage, openMemoryStorage(), { generation: 2 })).generations, [2])
    await assertWhole(target)
  })

  test('that is killed at any call is completed by the next one', async () => {
    const world = new World()
    await (await LogRun.open(world, 'a')).rounds(6, HOUR)
    const calm = dying(openMemoryStorage(), Number.POSITIVE_INFINITY, 'kill-before')
    await copy(world.storage, calm.storage)
    for (const [nth, kind] of momentsToTry(calm.calls.length)) {
      const target = openMemoryStorage()
      await copy(world.storage, dying(target, nth, kind).storage).catch(error => {
        if (!(error instanceof Death)) throw error
      })
      assert.ok((await copy(world.storage, target)).ok, `${kind} ${nth}`)
      assert.deepEqual([...(await readAllGenerations(target, 'a')).keys()], [6], `${kind} ${nth}`)
      await assertWhole(target)
    }
  })

  test('that was interrupted before a prune at the target continues, as the prune commits no generation of its own', async () => {
    const world = new World()
    const run = await LogRun.open(world, 'a')
    const target = openMemoryStorage({ now: world.clock.now })
    await run.rounds(3, HOUR)
    await copy(world.storage, target)
    await run.rounds(6, HOUR)
    const calm = dying(cloneOf(target, world), Number.POSITIVE_INFINITY, 'kill-before')
    await copy(world.storage, calm.storage)
    for (const nth of calm.calls.keys()) {
      const own = cloneOf(target, world)
      await copy(world.storage, dying(own, nth + 1, 'kill-before').storage).catch(error => {
        if (!(error instanceof Death)) throw error
      })
      const packs = () => [...own.objects.keys()].filter(key => key.includes('/packs/')).length
      const before = packs()
      await world.prune({ graceMs: 0 }, { storage: own })
      // A copy that only sleeps could still commit them, if it is not fenced.
      if ((await openBackup(own, 'a', never)).generation === 3) assert.equal(packs(), before)
      for (const key of own.objects.keys()) own.modified.set(key, world.clock.now() - 2 * DAY)
      await world.prune({ graceMs: DAY }, { storage: own })
      const newest = (await openBackup(own, 'a', never)).generation
      assert.ok([3, 9].includes(newest), `generation ${newest} after call ${nth + 1}`)
      await assertWhole(own)
      assert.equal((await copy(world.storage, own)).newest_generation, 9)
      await assertWhole(own)
    }
  })

  test('that was killed is completed by a program whose zstd writes other bytes, or that finds a damaged document', async () => {
    const world = new World()
    await (await LogRun.open(world, 'a')).rounds(6, HOUR)
    const calm = dying(openMemoryStorage(), Number.POSITIVE_INFINITY, 'kill-before')
    await copy(world.storage, calm.storage)
    for (const change of [recompress, () => Buffer.from('damaged')]) {
      const documents = [...calm.calls.entries()].filter(([, { key }]) => key.includes('/checkpoints/'))
      assert.ok(documents.length > 1)
      for (const [nth] of documents) {
        const target = openMemoryStorage()
        await assert.rejects(copy(world.storage, dying(target, nth + 1, 'kill-after').storage), Death)
        for (const [key, bytes] of target.objects) if (key.endsWith('.zst')) target.objects.set(key, change(bytes))
        assert.deepEqual((await copy(world.storage, target)).generations, [6])
        await assertWhole(target)
      }
    }
  })

  test('is refused where the target has another backup of the same id', async () => {
    const [world, other] = [new World(), new World()]
    await (await LogRun.open(world, 'a')).rounds(2, HOUR)
    await other.commit('a')
    const before = other.keys()
    await assert.rejects(copy(world.storage, other.storage), error => hasCode(error, 'WRITER_CONFLICT'))
    assert.deepEqual(other.keys(), before)
  })

  test('without a pack that is damaged at the source does not appear at the target, and says so', async () => {
    const world = new World()
    await (await LogRun.open(world, 'a')).rounds(3, HOUR)
    const [key = ''] = world.keys('a/packs/').slice(-1)
    const bytes = Buffer.from(await world.storage.read(key, never))
    bytes.writeUInt8(bytes.readUInt8(70) ^ 1, 70)
    await world.storage.replace(key, bytes, never)
    const target = openMemoryStorage()
    const { ok, problems, generations } = await copy(world.storage, target)
    assert.deepEqual([ok, problems.map(one => one.key), generations], [false, [key], []])
    await assert.rejects(openBackup(target, 'a', never), error => hasCode(error, 'BACKUP_NOT_FOUND'))
  })

  test('is refused where the target continued by itself, though it has another number by now', async () => {
    for (const [own, ours] of [
      [1, 1],
      [1, 4],
      [3, 4],
      [4, 1],
    ] as const) {
      const world = new World()
      const run = await LogRun.open(world, 'a')
      await run.rounds(3, HOUR)
      const target = openMemoryStorage({ now: world.clock.now })
      await copy(world.storage, target)
      await (await LogRun.open(world, 'a', target)).rounds(own, HOUR)
      await run.rounds(ours, HOUR)
      const before = [...target.objects.keys()]
      await assert.rejects(copy(world.storage, target), error => {
        assert.ok(hasCode(error, 'WRITER_CONFLICT'))
        assert.match(error.message, /is not a copy of the source: its? (has )?generation/)
        return true
      })
      assert.deepEqual([...target.objects.keys()], before)
    }
  })

  test('continues where the source has removed the generation that was copied, and from a copy of a copy', async () => {
    const world = new World()
    const run = await LogRun.open(world, 'a')
    await run.rounds(3, HOUR)
    const [first, second] = [1, 2].map(() => openMemoryStorage({ now: world.clock.now }))
    assert.ok(first && second)
    await copy(world.storage, first)
    await copy(first, second)
    for (let i = 0; i < 3; i++) {
      await (await LogRun.open(world, 'a')).rounds(12, HOUR)
      await world.prune({ graceMs: 2 * HOUR })
    }
    assert.ok(!(await readAllGenerations(world.storage, 'a')).has(3))
    await copy(world.storage, first)
    await copy(first, second)
    const newest = await openBackup(world.storage, 'a', never)
    for (const one of [first, second]) {
      assert.deepEqual([...(await readAllGenerations(one, 'a')).keys()], [3, newest.generation])
    }
  })

  test('of a copy that a run has continued is continued by its own copy, also when that generation is gone', async () => {
    const world = new World()
    await (await LogRun.open(world, 'a')).rounds(3, HOUR)
    const [first, second] = [1, 2].map(() => openMemoryStorage({ now: world.clock.now }))
    assert.ok(first && second)
    await copy(world.storage, first)
    await copy(first, second)
    await (await LogRun.open(world, 'a', first)).rounds(1, HOUR)
    // The first prune makes a cut, and a later one finds it.
    for (let i = 0; i < 2; i++) {
      world.clock.pass(3 * HOUR)
      await world.prune({ graceMs: HOUR }, { storage: first })
    }
    assert.ok(!(await readAllGenerations(first, 'a')).has(3))
    assert.deepEqual((await copy(first, second)).generations, [(await openBackup(first, 'a', never)).generation])
    assert.deepEqual(
      (await copy(world.storage, second, { dryRun: true, generation: 3 }).catch(error => error)).code,
      'WRITER_CONFLICT',
    )
  })

  test('stays readable when a generation of version 1 is copied behind it', async () => {
    const world = new World()
    for (let i = 0; i < 4; i++) await world.commit('a')
    const target = openMemoryStorage()
    await copy(world.storage, target, { generation: 2 })
    await (await LogRun.open(world, 'a')).rounds(2, HOUR)
    await copy(world.storage, target)
    await copy(world.storage, target, { generation: 3 })
    assert.equal((await openBackup(target, 'a', never)).generation, 6)
    assert.deepEqual([...(await readAllGenerations(target, 'a')).keys()], [2, 3, 6])
  })

  test('reports every document that the target lacks or has damaged, although its commit is there', async () => {
    const world = new World()
    await (await LogRun.open(world, 'a')).rounds(10, HOUR)
    const intact = openMemoryStorage()
    await copy(world.storage, intact)
    const documents = [...intact.objects.keys()].filter(key => /\/(checkpoints|commits|manifests)\//.test(key))
    assert.deepEqual(new Set(documents.map(key => key.split('/')[1])), new Set(['checkpoints', 'commits', 'manifests']))
    for (const key of documents) {
      for (const bytes of [undefined, Buffer.from('other bytes')]) {
        for (const options of [{}, { dryRun: true }, { verifyExisting: true }]) {
          const target = cloneOf(intact, world)
          if (bytes) target.objects.set(key, bytes)
          else target.objects.delete(key)
          const before = [...target.objects.keys()]
          const found = await copy(world.storage, target, options).catch(error => error)
          // A commit that is missing is copied again.
          if (key.includes('/commits/') && !bytes) {
            assert.deepEqual([found.ok, found.generations], [true, [10]])
            continue
          }
          if (found instanceof Error) {
            assert.ok(hasCode(found, 'ARCHIVE_DAMAGED'), key)
            assert.deepEqual([found.details.key, found.details.location], [key, target.location])
            assert.ok(found.message.startsWith(`at ${target.location}: ${key} `), found.message)
          } else {
            assert.deepEqual([found.ok, found.generations], [false, []], key)
            assert.deepEqual(
              found.problems.map((one: { key: string }) => one.key),
              [key],
            )
            assert.match(found.problems[0].problem, /^at memory: it /)
          }
          assert.deepEqual([...target.objects.keys()], before)
        }
      }
    }
  })

  test('warns of lost pages of the generation before, and with a reading of everything fails', async () => {
    const world = new World()
    const run = await LogRun.open(world, 'a')
    await run.rounds(10, HOUR)
    const target = openMemoryStorage()
    await copy(world.storage, target)
    const page = [...target.objects.keys()].find(key => key.endsWith('-1.json.zst')) ?? assert.fail()
    target.objects.delete(page)
    await run.rounds(2, HOUR)
    const { ok, generations, warnings } = await copy(world.storage, target)
    assert.deepEqual([ok, generations, warnings.length], [true, [12], 1])
    assert.ok(warnings[0]?.startsWith(`${page}: at memory: `), warnings[0])
    const deep = await copy(world.storage, target, { verifyExisting: true })
    assert.deepEqual([deep.ok, deep.problems.map(({ key }) => key)], [false, [page]])
  })

  test('of a backup of version 1 is refused where the target continued it in version 2', async () => {
    const world = new World()
    await world.commit('a')
    const target = openMemoryStorage({ now: world.clock.now })
    await copy(world.storage, target)
    await (await LogRun.open(world, 'a', target)).rounds(1, HOUR)
    await assert.rejects(copy(world.storage, target), error => {
      assert.ok(hasCode(error, 'WRITER_CONFLICT'))
      assert.match(error.message, /it has generation 2 of format version 2/)
      return true
    })
  })
})
