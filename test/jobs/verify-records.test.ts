import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { describeBackup } from '../../src/archive/describe.ts'
import { listBackups } from '../../src/archive/list-backups.ts'
import {
  damageOf,
  describeVerifications,
  readLastVerifications,
  type VerificationFacts,
} from '../../src/archive/verification.ts'
import { copyBackup } from '../../src/copy/copy-backup.ts'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { verifyAt } from '../../src/jobs/verify.ts'
import { formatUtc } from '../../src/lib/clock.ts'
import { deleteBackup } from '../../src/retention/delete-backup.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { never } from '../archive/sample-archive.ts'
import { plain } from '../copy/copies.ts'
import { givenKeys, keyOf, ownKeys } from '../encryption/samples.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { LogRun } from '../retention/log-world.ts'
import { DAY, HOUR, World } from '../retention/world.ts'

interface Request {
  deep?: boolean
  record?: boolean
  generation?: number
}

function verify(
  world: World,
  { deep = false, record = true, ...choice }: Request = {},
  storage: Storage = world.storage,
) {
  // The records of one world are from different moments of its store.
  world.clock.pass(1000)
  return verifyAt(storage, 'a', { deep, record, ...choice, onProgress: () => undefined }, never)
}

async function oneBackup(): Promise<World> {
  const world = new World()
  await world.commit('a')
  await world.commit('a')
  return world
}

const records = (world: World) => world.keys('a/reports/')
const lastOf = (world: World, storage: Storage = world.storage) => readLastVerifications(storage, 'a', never)

/** Of a record that can be read. */
function factsOf(last: Awaited<ReturnType<typeof lastOf>>['last_verification']): VerificationFacts {
  return last && 'problems' in last ? last : assert.fail(JSON.stringify(last))
}

const refusing = (world: World): Storage => ({
  ...world.storage,
  create: async key => {
    throw new KafkaBackupError('STORAGE_DENIED', `${key} may not be written`)
  },
})

describe('the result of a verification', () => {
  test('is stored with the backup, and a list and a description show it', async () => {
    const world = await oneBackup()
    const none = { last_verification: null, last_deep_verification: null, last_damage: null }
    assert.deepEqual(await lastOf(world), none)
    assert.equal(describeVerifications(none, 0), 'never')
    const before = formatUtc(Date.now())
    const { record } = await verify(world)
    assert.deepEqual(
      [record],
      records(world).map(key => ({ key })),
    )
    const [row] = await listBackups(world.storage, never)
    const { last_verification, last_deep_verification } = await describeBackup(world.storage, 'a', {}, never)
    const { generation, deep, problems, started_at, finished_at } = factsOf(last_verification)
    assert.deepEqual([generation, deep, problems, last_deep_verification], [2, false, 0, null])
    assert.ok(before <= started_at && started_at <= finished_at)
    assert.deepEqual(row && 'last_verification' in row && row.last_verification, last_verification)
  })

  test('tells what was found: problems, and a manifest that cannot be read', async () => {
    const world = await oneBackup()
    const segment = world.keys('a/kafka/').find(key => key.endsWith('.log')) ?? assert.fail()
    world.storage.objects.delete(segment)
    assert.equal((await verify(world)).ok, false)
    assert.equal(factsOf((await lastOf(world)).last_verification).problems, 1)
    world.storage.objects.set('a/manifests/00000001.json', Buffer.from('{}'))
    await assert.rejects(verify(world, { generation: 1 }), { code: 'ARCHIVE_DAMAGED' })
    const { generation, problems } = factsOf((await lastOf(world)).last_verification)
    assert.deepEqual([generation, problems, records(world).length], [1, 1, 2])
  })

  test('takes the place of earlier ones, of which the last deep one stays next to a quick one', async () => {
    const world = await oneBackup()
    for (const [deep, kept, isDeepKnown] of [
      [false, 1, false],
      [false, 1, false],
      [true, 1, true],
      [false, 2, true],
      [false, 2, true],
      [true, 1, true],
    ] as const) {
      await verify(world, { deep })
      const { last_verification: last, last_deep_verification: lastDeep } = await lastOf(world)
      assert.deepEqual([factsOf(last).deep, records(world).length, lastDeep !== null], [deep, kept, isDeepKnown])
    }
    assert.deepEqual(world.keys('a/leases/'), [])
  })

  test('is shown while a later verification takes its place', async () => {
    const world = await oneBackup()
    await verify(world, { deep: true, generation: 1 })
    let isLater = false
    const storage: Storage = {
      ...world.storage,
      read: async (...args) => {
        if (!isLater) {
          isLater = true
          await verify(world, { deep: true })
        }
        return world.storage.read(...args)
      },
    }
    const { last_verification: last, last_deep_verification: lastDeep } = await lastOf(world, storage)
    assert.deepEqual([factsOf(last).generation, factsOf(lastDeep).generation], [2, 2])
  })

  test('is described with its age, its generation and what it found', () => {
    const at = (day: number) => formatUtc(Date.parse('2026-03-10T00:00:00Z') + day * DAY)
    const nowMs = Date.parse(at(9))
    const quick = { generation: 17, deep: false, problems: 0, started_at: at(6), finished_at: at(6) }
    const deep = { ...quick, generation: 12, deep: true, problems: 2, started_at: at(0), finished_at: at(0) }
    const text = (last_verification: typeof quick, last_deep_verification: typeof quick | null) =>
      describeVerifications({ last_verification, last_deep_verification, last_damage: null }, nowMs)
    assert.equal(text(quick, null), '3 d ago, generation 17, no problems')
    assert.equal(
      text(quick, deep),
      '3 d ago, generation 17, no problems; every byte was read 9 d ago, generation 12, 2 problems',
    )
    assert.equal(text(deep, deep), '9 d ago, generation 12, 2 problems, every byte was read')
  })
})

