import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { describeBackup } from '../../src/archive/describe.ts'
import {
  type DrillRecord,
  describeDrills,
  failedDrillOf,
  readLastDrills,
  recordDrill,
} from '../../src/archive/drill-record.ts'
import { listBackups } from '../../src/archive/list-backups.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { formatUtc } from '../../src/lib/clock.ts'
import { deleteBackup } from '../../src/retention/delete-backup.ts'
import { World } from '../retention/world.ts'
import { never } from './sample-archive.ts'

let runs = 0

function record(world: World, facts: Partial<DrillRecord> = {}): Promise<string | undefined> {
  // The records of one world are from different moments of its store.
  world.clock.pass(1000)
  const at = formatUtc(world.clock.now())
  const drill: DrillRecord = {
    ...{ format: 'kafka-backup-drill', format_version: 1, backup_id: 'a', generation: 2, proven: true },
    ...{ scope: 'all topics', topics: 1, records: 1200, bytes: 5000, differences: 0, recovery_ms: 12_000 },
    ...{ started_at: at, finished_at: at, evidence_sha256: 'a'.repeat(64), host: 'h', tool_version: '1.2.3' },
    ...facts,
  }
  return recordDrill(world.storage, drill, `run${runs++}`, never)
}

async function oneBackup(): Promise<World> {
  const world = new World()
  await world.commit('a')
  await world.commit('a')
  return world
}

const last = (world: World) => readLastDrills(world.storage, 'a', never)

