import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type LeaseDocument, LONGEST_TTL_MS } from '../../src/archive/lease.ts'
import { hasCode } from '../../src/errors.ts'
import { deleteBackup } from '../../src/retention/delete-backup.ts'
import { runPrune } from '../../src/retention/prune.ts'
import { never } from '../archive/sample-archive.ts'
import { DAY, HOUR, World } from './world.ts'

const MINUTE = 60_000
const FORGED = 'a/leases/forged.json'

/** A backup with something to remove, and a lease that no process holds. */
async function forge(spec: Partial<LeaseDocument>): Promise<World> {
  const world = new World()
  for (let day = 0; day < 3; day++) {
    await world.commit('a')
    world.clock.pass(2 * DAY)
  }
  const document: LeaseDocument = {
    format: 'kafka-backup-lease',
    format_version: 1,
    role: 'writer',
    kind: 'backup',
    run: 'forged',
    host: 'h2',
    pid: 7,
    tool_version: '0.0.0',
    started_at: '2026-03-15T12:00:00Z',
    renewed_at: '2026-03-15T12:00:00Z',
    ttl_ms: 10 * HOUR,
    ...spec,
  }
  await world.storage.create(FORGED, Buffer.from(JSON.stringify(document)), never)
  return world
}

/** How many generations a prune removes; `writerTtlMs` is the `lease_duration` of the job that it was given. */
async function prune(world: World, writerTtlMs?: number): Promise<number | undefined> {
  const parts = { ...world.partsAt(), ...(writerTtlMs !== undefined && { writerTtlMs }) }
  const { backups } = await runPrune({ match: ['*'], graceMs: DAY }, parts, { isDryRun: false }, never)
  return backups[0]?.generationsRemoved
}

describe('a lease that is not renewed holds up a prune for no longer than', () => {
  test('the lease_duration of the job of the prune, and at least two minutes, where it is a writer', async () => {
    for (const [leaseMs, boundMs] of [
      [MINUTE, 2 * MINUTE],
      [2 * MINUTE, 2 * MINUTE],
      [10 * MINUTE, 10 * MINUTE],
    ] as const) {
      const world = await forge({})
      world.clock.pass(boundMs)
      assert.equal(await prune(world, leaseMs), 0)
      world.clock.pass(1)
      assert.equal(await prune(world, leaseMs), 2)
    }
  })

  test('five minutes where it is a reader, and one minute where it is a prune', async () => {
    for (const [role, boundMs] of [
      ['reader', 5 * MINUTE],
      ['prune', MINUTE],
    ] as const) {
      const world = await forge({ role })
      world.clock.pass(boundMs)
      assert.equal(await prune(world), 0)
      world.clock.pass(1)
      assert.equal(await prune(world), 2)
    }
  })

  test('an hour where it is a writer of an unknown term: a backup may run with a lease_duration of an hour', async () => {
    const world = await forge({})
    world.clock.pass(LONGEST_TTL_MS)
    assert.equal(await prune(world), 0)
    world.clock.pass(1)
    assert.equal(await prune(world), 2)
  })

  test('the same where it cannot be read', async () => {
    const world = await forge({})
    world.storage.objects.set(FORGED, Buffer.from('{}'))
    world.clock.pass(2 * MINUTE)
    assert.equal(await prune(world, MINUTE), 0)
    world.clock.pass(1)
    assert.equal(await prune(world, MINUTE), 2)
  })

  test('no time at all where its time lies in the far future, as a folder lets anyone set it', async () => {
    const world = await forge({})
    world.storage.modified.set(FORGED, world.clock.now() + 3650 * DAY)
    assert.equal(await prune(world), 2)
    assert.deepEqual(world.keys('a/leases/'), [], 'it would delay every later backup')
  })

  test('and a delete neither', async () => {
    const world = await forge({})
    const remove = () => deleteBackup('a', { ...world.partsAt(), writerTtlMs: 2 * MINUTE }, { isDryRun: false }, never)
    await assert.rejects(remove, error => hasCode(error, 'BACKUP_IN_USE'))
    world.clock.pass(2 * MINUTE + 1)
    assert.equal((await remove()).isFound, true)
    assert.deepEqual(world.keys(), [])
  })
})

test('the text of a forged lease is one short line of the report', async () => {
  const world = await forge({ kind: 'x\ny'.repeat(100_000), host: 'h' })
  const { backups } = await world.prune()
  const [holder = ''] = backups[0]?.usedBy ?? []
  assert.match(holder, /^x yx y/)
  assert.ok(holder.length < 400 && !holder.includes('\n'), `${holder.length} characters`)
})

test('a live writer with a lease of an hour is not pruned between two renewals', async () => {
  const world = await forge({ ttl_ms: HOUR })
  world.clock.pass(20 * MINUTE)
  assert.equal(await prune(world), 0)
  assert.equal(await prune(world, HOUR), 0)
})