describe('a verification never fails because of its record', () => {
  test('on a store that refuses writing', async () => {
    const world = await oneBackup()
    for (const deep of [false, true]) {
      const report = await verify(world, { deep }, refusing(world))
      assert.equal(report.ok, true)
      assert.ok('not_recorded' in report.record && /may not be written/.test(report.record.not_recorded))
    }
    assert.deepEqual(records(world), [])
  })

  test('where none is asked for, nothing is written', async () => {
    const world = await oneBackup()
    const before = world.keys()
    assert.deepEqual((await verify(world, { record: false, deep: true })).record, { not_recorded: 'not requested' })
    assert.deepEqual(world.keys(), before)
  })

  test('where the store protects earlier records, which stay behind the newest', async () => {
    const world = await oneBackup()
    const remove = async (key: string) => {
      throw new KafkaBackupError('STORAGE_RETAINED', `${key} is locked`)
    }
    for (const generation of [1, 2]) {
      const report = await verify(world, { generation }, { ...world.storage, remove })
      assert.ok('key' in report.record)
    }
    assert.equal(records(world).length, 2)
    assert.equal(factsOf((await lastOf(world)).last_verification).generation, 2)
  })

  test('a record that was changed, or is of a newer version, is unknown and hides nothing', async () => {
    const world = await oneBackup()
    await verify(world)
    const [key = ''] = records(world)
    const stored = String(world.storage.objects.get(key))
    for (const changed of [
      '',
      '{}',
      stored.replace('"problems": 0', '"problems": 1'),
      stored.replace('version": 1', 'version": 9'),
    ]) {
      world.storage.objects.set(key, Buffer.from(changed))
      const [row] = await listBackups(world.storage, never)
      assert.ok(row && 'last_verification' in row && row.generation === 2)
      const { last_verification: last } = row
      assert.ok(last && 'error' in last && last.error.includes(key), changed)
      assert.match(describeVerifications(row, 0), /^unknown: /)
      assert.equal(describeVerifications(row, 0).split(last.error).length, 2)
    }
  })

  test('an earlier record that cannot be read is shown, because it may say that there is damage', async () => {
    const world = await oneBackup()
    const repair = damageSegment(world)
    await verify(world, { deep: true })
    repair()
    await verify(world)
    const [deep = assert.fail()] = records(world).filter(key =>
      String(world.storage.objects.get(key)).includes('"deep": true'),
    )
    world.storage.objects.set(deep, Buffer.from('{'))
    assert.match(
      describeVerifications(await lastOf(world), world.clock.now()),
      /^.*, generation 2, no problems; an earlier result cannot be read: .*json/,
    )
  })

  test('what else is in its folder is not read', async () => {
    const world = await oneBackup()
    await verify(world)
    const known = await lastOf(world)
    world.storage.objects.set('a/reports/verified/zzz.json', Buffer.from('x'))
    world.storage.objects.set('a/reports/20990101t000000z-1a2b3c4d.json', Buffer.from('x'))
    assert.deepEqual(await lastOf(world), known)
  })
})

