import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Actions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import type { DeleteReport } from '../../src/retention/delete-backup.ts'
import { deleteReport, fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

interface RunOptions {
  answer?: string
  actions?: Partial<Actions>
  report?: Partial<DeleteReport>
}

async function run(argv: string[], { answer, actions: replaced, report }: RunOptions = {}) {
  const dryRuns: boolean[] = []
  const ids: string[] = []
  const questions: string[] = []
  const ask = async (question: string) => {
    questions.push(question)
    return answer ?? ''
  }
  const io = Object.assign(new FakeIo(), answer === undefined ? {} : { ask })
  io.env.KAFKA_BACKUP_RESULT_FILE = '/dev/termination-log'
  const actions = fakeActions({
    deleteAt: async (_storage, backupId, _hooks, { isDryRun }) => {
      dryRuns.push(isDryRun)
      ids.push(backupId)
      return { ...deleteReport, ...report, backupId, isDryRun }
    },
    ...replaced,
  })
  const code = await main([...argv, '--no-progress'], io, actions)
  const result = JSON.parse(io.files.get('/dev/termination-log') ?? '{}')
  return { code, out: io.stdout.text, err: io.stderr.text, dryRuns, ids, questions, result, calls: actions.calls }
}

const at = ['delete', '--path', '/backups', '--backup-id', 'orders']

describe('delete', () => {
  test('asks for the ID on a terminal, and removes the backup only if it matches', async () => {
    for (const [answer, isDone] of [
      ['orders', true],
      [' orders ', true],
      ['y', false],
      ['', false],
      ['Orders', false],
    ] as const) {
      const { code, dryRuns, questions, err } = await run(at, { answer })
      assert.equal(code, 0)
      assert.deepEqual(questions, ['This cannot be undone. Type the id to remove it: '])
      assert.deepEqual(dryRuns, isDone ? [true, false] : [true])
      assert.match(err, /backup orders: 12 objects \(4\.0 KiB\), 3 generations would be removed/)
      assert.equal(err.includes('nothing was removed'), !isDone)
    }
  })

  test('removes nothing and exits 2 without a terminal and without --yes', async () => {
    const { code, out, err, dryRuns } = await run(at)
    assert.deepEqual([code, dryRuns], [2, [true]])
    assert.match(out, /12 objects/)
    assert.match(err, /nothing was removed: no terminal to confirm on/)
  })

  test('--yes removes the backup without a confirmation, and writes the totals to the result file', async () => {
    const { code, out, dryRuns, result } = await run([...at, '--yes'])
    assert.deepEqual([code, dryRuns], [0, [false]])
    assert.match(
      out,
      /^backup orders: 12 objects \(4\.0 KiB\), 3 generations removed\n1 object of no backup, not removed: /,
    )
    assert.deepEqual(
      [result.ok, result.command, result.backup_id, result.totals],
      [true, 'delete', 'orders', { objects: 12, bytes: 4096, generations: 3, retained: 0 }],
    )
  })

  test('removes the backup of the job, or another one at its location', async () => {
    const { ids } = await run(['delete', '--config', 'job.yaml', '--yes'])
    const { ids: others } = await run(['delete', '--config', 'job.yaml', '--backup-id', 'old', '--yes'])
    assert.deepEqual([ids, others], [['orders'], ['old']])
  })

  test('succeeds if the backup does not exist, so that it can be repeated', async () => {
    const { code, out, result } = await run([...at, '--yes'], { report: { isFound: false } })
    assert.deepEqual([code, result.ok], [0, true])
    assert.match(out, /^nothing to remove: there is no backup orders at \/backups/)
    const asked = await run(at, { answer: 'orders', report: { isFound: false } })
    assert.deepEqual([asked.code, asked.questions], [0, []])
    const json = await run([...at, '--format', 'json'], { report: { isFound: false } })
    assert.equal(JSON.parse(json.out).dry_run, false)
  })

  test('succeeds for a missing location only with --yes', async () => {
    const openBareStorage = async () => {
      throw new KafkaBackupError('STORAGE_NOT_FOUND', 'there is nothing at /backups')
    }
    const { code, out } = await run([...at, '--yes'], { actions: { openBareStorage } })
    assert.deepEqual([code, out], [0, 'nothing to remove: there is nothing at /backups\n'])
    assert.equal((await run(at, { actions: { openBareStorage } })).code, 1)
  })

  test('exits 5 if the backup is in use, and can be retried', async () => {
    const deleteAt = async () => {
      throw new KafkaBackupError('BACKUP_IN_USE', 'backup `orders` is in use: restore on h1')
    }
    const { code, err, result } = await run([...at, '--yes'], { actions: { deleteAt } })
    assert.deepEqual([code, result.code, result.retryable], [5, 'BACKUP_IN_USE', true])
    assert.match(err, /restore on h1/)
  })

  test('exits 4 if the store protects objects', async () => {
    const outcome = { ...deleteReport.outcome, retained: { objects: 2, bytes: 7 }, waiting: { objects: 3, bytes: 9 } }
    const { code, out, result } = await run([...at, '--yes'], { report: { outcome } })
    assert.deepEqual([code, result.code, result.retryable, result.totals.retained], [4, 'STORAGE_RETAINED', false, 5])
    assert.match(out, /5 objects protected by the retention of the store/)
  })

  test('--match removes all backups that match, after the pattern is typed', async () => {
    const all = ['delete', '--path', '/backups', '--match', 'orders-?']
    const asked = await run(all, { answer: 'orders-?' })
    assert.deepEqual([asked.code, asked.dryRuns], [0, [true, true, false, false]])
    assert.deepEqual(asked.questions, ['This cannot be undone. Type the pattern to remove it: '])
    assert.deepEqual((await run(all, { answer: 'orders-1' })).dryRuns, [true, true])
    const { code, out, ids, result, calls } = await run([...all, '--yes', '--format', 'json'])
    assert.deepEqual([code, ids, calls.findBackupsAt?.[1]], [0, ['orders-1', 'orders-2'], ['orders-?']])
    assert.equal(JSON.parse(out).backups.length, 2)
    assert.deepEqual([result.totals.objects, result.totals.generations, result.backup_id], [24, 6, null])
    const none = await run([...all, '--yes'], { actions: { findBackupsAt: async () => [] } })
    assert.deepEqual([none.code, none.out], [0, 'nothing to remove: no backup at /backups matches\n'])
    assert.equal((await run([...all, '--backup-id', 'orders', '--yes'])).code, 2)
  })

  test('--match removes the other backups if one is in use, and exits 5', async () => {
    const deleteAt: Actions['deleteAt'] = async (_storage, backupId) => {
      if (backupId === 'orders-1') throw new KafkaBackupError('BACKUP_IN_USE', 'backup `orders-1` is in use')
      return { ...deleteReport, backupId }
    }
    const all = ['delete', '--path', '/backups', '--match', '*', '--yes']
    const { code, out, result } = await run(all, { actions: { deleteAt } })
    assert.deepEqual([code, result.code, result.totals.objects], [5, 'BACKUP_IN_USE', 12])
    assert.match(out, /^backup orders-2: 12 objects/)
    const json = await run([...all, '--format', 'json'], { actions: { deleteAt } })
    assert.deepEqual([json.code, json.result.code], [5, 'BACKUP_IN_USE'])
    const { backups, error } = JSON.parse(json.out)
    assert.deepEqual([backups.length, error.code], [1, 'BACKUP_IN_USE'])
  })

  test('prints one JSON document without a terminal to confirm on', async () => {
    const { code, out } = await run([...at, '--format', 'json'])
    assert.equal(code, 2)
    assert.equal(JSON.parse(out).error.code, 'USAGE')
  })

  test('--dry-run shows the plan, also as JSON, and excludes --yes', async () => {
    const { code, out, dryRuns } = await run([...at, '--dry-run', '--format', 'json'], { answer: 'orders' })
    assert.deepEqual([code, dryRuns], [0, [true]])
    const { backup_id, dry_run, found, removed, unknown } = JSON.parse(out)
    assert.deepEqual(
      { backup_id, dry_run, found, removed, unknown },
      {
        backup_id: 'orders',
        dry_run: true,
        found: true,
        removed: { objects: 12, bytes: 4096 },
        unknown: ['orders/notes.txt'],
      },
    )
    assert.equal((await run([...at, '--dry-run', '--yes'])).code, 2)
    assert.equal((await run(['delete', '--path', '/backups', '--yes'])).code, 2)
  })
})
