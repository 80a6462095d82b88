import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import { diffGenerations } from '../../src/archive/diff-generations.ts'
import { listBackups } from '../../src/archive/list-backups.ts'
import { keepGeneration } from '../../src/archive/log/keep-generation.ts'
import { commitKey } from '../../src/archive/log/keys.ts'
import type { StatusFinding } from '../../src/archive/status-finding.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { ArchiveReader } from '../../src/console/archive-reader.ts'
import { type BackupRow, fillRow } from '../../src/console/list-backups.ts'
import { copyBackup } from '../../src/copy/copy-backup.ts'
import { type CatQuery, newTally } from '../../src/inspect/cat.ts'
import { exportAt } from '../../src/jobs/export.ts'
import { catAt } from '../../src/jobs/inspect.ts'
import { readStatus } from '../../src/jobs/read-status.ts'
import type { OnProgress } from '../../src/observe/progress.ts'
import { examineArchive } from '../../src/restore/examine-archive.ts'
import { planRestore } from '../../src/restore/plan.ts'
import { never } from '../archive/sample-archive.ts'
import { plain } from '../copy/copies.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { collect } from '../inspect/collect.ts'
import { plainOptions } from '../restore/plain-options.ts'
import { checkpointOf, grownLog, LogRun } from '../retention/log-world.ts'
import { HOUR, type World } from '../retention/world.ts'

const query: CatQuery = {
  ...{ topic: 'orders', headers: [], keyAs: 'auto', valueAs: 'auto' },
  extent: { offsets: {}, times: {}, withAborted: false },
}

const quiet = { onProgress: plain.onProgress }

/** A backup whose newest checkpoint, or the page of it, is lost, and the warning of it. */
async function damagedWorld(what: 'checkpoint' | 'page' = 'checkpoint'): Promise<{ world: World; warning: string }> {
  const world = await grownLog(13, 4)
  const checkpoint = await checkpointOf(world, 18)
  const isPage = (key: string) => key.startsWith(checkpoint.replace(/\.json.*/, '-'))
  const key = what === 'page' ? (world.keys('a/checkpoints/').find(isPage) ?? assert.fail()) : checkpoint
  assert.ok(world.storage.objects.delete(key))
  const instead = 'an older checkpoint and the commits behind it are read instead, as long as they are there'
  return { world, warning: `${key}: it is missing; ${instead}` }
}

async function damageOf({ storage, clock }: World): Promise<StatusFinding | undefined> {
  const [status] = await readStatus(storage, { expectedOf: () => undefined, at: '' }, clock.now(), never)
  return status?.findings.find(({ kind }) => kind === 'damaged')
}

function collectWarnings(): { warnings: string[]; onProgress: OnProgress } {
  const warnings: string[] = []
  return { warnings, onProgress: event => event.type === 'warning' && warnings.push(event.message) }
}