/** The first segment of the first generation, damaged without a change of its size. */
function damageSegment(world: World): () => void {
  const key = world.keys('a/kafka/').find(one => one.endsWith('.log')) ?? assert.fail()
  const bytes = world.storage.objects.get(key) ?? assert.fail()
  const other = Buffer.from(bytes)
  other.writeUInt8(other.readUInt8(70) ^ 1, 70)
  world.storage.objects.set(key, other)
  return () => void world.storage.objects.set(key, bytes)
}

const isRed = async (world: World) => damageOf(await lastOf(world)) !== undefined

describe('damage that a verification found is shown', () => {
  test('until a later one reads every byte of it, if it did', async () => {
    const world = await oneBackup()
    const repair = damageSegment(world)
    assert.equal((await verify(world, { deep: true })).ok, false)
    repair()
    for (const [request, expected] of [
      [{}, true],
      [{ deep: true, generation: 1 }, true],
      [{ generation: 1 }, true],
      [{ deep: true }, false],
    ] as const) {
      assert.equal((await verify(world, request)).ok, true)
      assert.equal(await isRed(world), expected, JSON.stringify(request))
    }
    assert.equal(records(world).length, 1)
  })

  test('until a later state was read in the same depth', async () => {
    const world = await oneBackup()
    const segment = world.keys('a/kafka/').find(key => key.endsWith('.log')) ?? assert.fail()
    const bytes = world.storage.objects.get(segment) ?? assert.fail()
    world.storage.objects.delete(segment)
    assert.equal((await verify(world)).ok, false)
    world.storage.objects.set(segment, bytes)
    assert.equal((await verify(world, { generation: 1 })).ok, true)
    assert.ok(await isRed(world), 'an older generation does not name all that the newest one does')
    const verified = await lastOf(world)
    assert.match(
      describeVerifications(verified, world.clock.now()),
      /generation 1, no problems; before that .*generation 2, 1 problem$/,
    )
    await world.commit('a')
    assert.equal((await verify(world)).ok, true)
    assert.equal(await isRed(world), false)
  })

  test('of an older generation that was asked for, until that one was read again or is gone', async () => {
    for (const isRemoved of [false, true]) {
      const world = await oneBackup()
      const key = 'a/manifests/00000001.json'
      const bytes = world.storage.objects.get(key) ?? assert.fail()
      world.storage.objects.set(key, Buffer.from('{}'))
      await assert.rejects(verify(world, { deep: true, generation: 1 }), { code: 'ARCHIVE_DAMAGED' })
      assert.equal((await verify(world, { deep: true })).ok, true)
      assert.ok(await isRed(world), 'the newest generation does not need that manifest')
      if (isRemoved) world.storage.objects.delete(key)
      else world.storage.objects.set(key, bytes)
      await verify(world, { deep: true, generation: isRemoved ? 2 : 1 })
      assert.equal(await isRed(world), false)
    }
  })

  test('of the newest generation of its time although that is gone, until the newest one was read', async () => {
    const world = await oneBackup()
    const repair = damageSegment(world)
    assert.equal((await verify(world, { deep: true })).ok, false)
    await world.commit('a')
    world.storage.objects.delete('a/manifests/00000002.json')
    repair()
    assert.equal((await verify(world, { deep: true, generation: 1 })).ok, true)
    assert.ok(await isRed(world), 'the newest generation may name what is damaged')
    assert.equal((await verify(world, { deep: true })).ok, true)
    assert.equal(await isRed(world), false)
  })

  test('of a newest generation that cannot be opened, with its number', async () => {
    const world = await oneBackup()
    world.storage.objects.set('a/manifests/00000002.json', Buffer.from('{}'))
    await assert.rejects(verify(world), { code: 'ARCHIVE_DAMAGED' })
    assert.equal(damageOf(await lastOf(world))?.generation, 2)
    assert.equal((await verify(world, { deep: true, generation: 1 })).ok, true)
    assert.ok(await isRed(world))
  })

  test('also by a store that lets nothing be removed, which keeps all records', async () => {
    const world = await oneBackup()
    const repair = damageSegment(world)
    const remove = async (key: string) => {
      throw new KafkaBackupError('STORAGE_RETAINED', `${key} is locked`)
    }
    let reads = 0
    const read: Storage['read'] = (...args) => {
      reads++
      return world.storage.read(...args)
    }
    const storage: Storage = { ...world.storage, remove, read }
    await verify(world, { deep: true }, storage)
    repair()
    await verify(world, { deep: true, generation: 1 }, storage)
    assert.ok(damageOf(await lastOf(world, storage)))
    await verify(world, { deep: true }, storage)
    assert.equal(damageOf(await lastOf(world, storage)), undefined)
    for (let i = 0; i < 40; i++) await verify(world, {}, storage)
    reads = 0
    assert.equal(damageOf(await lastOf(world, storage)), undefined)
    assert.equal(records(world).length, 43)
    assert.ok(reads < 30, `${reads} reads`)
  })

  test('also behind many later ones that did not read as much, which a store keeps that lets nothing be removed', async () => {
    const world = await oneBackup()
    const repair = damageSegment(world)
    const remove = async (key: string) => {
      throw new KafkaBackupError('STORAGE_RETAINED', `${key} is locked`)
    }
    const storage: Storage = { ...world.storage, remove }
    await verify(world, { deep: true }, storage)
    repair()
    await verify(world, { deep: true, generation: 1 }, storage)
    for (let i = 0; i < 40; i++) await verify(world, {}, storage)
    const damage = damageOf(await lastOf(world, storage))
    assert.deepEqual([damage?.deep, damage?.generation], [true, 2])
  })
})

