import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listGenerations, openBackup } from '../../../src/archive/catalog.ts'
import { commitRepair } from '../../../src/archive/commit-repair.ts'
import { listHolds } from '../../../src/archive/holds.ts'
import { commitKey, keptKey, parseLogKey } from '../../../src/archive/log/keys.ts'
import { planRepair, type RepairReport } from '../../../src/archive/repair.ts'
import { verifyBackup } from '../../../src/archive/verify.ts'
import { withEncryption } from '../../../src/encryption/encrypted-storage.ts'
import { KafkaBackupError } from '../../../src/errors.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { keyOf, ownKeys } from '../../encryption/samples.ts'
import { DAY, HOUR, type World } from '../../retention/world.ts'
import { never } from '../sample-archive.ts'
import { type MixedLog, mixedLog, type Snapshot, snapshot, snapshotOf, type Wrap } from './mixed-log.ts'
import { type Random, randomFrom } from './random-state.ts'

/** Another first seed makes other logs and other damage. */
const FIRST_SEED = 1
const LOGS = 2
const DAMAGES = 5
const now = '2026-03-16T12:00:00.000Z'
const quiet = { onProgress: () => undefined }

type Truth = ReadonlyMap<number, Snapshot>
type Case = { key: string; damage: string; world: World; storage: Storage; truth: Truth }

for (const kind of ['plain', 'encrypted'] as const) {
  const wrap: Wrap = storage => (kind === 'plain' ? storage : withEncryption(storage, ownKeys([keyOf(1)], false, 'a')))
  for (let seed = FIRST_SEED; seed < FIRST_SEED + LOGS; seed++) {
    test(`one damaged object of a log (${kind}, ${seed}) is named, hides nothing else, and is repaired`, async t => {
      const random = randomFrom(seed)
      const log = await mixedLog(random, wrap)
      const truth = await truthOf(wrap(log.world.storage))
      for (let i = 0; i < DAMAGES; i++) {
        const { key, damage, world } = damageOne(random, log)
        await t.test(`${damage} ${key}`, () =>
          assertHonest({ key, damage, world, storage: wrap(world.storage), truth }),
        )
      }
    })
  }
}

async function truthOf(storage: Storage): Promise<Map<number, Snapshot>> {
  const truth = new Map<number, Snapshot>()
  for (const generation of await listGenerations(storage, 'a', never))
    truth.set(generation, await snapshotOf(storage, generation))
  return truth
}

const damages: Record<string, (bytes: Buffer, others: readonly Buffer[], random: Random) => Buffer | undefined> = {
  deleted: () => undefined,
  flipped: (bytes, _, random) => {
    const flipped = Buffer.from(bytes)
    const at = random(bytes.length)
    flipped.writeUInt8(flipped.readUInt8(at) ^ (1 << random(8)), at)
    return flipped
  },
  truncated: (bytes, _, random) => bytes.subarray(0, random(bytes.length)),
  swapped: (bytes, others, random) => others.filter(one => !one.equals(bytes))[random(others.length)],
}

/** Of all kinds of objects each as often. */
function damageOne(random: Random, { world: before, fork }: MixedLog): Pick<Case, 'key' | 'damage' | 'world'> {
  const world = before.clone()
  const { objects } = world.storage
  const kinds = [...Map.groupBy(objects.keys(), kindOf)].filter(([kind]) => kind !== undefined)
  const [, keys = []] = kinds[random(kinds.length)] ?? assert.fail()
  const key = keys[random(keys.length)] ?? assert.fail()
  const bytes = objects.get(key) ?? assert.fail()
  const others = keys.map(one => objects.get(one) ?? assert.fail())
  const earlier = fork.storage.objects.get(key)
  // Nothing vouches for the newest commit.
  const isReplayed = earlier && !earlier.equals(bytes) && key !== newestCommit(objects) && random(2) === 0
  const names = Object.keys(damages)
  const damage = isReplayed ? 'replayed' : (names[random(names.length)] ?? assert.fail())
  const after = isReplayed ? earlier : damages[damage]?.(bytes, others, random)
  if (after) objects.set(key, after)
  else objects.delete(key)
  return { key, damage: after ? damage : 'deleted', world }
}

function newestCommit(objects: ReadonlyMap<string, Buffer>): string | undefined {
  return [...objects.keys()]
    .filter(key => key.startsWith('a/commits/'))
    .sort()
    .at(-1)
}

function kindOf(key: string): string | undefined {
  const log = parseLogKey('a', key)?.kind
  if (log) return log
  return /^a\/(packs|kafka)\/.*\.(pack|log)$/.exec(key)?.[1]
}

async function assertHonest(one: Case): Promise<void> {
  const affected = await readAll(one)
  await assertVerified(one, affected)
  // Nothing shows that there was a newer one whose commit is gone.
  const newest = Math.max(...(await listGenerations(one.storage, 'a', never)))
  const report = await repair(one.storage)
  const left = new Set([...one.truth.keys()].filter(generation => !affected.has(generation)))
  if (!report.needed) assert.ok(left.has(newest), 'a repair is needed')
  else await assertRepaired(one, report)
  await assertPruned(one, left)
}

/** Each generation reads as before, or the error names the object. Those that do not read. */
async function readAll({ key, damage, storage, truth }: Case): Promise<Set<number>> {
  const affected = new Set<number>()
  for (const [generation, before] of truth) {
    try {
      const after = await snapshotOf(storage, generation)
      // The commit of another log is found by the next one, or by `verify`.
      if (damage === 'replayed' && key === commitKey('a', generation)) affected.add(generation)
      else assert.deepEqual(after, before, `generation ${generation}`)
    } catch (error) {
      if (!(error instanceof KafkaBackupError)) throw error
      affected.add(generation)
      const own = [commitKey('a', generation), keptKey('a', generation)]
      if (error.code === 'STORAGE_NOT_FOUND') assert.ok(damage === 'deleted' && own.includes(key), error.message)
      else if (damage !== 'replayed' || !own.includes(key)) {
        assert.ok(['ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW'].includes(error.code), `${error.code} ${error.message}`)
        assert.ok(error.message.includes(key), `generation ${generation}: ${error.message}`)
      }
    }
  }
  return affected
}

