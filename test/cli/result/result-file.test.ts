import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Actions } from '../../../src/cli/actions.ts'
import { main } from '../../../src/cli/main.ts'
import { KeyRefusal } from '../../../src/encryption/open-keys.ts'
import { KafkaBackupError } from '../../../src/errors.ts'
import type { Copies } from '../../../src/jobs/copy.ts'
import type { OffsetsSession } from '../../../src/jobs/offsets.ts'
import { RestoreRefusal } from '../../../src/restore/refusal.ts'
import {
  backupReport,
  checkReport,
  compareReport,
  copyReport,
  dryRun,
  fakeActions,
  gap,
  job,
  pruneReport,
  verifyReport,
} from '../fake-actions.ts'
import { FakeIo } from '../fake-io.ts'
import { restoreDryRun, restoreReport } from '../restore-samples.ts'

const env = { KAFKA_BACKUP_RESULT_FILE: '/dev/termination-log' }
const backup = ['backup', '--config', 'job.yaml']

async function run(argv: string[], actions: Partial<Actions> = {}, io = new FakeIo({ env })) {
  const exit = await main(argv, io, fakeActions(actions))
  const text = io.files.get('/dev/termination-log')
  return { exit, io, result: text ? JSON.parse(text) : undefined }
}

describe('the result file', () => {
  test('of a backup contains what was copied and the totals of the backup', async () => {
    const runBackupJob: Actions['runBackupJob'] = async (_job, { onProgress, onStorageCall }) => {
      onProgress({ type: 'copied', topic: 'orders', partition: 0, offsets: 5n, records: 500_000, bytes: 429_496_730 })
      onProgress({ type: 'warning', message: 'x' })
      for (const operation of ['write', 'commit', 'create', 'read'] as const) {
        onStorageCall?.({ operation, key: 'k', ms: 1, bytes: 100 })
      }
      return { ...backupReport, newGaps: [gap], occupiedBytes: 394_264_600 }
    }
    const { exit, result } = await run(backup, { runBackupJob })
    assert.equal(exit, 0)
    assert.deepEqual(result, {
      ...{ ok: true, command: 'backup', exit: 0, code: null, message: null, help: null, details: {}, retryable: false },
      totals: {
        ...{ records: 500_000, bytes: 429_496_730, topics: 1, partitions: 1, stored_bytes: 200 },
        backup: {
          ...{ topics: 1, partitions: 1, records: 1_500_000, bytes: 1_288_490_189, stored_bytes: 394_264_600, gaps: 0 },
          may_hold_deleted_keys: 1,
        },
      },
      ...{ backup_id: 'orders', generation: 3, warnings: 1, gaps: 1, report: null },
      ...{ started_at: '2025-11-15T09:30:00.000Z', finished_at: '2025-11-15T09:30:00.000Z' },
    })
  })

  test('of a failure contains the error, its help and the progress', async () => {
    const runBackupJob: Actions['runBackupJob'] = async (_job, { onProgress }) => {
      onProgress({ type: 'committed', generation: 4, complete: false })
      onProgress({ type: 'copied', topic: 'orders', partition: 0, offsets: 5n, records: 5, bytes: 50 })
      throw new KafkaBackupError('KAFKA_DENIED', 'no Read on topic orders', { help: 'Grant it.' })
    }
    const { exit, result } = await run(backup, { runBackupJob })
    assert.equal(exit, 1)
    const { ok, exit: told, code, message, help, generation, totals, retryable } = result
    assert.deepEqual(
      { ok, told, code, message, help, generation, retryable },
      {
        ...{ ok: false, told: 1, code: 'KAFKA_DENIED', message: 'no Read on topic orders', help: 'Grant it.' },
        ...{ generation: 4, retryable: false },
      },
    )
    assert.equal(totals.records, 5)
  })

  test('is written after a bad command line and a bad job file', async () => {
    const usage = await run(['backup', '--nothing'])
    assert.deepEqual([usage.result.command, usage.result.exit, usage.result.code], ['backup', 2, 'USAGE'])
    const loadBackupJob = () => Promise.reject(new KafkaBackupError('CONFIG_INVALID', 'bad'))
    const invalid = await run(backup, { loadBackupJob })
    assert.deepEqual([invalid.result.exit, invalid.result.code], [2, 'CONFIG_INVALID'])
  })

  test('reports whether to retry: by code, by cause after partial success, always after an interruption', async () => {
    const cause = (code: 'KAFKA_TIMEOUT' | 'KAFKA_AUTH') =>
      new KafkaBackupError('BACKUP_PARTIAL', 'x', { cause: new KafkaBackupError(code, 'x') })
    for (const [error, retryable] of [
      [new KafkaBackupError('KAFKA_UNREACHABLE', 'x'), true],
      [new KafkaBackupError('KAFKA_AUTH', 'x'), false],
      [new KafkaBackupError('WRITER_CONFLICT', 'x'), false],
      [new KafkaBackupError('ARCHIVE_DAMAGED', 'x'), false],
      [new KafkaBackupError('GAP_FOUND', 'x'), false],
      [new KafkaBackupError('TERMINATED', 'x'), true],
      [cause('KAFKA_TIMEOUT'), true],
      [cause('KAFKA_AUTH'), false],
      [new KeyRefusal('x', 'is locked', { cause: new KafkaBackupError('KMS_UNREACHABLE', 'x') }), true],
      [new KeyRefusal('x', 'is locked', {}), false],
      [new Error('a bug'), false],
    ] as const) {
      const { result } = await run(backup, { runBackupJob: () => Promise.reject(error) })
      assert.equal(result.retryable, retryable, result.code)
    }
  })

  test('explains a nonzero exit code without a failure', async () => {
    const problems = [
      { key: 'orders/a', problem: 'missing' },
      { key: 'orders/a', problem: 'short' },
    ]
    const damaged = await run(['verify', '--path', '/b', '--backup-id', 'orders'], {
      verifyBackup: async () => ({ ...verifyReport, ok: false, problems }),
    })
    const { exit, code, message, totals, backup_id } = damaged.result
    assert.deepEqual([exit, code, message], [3, 'ARCHIVE_DAMAGED', '2 problems; the first: orders/a: missing'])
    assert.deepEqual([totals.objects, totals.damaged, backup_id], [5, 1, 'orders'])
    const differs = { ...compareReport, ok: false, totals: { ...compareReport.totals, differences: 2 } }
    const compared = await run(['compare', '--config', 'r.yaml'], { compareJob: async () => differs })
    assert.match(compared.result.message, /differs from the backup: 2 differences/)
    const denied = { subject: 'topic t', action: 'Read', allowed: false, detail: 'denied' }
    const checked = await run(['check', '--config', 'j.yaml'], {
      checkJob: async () => ({ ...checkReport, ok: false, checks: [denied] }),
    })
    assert.deepEqual([checked.result.exit, checked.result.message], [1, 'topic t, Read: denied'])
  })

  test('of a restore contains records and groups, and the first group without a committed offset', async () => {
    const group = { group: 'g', target: 'g', committed: [], kept: [], leftOut: 0 }
    const consumerGroups = {
      groups: [{ ...group, outcome: 'failed' as const, error: 'came back' }],
      totals: { groups: 1, committed: 0, kept: 0, failed: 1 },
    }
    const { result } = await run(['restore', '--config', 'r.yaml'], {
      runRestoreJob: async () => ({ ...restoreReport, consumerGroups }),
    })
    assert.deepEqual([result.exit, result.totals.records], [4, restoreReport.totals.records])
    assert.deepEqual([result.totals.groups, result.totals.groups_failed], [1, 1])
    assert.match(result.message, /1 consumer group did not get all committed offsets; g: came back/)
  })

  test('of a restore and of its dry run contains the estimated time', async () => {
    const estimate = { seconds: 240, precision: 'about' as const, limitedBy: 'target_write' as const }
    const planned = {
      ...{ ...estimate, bytes: 1, records: 1, storeBytes: 1, steps: [], notIncluded: [], source: null, problems: [] },
    }
    const dryRun = (known: typeof planned | (Omit<typeof planned, 'seconds'> & { seconds: null })) =>
      run(['restore', '--config', 'r.yaml', '--dry-run'], {
        dryRunRestoreJob: async () => ({ ...restoreDryRun, findings: [], estimate: known }),
      })
    const named = { seconds: 240, precision: 'about', limited_by: 'target_write' }
    assert.deepEqual((await dryRun(planned)).result.totals.estimate, named)
    assert.equal((await dryRun({ ...planned, seconds: null })).result.totals.estimate, undefined)
    const source = { kind: 'probe' as const, at: '2026-01-02T03:04:05.000Z' }
    const recovery = {
      ...{ targetCluster: 'c1', rewritesIds: false, repartition: 'keep' as const, measuredAt: source.at },
      ...{ schemasMs: 0, registryRequests: 0, recordsMs: 1, bytes: 1, comparisonMs: 0, groupsMs: 0 },
      ...{ limitedBy: 'target' as const, estimate: { ...estimate, source, actualSeconds: 252.0004 } },
    }
    const { result } = await run(['restore', '--config', 'r.yaml'], {
      runRestoreJob: async () => ({ ...restoreReport, recovery }),
    })
    assert.deepEqual(result.totals.estimate, { ...named, actual_seconds: 252 })
  })

  test('of a refused restore names all blockers', async () => {
    const finding = { severity: 'error' as const, subject: 'topic t', problem: 'is too small', remedy: 'enlarge it' }
    const { result, io } = await run(['restore', '--config', 'r.yaml'], {
      runRestoreJob: () => Promise.reject(new RestoreRefusal([finding])),
    })
    assert.deepEqual([result.exit, result.code], [1, 'RESTORE_REFUSED'])
    assert.match(result.message, /topic t: is too small/)
    assert.match(io.stderr.text, /error: the target is not suitable for this restore: 1 problem/)
  })

  test('of a dry run names what the run would be refused for or lose', async () => {
    const finding = { severity: 'error' as const, subject: 'topic t', problem: 'is too small', remedy: 'enlarge it' }
    const refused = await run(['restore', '--config', 'r.yaml', '--dry-run'], {
      dryRunRestoreJob: async () => ({ ...restoreDryRun, findings: [finding] }),
    })
    assert.deepEqual([refused.result.exit, refused.result.code], [1, 'RESTORE_REFUSED'])
    assert.match(refused.result.message, /topic t: is too small/)
    const { result } = await run([...backup, '--dry-run'], {
      dryRunJob: async () => ({ ...dryRun, leaderless: ['t/1'] }),
    })
    assert.deepEqual([result.exit, result.message], [4, '1 partition without a leader would not be copied'])
  })

  test('of a restore counts access rules that were refused', async () => {
    const totals = { created: 1, kept: 0, differs: 0, cannot: 0, failed: 2 }
    const { result } = await run(['restore', '--config', 'r.yaml'], {
      runRestoreJob: async () => ({ ...restoreReport, access: { totals } }),
    })
    assert.deepEqual([result.exit, result.message], [4, '2 access rules could not be restored; the report names each'])
  })

  test('of a copy names the backup that its exit code is about', async () => {
    const copy = async (backupId: string) => {
      if (backupId === 'orders') return { ...copyReport, ok: false, problems: [{ key: 'orders/a', problem: 'short' }] }
      throw new KafkaBackupError('WRITER_CONFLICT', 'it is being written')
    }
    const copied = (...ids: string[]) =>
      run(['copy', '--from', '/a', '--to', '/b', ...ids.flatMap(id => ['--backup-id', id])], {
        withCopies: (_places, _hooks, _signal, work) =>
          work({ from: '/a', to: '/b', listIds: async () => [], copy: copy as Copies['copy'] }),
      })
    const { result } = await copied('orders', 'payments')
    assert.deepEqual([result.exit, result.code], [5, 'WRITER_CONFLICT'])
    assert.equal(result.message, '2 backups not copied, or damaged; payments: it is being written')
    const damaged = (await copied('orders')).result
    assert.deepEqual([damaged.exit, damaged.code], [3, 'ARCHIVE_DAMAGED'])
    assert.equal(damaged.message, '1 backup not copied, or damaged; orders: orders/a: short')
  })

  test('of a prune says why nothing is removed', async () => {
    const { result } = await run(['prune', '--path', '/b', '--older-than', '1d', '--yes'], {
      pruneAt: async () => ({ ...pruneReport, clockDoubt: 'the clocks differ' }),
    })
    assert.deepEqual([result.exit, result.message], [4, 'nothing is removed, because the clocks differ'])
    const { result: some } = await run(['prune', '--path', '/b', '--older-than', '1d', '--yes'], {
      pruneAt: async () => ({ ...pruneReport, clockDoubt: 'the clocks differ', doubtedBackups: ['orders-2'] }),
    })
    assert.equal(some.message, 'nothing is removed from the backup orders-2, because the clocks differ')
  })

  test('contains the snapshot of an interrupted reset', async () => {
    const session: Partial<OffsetsSession> = {
      reset: async (_request, onSnapshot) => {
        onSnapshot('20251115t093000z-1a2b3c4d')
        throw new KafkaBackupError('KAFKA_DISCONNECTED', 'gone')
      },
      close: async () => undefined,
    }
    const { result } = await run(
      ['offsets', 'reset', '--bootstrap-server', 'k:9092', '--group', 'g', '--strategy', 'latest', '--yes'],
      { openOffsets: async () => session as OffsetsSession },
    )
    assert.deepEqual([result.command, result.code], ['offsets reset', 'KAFKA_DISCONNECTED'])
    assert.deepEqual([result.totals.snapshot_id, result.retryable], ['20251115t093000z-1a2b3c4d', true])
  })

  test('contains no secret of the job, also in cut messages', async () => {
    const secret = 'hunter22-hunter22'
    const secretive = { ...job, auth: { password: secret } }
    const message = `${secret}${'x'.repeat(3000)}`.repeat(5)
    const { result, io } = await run(backup, {
      loadBackupJob: async () => secretive,
      runBackupJob: () => Promise.reject(new KafkaBackupError('KAFKA_AUTH', message, { help: `not ${secret}` })),
    })
    assert.match(result.message, /^\[redacted\]xxx.*…$/)
    assert.equal(result.help, 'not [redacted]')
    assert.doesNotMatch(io.files.get('/dev/termination-log') ?? '', /hunter/)
  })

  test('causes only a warning if it cannot be written', async () => {
    const io = new FakeIo({ env })
    io.writeFile = () => {
      throw new Error('EROFS: read-only file system')
    }
    assert.equal((await run(backup, {}, io)).exit, 0)
    assert.match(io.stderr.text, /warning: the result cannot be written to \/dev\/termination-log .*EROFS/)
    assert.equal(io.stderr.text.match(/cannot be written/g)?.length, 1)
  })

  test('is empty while the command runs, and written when a second signal ends the process', async () => {
    const io = new FakeIo({ env })
    const started = Promise.withResolvers<void>()
    const runBackupJob: Actions['runBackupJob'] = () => {
      started.resolve()
      return new Promise(() => undefined)
    }
    void main(backup, io, fakeActions({ runBackupJob }))
    await started.promise
    assert.equal(io.files.get('/dev/termination-log'), '')
    io.signal('SIGTERM')
    io.clock.pass(1000)
    io.signal('SIGTERM')
    const { exit, code, retryable } = JSON.parse(io.files.get('/dev/termination-log') ?? '')
    assert.deepEqual([exit, code, retryable, io.exits], [143, 'TERMINATED', true, [143]])
  })

  test('is not written without a name', async () => {
    const io = new FakeIo()
    await run(backup, {}, io)
    assert.equal(io.files.size, 0)
  })
})