describe('records of drills', () => {
  test('list and describe show the last drill and the last proven one', async () => {
    const world = await oneBackup()
    assert.deepEqual(await last(world), { last_drill: null, last_proven_drill: null, last_failed_drill: null })
    await record(world)
    await record(world, { proven: false, differences: 3 })
    const read = await last(world)
    assert.equal(failedDrillOf(read)?.proven, false)
    assert.ok(read.last_proven_drill && 'proven' in read.last_proven_drill && read.last_proven_drill.proven)
    const [row] = await listBackups(world.storage, never)
    assert.deepEqual(row && 'last_drill' in row && row.last_drill, read.last_drill)
    const description = await describeBackup(world.storage, 'a', {}, never)
    assert.deepEqual(description.last_proven_drill, read.last_proven_drill)
    assert.match(
      describeDrills(read, world.clock.now() + 3 * 86_400_000),
      /^3 d ago, generation 2, FAILED: all topics, 1,200 records in 12\.0 s; before that 3 d ago, generation 2, proven: /,
    )
  })

  test('a proven drill replaces all earlier records, a failed one keeps the last proven one', async () => {
    const world = await oneBackup()
    const keys = () => world.keys('a/reports/')
    await record(world, { proven: false })
    await record(world)
    assert.equal(keys().length, 1)
    await record(world, { proven: false })
    await record(world, { proven: false })
    assert.deepEqual(
      keys()
        .map(key => /(proven|failed)\.json$/.exec(key)?.[1])
        .sort(),
      ['failed', 'proven'],
    )
  })

  test('a proven drill of a part does not hide a failed one of another part, until that is proven', async () => {
    const world = await oneBackup()
    const all = { scope: 'all topics', selection: 'all topics', limited: false }
    const sample = { scope: '5% of every partition of all topics', selection: 'all topics', limited: true }
    const one = { scope: 'topics audit', selection: 'topics audit', limited: false, damaged: false }
    await record(world, { ...all, proven: false, damaged: true })
    await record(world, { ...sample, damaged: false })
    const read = await last(world)
    assert.equal(read.last_drill && 'proven' in read.last_drill && read.last_drill.proven, true)
    assert.equal(failedDrillOf(read)?.scope, 'all topics')
    assert.match(describeDrills(read, world.clock.now()), /proven: 5% of .*; before that .*FAILED: all topics/)
    await record(world, one)
    assert.equal(failedDrillOf(await last(world))?.scope, 'all topics', 'only one topic is proven')
    await record(world, { ...all, damaged: false })
    assert.deepEqual([failedDrillOf(await last(world)), world.keys('a/reports/').length], [undefined, 1])
  })

  test('the same drill settles one that failed because of the target, and not one that found damage', async () => {
    const world = await oneBackup()
    const sample = { scope: '5% of every partition of all topics', selection: 'all topics', limited: true }
    await record(world, { ...sample, proven: false, damaged: false })
    await record(world, { ...sample, damaged: false })
    assert.equal(failedDrillOf(await last(world)), undefined)
    await record(world, { ...sample, proven: false, damaged: true })
    await record(world, { ...sample, proven: false, damaged: false })
    await record(world, { ...sample, damaged: false })
    assert.equal(failedDrillOf(await last(world))?.damaged, true, 'another sample is of other records')
    for (let i = 0; i < 5; i++) await record(world, { ...sample, proven: false, damaged: true })
    assert.equal(world.keys('a/reports/').length, 2, 'the newest failed one stands for the others')
  })

  test('a drill of an older generation, or one that leaves the topics out, does not settle a failed one', async () => {
    const all = { scope: 'all topics', selection: 'all topics', limited: false, damaged: false }
    const older = await oneBackup()
    await record(older, { ...all, proven: false, damaged: true })
    await record(older, { ...all, generation: 1 })
    assert.equal(failedDrillOf(await last(older))?.generation, 2, 'records of generation 2 were not restored')
    await record(older, all)
    assert.equal(failedDrillOf(await last(older)), undefined)
    for (const topic of ['__consumer_offsets', '_schemas', 'orders@previous']) {
      const world = await oneBackup()
      const one = { scope: `topics ${topic}`, selection: `topics ${topic}`, limited: false, damaged: true }
      await record(world, { ...one, proven: false })
      await record(world, all)
      assert.equal(failedDrillOf(await last(world))?.scope, one.scope, 'a restore of all topics leaves it out')
      await record(world, { ...one, damaged: false })
      assert.equal(failedDrillOf(await last(world)), undefined)
    }
  })

  test('a failed drill stays where its record cannot be read for a moment', async () => {
    const world = await oneBackup()
    const failed = (await record(world, { proven: false, damaged: true })) ?? assert.fail('not recorded')
    const { read } = world.storage
    world.storage.read = async (key, signal) => {
      if (key === failed) throw new KafkaBackupError('STORAGE_UNAVAILABLE', `${key}: the store does not answer`)
      return read.call(world.storage, key, signal)
    }
    const during = await last(world)
    assert.match(
      during.last_failed_drill && 'error' in during.last_failed_drill ? during.last_failed_drill.error : '',
      /the store does not answer/,
    )
    await record(world, { scope: 'topics audit', selection: 'topics audit', limited: false, damaged: false })
    world.storage.read = read
    assert.equal(failedDrillOf(await last(world))?.damaged, true)
  })

  test('a failed drill is shown behind many later ones in a store that lets nothing be removed', async () => {
    const world = await oneBackup()
    world.storage.remove = async key => {
      throw new KafkaBackupError('STORAGE_RETAINED', `${key} is protected`)
    }
    const sample = { scope: '5% of every partition of all topics', selection: 'all topics', limited: true }
    const all = { scope: 'all topics', selection: 'all topics', limited: false, damaged: false }
    await record(world, { ...all, proven: false, damaged: true })
    for (let i = 0; i < 25; i++) await record(world, { ...sample, damaged: false })
    assert.equal(failedDrillOf(await last(world))?.damaged, true)
    await record(world, all)
    assert.equal(failedDrillOf(await last(world)), undefined)
  })

  test('a damaged record is reported and does not hide the backup', async () => {
    const world = await oneBackup()
    const key = (await record(world)) ?? assert.fail('not recorded')
    const bytes = world.storage.objects.get(key)
    world.storage.objects.set(key, Buffer.from(String(bytes).replace('1200', '9999')))
    const read = await last(world)
    assert.match(read.last_drill && 'error' in read.last_drill ? read.last_drill.error : '', /reports\/drilled\//)
    assert.match(describeDrills(read, 0), /^unknown: /)
    const [row] = await listBackups(world.storage, never)
    assert.ok(row && !('error' in row))
  })

  test('records nothing for a backup that was removed meanwhile', async () => {
    const world = await oneBackup()
    await deleteBackup('a', world.partsAt(), { isDryRun: false }, never)
    assert.equal(await record(world), undefined)
    assert.deepEqual(world.keys('a/reports/'), [])
  })
})
