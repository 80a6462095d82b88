import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type Actions, realActions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { RestoreRefusal } from '../../src/restore/refusal.ts'
import { fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'
import { findings, restoreDryRun, restoreJob, restoreReport } from './restore-samples.ts'

async function run(argv: string[], replaced: Partial<Actions> = {}, io = new FakeIo()) {
  const actions = fakeActions(replaced)
  const code = await main(['restore', '--config', 'restore.yaml', ...argv], io, actions)
  return { code, out: io.stdout.text, err: io.stderr.text, calls: actions.calls }
}

describe('restore', () => {
  test('sums up what was written, and shows each topic with its name on the target', async () => {
    const { code, out, err } = await run([])
    assert.deepEqual([code, err], [0, ''])
    assert.equal(
      out,
      `Restored orders from /backups
  Wrote       1,500,001 records, 400 MiB in 10.0 s (40.0 MiB/s)
  Into        2 topics, 5 partitions
  Rebuilt     12 batches
  Generation  3
  Restore id  5f1c9a3b7d2e4f60

SOURCE  TARGET    PARTITIONS    RECORDS    BYTES  REBUILT
orders  orders-2           4  1,500,000  400 MiB       12
audit   audit              1          1     80 B        0
`,
    )
  })

  test('in JSON has the run, the topics and the totals', async () => {
    const { code, out } = await run(['--format', 'json'], {
      runRestoreJob: async () => ({ ...restoreReport, warnings: ['a'] }),
    })
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(out), {
      restore_id: '5f1c9a3b7d2e4f60',
      backup_id: 'orders',
      location: '/backups',
      generation: 3,
      already_complete: false,
      duration_ms: 10000,
      topics: [
        {
          source: 'orders',
          target: 'orders-2',
          partitions: 4,
          records: 1500000,
          bytes: 419430400,
          rebuilt_batches: 12,
        },
        { source: 'audit', target: 'audit', partitions: 1, records: 1, bytes: 80, rebuilt_batches: 0 },
      ],
      totals: { topics: 2, partitions: 5, records: 1500001, bytes: 419430480, rebuilt_batches: 12 },
      warnings: ['a'],
    })
  })

  test('says of a restore that an earlier run has finished that it is complete, with exit code 0', async () => {
    const topics = restoreReport.topics.map(topic => ({ ...topic, records: 0, bytes: 0, rebuilt: 0 }))
    const done = { runRestoreJob: async () => ({ ...restoreReport, topics, wasComplete: true }) }
    const { code, out } = await run([], done)
    assert.equal(code, 0)
    assert.match(out, /^Already complete: the restore of orders from \/backups\n {2}Wrote +nothing: an earlier run/)
    assert.doesNotMatch(out, /SOURCE/)
    const json = await run(['--format', 'json'], done)
    assert.deepEqual([json.code, JSON.parse(json.out).already_complete], [0, true])
  })

  test('reminds that retention is off where the job holds it', async () => {
    const held = { ...restoreJob, restore: { ...restoreJob.restore, retention: 'hold' as const } }
    const { out } = await run([], { loadRestoreJob: async () => held })
    assert.match(out, /\n\nRetention is off on the topics that were made \(restore\.retention: hold\)/)
    assert.doesNotMatch((await run([])).out, /Retention/)
  })

  test('shows its progress in records', async () => {
    const io = new FakeIo()
    const runRestoreJob: Actions['runRestoreJob'] = async (_, { onProgress }) => {
      onProgress({ type: 'planned', topics: 1, partitions: 2, offsets: 4n, unit: 'records' })
      onProgress({ type: 'copied', topic: 't', partition: 0, offsets: 1n, records: 1, bytes: 1024 })
      io.clock.pass(10_000)
      return restoreReport
    }
    const { err } = await run([], { runRestoreJob }, io)
    assert.deepEqual(err.split('\n'), [
      'restore: 1 topic, 2 partitions, 4 records to write',
      'restore: 25%, 1 record, 1.0 KiB, 102 B/s, ETA 30 s',
      'restore: done: 1 record, 1.0 KiB in 10.0 s',
      '',
    ])
  })

  for (const [name, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    test(`interrupted by ${name} it says that the target has a note, and exits ${code}`, async () => {
      const io = new FakeIo()
      const started = Promise.withResolvers<void>()
      const runRestoreJob: Actions['runRestoreJob'] = (_job, _hooks, signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
          started.resolve()
        })
      const ended = run([], { runRestoreJob }, io)
      await started.promise
      io.signal(name)
      const { code: ended_with, err } = await ended
      assert.equal(ended_with, code)
      assert.match(err, /^finishing what is in hand; press again to stop at once\nerror: interrupted/)
      assert.match(err, /help: What was written is noted on the target; run the same command to go on\. /)
    })
  }
})