/** `verify --deep` lists the generations that damaged documents hide; of a generation it reads all records. */
async function assertVerified({ key, storage, truth }: Case, affected: ReadonlySet<number>): Promise<void> {
  const report = await verifyBackup(storage, 'a', { ...quiet, deep: true }, never)
  const listed = new Set(await listGenerations(storage, 'a', never))
  const hidden = report.unreadable_generations.flatMap(({ from, to }) =>
    Array.from({ length: to - from + 1 }, (_, i) => from + i),
  )
  const kind = parseLogKey('a', key)?.kind
  if (kind) {
    // A page counts for all generations that name it, also where later commits have replaced the lists in it.
    const named = kind === 'page' ? hidden.filter(generation => affected.has(generation)) : hidden
    assert.deepEqual(
      named,
      [...affected].filter(generation => listed.has(generation)),
    )
    if (hidden.length > 0)
      assert.ok(
        report.problems.some(problem => problem.key === key),
        JSON.stringify(report),
      )
    return
  }
  assert.deepEqual(hidden, [])
  for (const generation of truth.keys()) {
    const { ok, problems } = await verifyBackup(storage, 'a', { ...quiet, deep: true, generation }, never)
    assert.equal(ok, !affected.has(generation), `generation ${generation}`)
    assert.ok(
      problems.every(problem => problem.key === key),
      JSON.stringify(problems),
    )
  }
}

async function repair(storage: Storage): Promise<RepairReport> {
  const plan = await planRepair(storage, 'a', { ...quiet, deep: true, foundAt: now }, never)
  if (!plan.state) assert.fail('version 1')
  if (!plan.report.needed) return plan.report
  let names = 0
  const own = { toolVersion: '0', run: 'r', now, newName: () => `repair${names++}`, confirm: async () => undefined }
  return commitRepair(storage, plan, own, never)
}

/** What is readable was stored, what was there is readable or listed as lost, and nothing is both. */
async function assertRepaired({ storage, truth }: Case, report: RepairReport): Promise<void> {
  const { generation } = report
  if (generation === undefined) assert.fail('nothing was committed')
  const newest = truth.get(report.newest) ?? assert.fail()
  const repaired = await snapshot(storage, await openBackup(storage, 'a', never))
  for (const [list, row] of newest.state.lists) {
    if (list.startsWith('reread/')) continue
    const what = `${list}: ${JSON.stringify(report.lost.map(String))}`
    const held = repaired.batches.get(list) ?? new Map<bigint, string>()
    const after = repaired.state.lists.get(list)
    for (const [offset, bytes] of held) {
      const known = [...truth.values()].map(one => one.batches.get(list)?.get(offset)).filter(one => one !== undefined)
      assert.ok(known.includes(bytes), `${what}: offset ${offset} is not what was stored`)
      if (offset < row.start_offset) assert.ok(report.lost_commits.length > 0, `${what}: ${offset} was cut off`)
    }
    const [, topic = '', partition = ''] = /^id-(.*)\/(\d+)$/.exec(list) ?? []
    const lost = report.lost.filter(one => one.topic === topic && one.partition === Number(partition))
    for (const { from, may_be_cut_off } of lost)
      assert.ok(from >= row.start_offset || may_be_cut_off, `${what}: ${from} was cut off, and is listed as lost`)
    const isLost = (offset: bigint) => lost.some(({ from, to }) => from <= offset && offset < to)
    const isUnnamed = (offset: bigint) => report.lost_commits.length > 0 && offset >= (after?.end_offset ?? 0n)
    for (const offset of newest.batches.get(list)?.keys() ?? []) {
      assert.ok(held.has(offset) || isLost(offset) || isUnnamed(offset), `${what}: ${offset} is lost without a word`)
      assert.ok(!(held.has(offset) && isLost(offset)), `${what}: ${offset} is readable, and listed as lost`)
    }
    const gaps = after?.gaps.filter(({ reason }) => reason === 'damaged').map(({ from, to }) => [from, to])
    assert.deepEqual(
      gaps,
      lost.filter(one => !one.at_end).map(({ from, to }) => [from, to]),
    )
  }
  const { ok, problems } = await verifyBackup(storage, 'a', { ...quiet, deep: false }, never)
  assert.deepEqual([ok, problems], [true, []])
  assert.equal((await repair(storage)).needed, false, 'the repair is to be repeated')
}

/** What could be read, and is still listed, reads as before; held generations stay. */
async function assertPruned({ world, storage, truth }: Case, left: ReadonlySet<number>): Promise<void> {
  const repaired = await snapshot(storage, await openBackup(storage, 'a', never))
  const held = await listHolds(storage, 'a', never)
  for (let i = 0; i < 2; i++) {
    world.clock.pass(DAY)
    await world.prune({ graceMs: HOUR }, { storage })
  }
  const listed = new Set(await listGenerations(storage, 'a', never))
  for (const generation of left) {
    if (held.has(generation)) assert.ok(listed.has(generation), `held generation ${generation} is gone`)
    if (!listed.has(generation)) continue
    assert.deepEqual(await snapshotOf(storage, generation), truth.get(generation), `generation ${generation}`)
  }
  assert.deepEqual((await snapshot(storage, await openBackup(storage, 'a', never))).batches, repaired.batches)
}
