import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { hasCode } from '../../src/errors.ts'
import { copyBackup, describe, type ProgressEvent, verify } from '../../src/index.ts'

const location = resolve(import.meta.dirname, '../golden/v0.1.0')
const from = { location }

async function withTarget(work: (location: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-copy-'))
  try {
    await work(join(folder, 'copies'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

test('copyBackup brings a backup to another place, which is made, and tells how far it is', async () => {
  await withTarget(async target => {
    const to = { location: target }
    const tried = await copyBackup({ from, to, backupId: 'golden', dryRun: true })
    assert.deepEqual([tried.dryRun, tried.existingObjects], [true, 0])
    await assert.rejects(describe({ location: target, backupId: 'golden' }), { code: 'STORAGE_NOT_FOUND' })
    const events: ProgressEvent[] = []
    const report = await copyBackup({ from, to, backupId: 'golden', onProgress: event => events.push(event) })
    assert.deepEqual([report.ok, report.generations, report.objects], [true, tried.generations, tried.objects])
    assert.ok(events.some(({ type }) => type === 'transferred'))
    assert.equal((await verify({ location: target, backupId: 'golden', deep: true, record: false })).ok, true)
    const { location: _, ...there } = await describe({ location: target, backupId: 'golden' })
    const { location: __, ...here } = await describe({ location, backupId: 'golden' })
    assert.deepEqual(there, here)
    const again = await copyBackup({ from, to, backupId: 'golden', verifyExisting: true })
    assert.deepEqual([again.ok, again.generations, again.objects, again.existingVerified], [true, [], 0, true])
  })
})

test('copyBackup takes jobs in place of locations, and the backup of the first', async () => {
  await withTarget(async target => {
    const jobAt = (path: string) => ({
      mode: 'restore' as const,
      backup_id: 'golden',
      target: { bootstrap_servers: ['127.0.0.1:1'] },
      storage: { backend: 'filesystem' as const, path },
    })
    const report = await copyBackup({
      from: { job: jobAt(location) },
      to: { job: jobAt(target) },
      generation: 'newest',
    })
    assert.deepEqual([report.backupId, report.ok, report.generations.length], ['golden', true, 1])
  })
})

test('copyBackup refuses a place onto itself, a source that is not there, and a backup that nobody named', async () => {
  await withTarget(async target => {
    const to = { location: target }
    const isCode = (code: Parameters<typeof hasCode>[1]) => (error: unknown) => hasCode(error, code)
    await assert.rejects(copyBackup({ from, to: { location: `${location}/` }, backupId: 'golden' }), isCode('USAGE'))
    await assert.rejects(copyBackup({ from: to, to: from, backupId: 'golden' }), isCode('STORAGE_NOT_FOUND'))
    await assert.rejects(copyBackup({ from, to }), isCode('USAGE'))
    await assert.rejects(copyBackup({ from, to, backupId: 'other' }), isCode('BACKUP_NOT_FOUND'))
    const signal = AbortSignal.abort(new Error('stop'))
    await assert.rejects(copyBackup({ from, to, backupId: 'golden', signal }), isCode('INTERRUPTED'))
  })
})