describe('a refused restore', () => {
  const refused: Partial<Actions> = { runRestoreJob: () => Promise.reject(new RestoreRefusal(findings)) }

  test('shows people all findings as a table, then how many stand in the way', async () => {
    const { code, out, err } = await run([], refused)
    assert.deepEqual([code, out], [1, ''])
    assert.equal(
      err,
      `Found on the target
         TOPIC     PROBLEM                 WHAT TO DO
error    audit     it already has records  delete it
error    orders-2  it does not exist       create it
warning  orders-2  it is odd               look at it
error: the target is not fit for this restore: 2 problems
help: Nothing was written. Do what is said of each topic, then run the command again. (RESTORE_REFUSED)
`,
    )
  })

  test('gives programs all errors in the message', async () => {
    const { code, out, err } = await run(['--format', 'json', '--log-format', 'json'], refused)
    const { error } = JSON.parse(out)
    assert.deepEqual([code, error.code, error.exit_code], [1, 'RESTORE_REFUSED', 1])
    assert.equal(error.message, 'audit: it already has records (delete it); orders-2: it does not exist (create it)')
    assert.equal(JSON.parse(err).msg, error.message)
  })

  test('names the remedy where there is one problem', async () => {
    const one = new RestoreRefusal(findings.slice(0, 1))
    const { err } = await run([], { runRestoreJob: () => Promise.reject(one) })
    assert.match(err, /: 1 problem\nhelp: Nothing was written\. To go on: delete it\. \(RESTORE_REFUSED\)\n$/)
  })
})

describe('restore --dry-run', () => {
  test('shows what would be written and which settings wait, and runs nothing', async () => {
    const { code, out, calls } = await run(['--dry-run'])
    assert.deepEqual([code, calls.runRestoreJob], [0, undefined])
    assert.equal(
      out,
      `Dry run of the restore of orders: nothing is written
  From         generation 3 at /backups
  To cluster   T2U3OEVBNTcwNTJENDM2Qk
  Restore id   5f1c9a3b7d2e4f60
  State        not begun
  Would write  about 1,500,001 records, about 400 MiB into 2 topics, 5 partitions

SOURCE  TARGET    PARTITIONS     RECORDS     BYTES
orders  orders-2           4  ~1,500,000  ~400 MiB  would be made
audit   audit              1           1      80 B  exists

Settings that are held back until all is written
TOPIC     SETTING         WHILE FILLING  AFTERWARDS
orders-2  cleanup.policy  delete         compact
orders-2  retention.ms    -1             stays so
`,
    )
  })

  test('shows what stands in the way and exits 1', async () => {
    const dryRunRestoreJob = async () => ({ ...restoreDryRun, findings, warnings: ['generation 3 is incomplete'] })
    const { code, out, err } = await run(['--dry-run'], { dryRunRestoreJob })
    assert.deepEqual([code, err], [1, ''])
    assert.match(out, /^error {4}audit +it already has records +delete it$/m)
    assert.match(out, /^Warnings\n {2}generation 3 is incomplete$/m)
    assert.match(out, /\nThe restore would be refused before its first write\.\n$/)
  })

  test('exits 0 where there are only warnings', async () => {
    const only = { ...restoreDryRun, findings: findings.slice(2) }
    const { code, out } = await run(['--dry-run'], { dryRunRestoreJob: async () => only })
    assert.equal(code, 0)
    assert.match(out, /^warning {2}orders-2 /m)
  })

  test('in JSON is the plan with all settings and findings', async () => {
    const dryRunRestoreJob = async () => ({ ...restoreDryRun, findings })
    const { code, out } = await run(['--dry-run', '--format', 'json'], { dryRunRestoreJob })
    const { dry_run, ok, state, topics, totals, findings: found } = JSON.parse(out)
    assert.deepEqual({ code, dry_run, ok, state }, { code: 1, dry_run: true, ok: false, state: 'new' })
    assert.deepEqual(topics[0].held_back, [
      { name: 'cleanup.policy', while_filling: 'delete', afterwards: 'compact' },
      { name: 'compression.type', while_filling: 'producer', afterwards: null },
      { name: 'retention.ms', while_filling: '-1' },
    ])
    assert.deepEqual([totals.records, totals.is_estimate, topics[1].is_estimate], [1_500_001, true, false])
    assert.deepEqual(found, findings)
  })
})

describe('the command restore', () => {
  test('does not run the job of a backup, and names the mode and the command to use', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'restore-command-'))
    try {
      const path = join(folder, 'job.yaml')
      const text = `mode: backup
backup_id: orders
source: { bootstrap_servers: [kafka:9092], topics: { include: [orders] } }
storage: { backend: filesystem, path: /backups }
`
      await writeFile(path, text)
      const io = new FakeIo()
      const actions = fakeActions({ loadRestoreJob: realActions.loadRestoreJob })
      assert.equal(await main(['restore', '--config', path], io, actions), 2)
      assert.deepEqual(actions.calls, {})
      assert.match(
        io.stderr.text,
        /mode: "backup" is a job for `kafka-backup backup`, .* needs mode: restore \[line 1\]/,
      )
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('hides the secrets of the job in the table of findings', async () => {
    const secret = 'hunter2-hunter2'
    const sasl = { mechanism: 'PLAIN' as const, username: 'u', password: secret }
    const security = { protocol: 'SASL_SSL' as const, tls: {}, sasl }
    const job = { ...restoreJob, target: { ...restoreJob.target, security } } as typeof restoreJob
    const leak = new RestoreRefusal([{ severity: 'error', topic: 't', problem: `has ${secret}`, remedy: 'x' }])
    const { err } = await run([], { loadRestoreJob: async () => job, runRestoreJob: () => Promise.reject(leak) })
    assert.match(err, /Found on the target/)
    assert.doesNotMatch(err, /hunter2/)
  })
})