describe('the record of a verification', () => {
  test('is known to a prune, which keeps it as long as the backup, of either version', async () => {
    for (const isLog of [false, true]) {
      const world = new World()
      if (isLog) await (await LogRun.open(world, 'a')).rounds(3, HOUR)
      else for (let i = 0; i < 3; i++) await world.commit('a')
      await verify(world)
      const [key = ''] = records(world)
      world.clock.pass(DAY)
      const { unknown } = await world.pruneOne({ graceMs: 0 })
      assert.deepEqual([unknown, records(world)], [[], [key]])
      assert.equal(factsOf((await lastOf(world)).last_verification).generation, 3)
    }
  })

  test('goes with its backup', async () => {
    const world = await oneBackup()
    await verify(world, { deep: true })
    await deleteBackup('a', world.partsAt(), { isDryRun: false }, never)
    assert.deepEqual(world.keys(), [])
  })

  test('is not left behind by a verification that ends after its backup has expired', async () => {
    const world = await oneBackup()
    await world.commit('b')
    const create: Storage['create'] = async (...args) => {
      world.clock.pass(DAY)
      await world.prune({ keepLast: 1, graceMs: 0 })
      await world.storage.create(...args)
    }
    const { record } = await verify(world, {}, { ...world.storage, create })
    assert.deepEqual(record, { not_recorded: 'the backup was removed meanwhile' })
    assert.deepEqual(world.keys('a/'), [])
  })

  test('is not copied: the copy has to be verified itself', async () => {
    const world = await oneBackup()
    await verify(world)
    const target = openMemoryStorage()
    assert.equal((await copyBackup({ source: world.storage, target }, 'a', plain, never)).ok, true)
    assert.deepEqual(await lastOf(world, target), {
      last_verification: null,
      last_deep_verification: null,
      last_damage: null,
    })
  })

  test('is encrypted where the backup is, and its key tells no name', async () => {
    const world = new World()
    const own = withEncryption(world.storage, ownKeys([keyOf(1)], true, 'a'))
    const folderOf = (await own.keysFor('a', never))?.folderOf
    await world.commit('a', { folderOf }, own)
    const storage = withEncryption(world.storage, givenKeys([keyOf(1)]))
    const { record } = await verify(world, {}, storage)
    const key = 'key' in record ? record.key : assert.fail()
    const stored = world.storage.objects.get(key) ?? assert.fail()
    assert.ok(!stored.includes('generation') && !key.includes('orders'))
    assert.equal(
      factsOf((await lastOf(world, withEncryption(world.storage, givenKeys([keyOf(1)])))).last_verification).problems,
      0,
    )
    const without = await lastOf(world, withEncryption(world.storage, givenKeys([keyOf(2)])))
    assert.ok(without.last_verification && 'error' in without.last_verification)
  })
})