describe('--report', () => {
  test('stores the output of --format json, and the result file names it', async () => {
    const io = new FakeIo({ env })
    const actions = fakeActions()
    await main([...backup, '--report', '--format', 'json'], io, actions)
    const [, kept] = actions.calls.writeReport as [unknown, { startedMs: number; text: string }]
    assert.deepEqual(JSON.parse(kept.text), JSON.parse(io.stdout.text))
    assert.equal(JSON.parse(io.files.get('/dev/termination-log') ?? '').report, 'orders/reports/r.json')
    await main(['restore', '--config', 'r.yaml', '--report'], new FakeIo(), actions)
    const [, restored] = actions.calls.writeReport as [unknown, { text: string }]
    assert.equal(JSON.parse(restored.text).restore_id, restoreReport.restoreId)
  })

  test('causes only a warning if the store refuses it', async () => {
    const writeReport = () => Promise.reject(new KafkaBackupError('STORAGE_DENIED', 'read-only'))
    const { exit, io, result } = await run([...backup, '--report'], { writeReport })
    assert.deepEqual([exit, result.ok, result.report, result.warnings], [0, true, null, 1])
    assert.match(io.stderr.text, /warning: the report could not be stored: read-only/)
  })

  test('is refused together with --dry-run', async () => {
    for (const command of ['backup', 'restore']) {
      const { exit } = await run([command, '--config', 'x.yaml', '--dry-run', '--report'])
      assert.equal(exit, 2)
    }
  })
})