describe('a damaged checkpoint that is read around is a warning', () => {
  for (const what of ['checkpoint', 'page'] as const) {
    test(`of cat and search, with all records (${what})`, async () => {
      const { world, warning } = await damagedWorld(what)
      const { warnings, onProgress } = collectWarnings()
      const records = await catAt(world.storage, 'a', { query, onProgress }, never, collect)
      assert.deepEqual([records.length, warnings.splice(0)], [340, [warning]])
      await catAt(world.storage, 'a', { query, onProgress, generation: 13 }, never, collect)
      assert.deepEqual(warnings, [])
    })

    test(`of an export (${what})`, async () => {
      const { world, warning } = await damagedWorld(what)
      const to = { print: async (lines: AsyncIterable<Buffer>) => void (await collect(lines)) }
      const request = { query, tally: newTally(), format: 'jsonl', keepsFormulas: false, to } as const
      const { records, warnings } = await exportAt(world.storage, 'a', request, never)
      assert.deepEqual([records, warnings], [340, [warning]])
    })

    test(`of a copy, which is intact (${what})`, async () => {
      const { world, warning } = await damagedWorld(what)
      const { warnings: events, onProgress } = collectWarnings()
      for (const dryRun of [true, false]) {
        const target = openMemoryStorage()
        const sides = { source: world.storage, target }
        const { ok, generations, warnings } = await copyBackup(sides, 'a', { ...plain, dryRun, onProgress }, never)
        assert.deepEqual([ok, generations, warnings, events.splice(0)], [true, [18], [warning], [warning]])
        if (dryRun) continue
        assert.equal((await verifyBackup(target, 'a', { deep: true, onProgress }, never)).ok, true)
      }
    })
  }

  test('of the survey of a restore, which reads the pages of a checkpoint', async () => {
    const { world, warning } = await damagedWorld('page')
    const manifest = await openBackup(world.storage, 'a', never)
    const plan = planRestore(manifest, plainOptions({ backupId: 'a' }))
    const question = { verify: false, progress: undefined, timeWindow: {} }
    const { findings, warnings } = await examineArchive(world.storage, plan, question, never)
    assert.deepEqual([findings, warnings], [[], [warning]])
  })

  test('of a copy to the backup that has it, with its location', async () => {
    const source = await grownLog(13, 4)
    const target = source.clone().storage
    const key = await checkpointOf(source, 18)
    target.objects.delete(key)
    await (await LogRun.open(source, 'a')).rounds(1, HOUR)
    const { ok, warnings } = await copyBackup({ source: source.storage, target }, 'a', plain, never)
    assert.deepEqual([ok, warnings.length], [true, 1])
    assert.ok(warnings[0]?.startsWith(`${key}: at ${target.location}: it is missing; `))
  })

  test('of list and status', async () => {
    const { world, warning } = await damagedWorld()
    const [row] = await listBackups(world.storage, never)
    assert.ok(row && !('error' in row))
    assert.deepEqual(row.warnings, [warning])
    const { level, message, action } = (await damageOf(world)) ?? assert.fail()
    assert.deepEqual([level, message], ['warning', warning])
    const repair = 'if the run fails and names a damaged object, run `kafka-backup repair a`'
    assert.equal(action, `run the backup a: later generations do not need this object; ${repair}`)
  })

  test('of status until the next run, and until a prune of verify --deep', async () => {
    const { world } = await damagedWorld()
    const replaced = await grownLog(13, 4)
    await keepGeneration(replaced.storage, 'a', 18, never)
    replaced.storage.objects.set(commitKey('a', 18), Buffer.from('other bytes'))
    for (const one of [world, replaced]) {
      assert.ok(await damageOf(one))
      await (await LogRun.open(one, 'a')).rounds(1, HOUR)
      assert.equal(await damageOf(one), undefined)
      assert.equal((await verifyBackup(one.storage, 'a', { ...quiet, deep: false }, never)).ok, true)
    }
    const deep = () => verifyBackup(world.storage, 'a', { ...quiet, deep: true }, never)
    assert.equal((await deep()).ok, false)
    world.clock.pass(100 * HOUR)
    await world.prune({ graceMs: 2 * HOUR })
    assert.equal((await deep()).ok, true)
  })

  test('of a comparison of generations', async () => {
    const { world, warning } = await damagedWorld()
    assert.deepEqual((await diffGenerations(world.storage, 'a', { from: 15, to: 18 }, never)).warnings, [warning])
    assert.deepEqual((await diffGenerations(world.storage, 'a', { from: 1, to: 13 }, never)).warnings, [])
  })

  test('of the console, in the row of the backup', async () => {
    const { world } = await damagedWorld()
    const reader = new ArchiveReader([{ name: 'memory', storage: world.storage }], world.clock)
    const row: BackupRow = { at: 0, location: 'memory', backupId: 'a', state: undefined }
    await fillRow(reader, row, never)
    assert.ok(row.state && 'damagedObjects' in row.state)
    assert.equal(row.state.damagedObjects, 1)
  })
})
