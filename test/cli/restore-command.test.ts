import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type Actions, realActions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import type { Finding } from '../../src/observe/finding.ts'
import { RestoreRefusal } from '../../src/restore/refusal.ts'
import { rule } from '../access/rules.ts'
import { compareReport, fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'
import {
  accessReport,
  carried,
  differing,
  findings,
  restoreDryRun,
  restoreJob,
  restoreReport,
} from './restore-samples.ts'
import { lossyNote, schemaPlan, schemaReport } from './schema-samples.ts'

async function run(argv: string[], replaced: Partial<Actions> = {}, io = new FakeIo()) {
  const actions = fakeActions(replaced)
  const code = await main(['restore', '--config', 'restore.yaml', ...argv], io, actions)
  return { code, out: io.stdout.text, err: io.stderr.text, calls: actions.calls }
}

describe('restore', () => {
  test('reports what was written, and every topic with its target name', async () => {
    const { code, out, err } = await run([])
    assert.deepEqual([code, err], [0, ''])
    assert.equal(
      out,
      `Restored orders from /backups
  Wrote       1,500,001 records, 400 MiB in 10.0 s (40.0 MiB/s)
  Into        2 topics, 5 partitions
  Rebuilt     12 batches: 2 with holes, 10 merged
  Generation  3, committed 2026-01-02 03:04:05Z
  Restore ID  5f1c9a3b7d2e4f60

SOURCE  TARGET    TOPIC    PARTITIONS    RECORDS    BYTES   TIME        RATE  REBUILT
orders  orders-2  created           4  1,500,000  400 MiB  8.0 s  50.0 MiB/s       12
audit   audit     existed           1          1     80 B   4 ms  19.5 KiB/s        0
TOTAL                               5  1,500,001  400 MiB                          12
`,
    )
  })

  test('reports schemas, and exits 4 if the registry cannot store everything', async () => {
    const { code, out } = await run([], { runRestoreJob: async () => ({ ...restoreReport, schemas: schemaReport }) })
    assert.equal(code, 0)
    assert.match(out, /^ {2}Schemas {5}2 subjects, 4 versions: 3 registered, 1 kept$/m)
    assert.match(out, /^ {2}ID mapping {2}1 of 2 IDs changed$/m)
    const lossy = { ...schemaReport, wasComplete: true, notes: [lossyNote] }
    // Notes are among the warnings of a restore.
    const runRestoreJob = async () => ({ ...restoreReport, warnings: [lossyNote.message], schemas: lossy })
    const told = await run([], { runRestoreJob })
    assert.equal(told.code, 4)
    assert.match(told.out, /^ {2}Lossy .*cannot store everything/m)
    assert.match(told.out, /^ {2}the registry keeps no metadata$/m)
    const { schemas, ok } = JSON.parse((await run(['--format', 'json'], { runRestoreJob })).out)
    assert.deepEqual([ok, schemas.lossy, schemas.already_complete], [false, true, true])
    assert.deepEqual(schemas.versions, { registered: 3, kept: 1, replaced: 0, merged: 0, left: 0 })
    assert.deepEqual(schemas.id_mapping, lossy.ids)
    assert.deepEqual(schemas.unaccepted_losses, ['metadata'])
  })

  test('exits 0 if the job accepts every kind of loss, and still reports the loss', async () => {
    const schemas = { ...schemaReport, notes: [lossyNote], acceptLoss: ['metadata'] as const }
    const runRestoreJob = async () => ({ ...restoreReport, schemas })
    const { code, out } = await run([], { runRestoreJob })
    assert.equal(code, 0)
    assert.match(out, /^ {2}Lossy .*cannot store everything in the backup; restore\.accept_loss accepts it$/m)
    assert.match(out, /^metadata +1 {2}yes/m)
    const document = JSON.parse((await run(['--format', 'json'], { runRestoreJob })).out)
    assert.deepEqual([document.ok, document.schemas.lossy, document.schemas.unaccepted_losses], [true, true, []])
    const plan = { ...schemaPlan, notes: [lossyNote], acceptLoss: ['metadata'] as const }
    const dryRunRestoreJob = async () => ({ ...restoreDryRun, findings: [], schemas: plan })
    const dry = await run(['--dry-run'], { dryRunRestoreJob })
    assert.equal(dry.code, 0)
    assert.match(dry.out, /^Losses in the target registry$/m)
    const other = { ...schemaPlan, notes: [lossyNote], acceptLoss: ['mode'] as const }
    const still = await run(['--dry-run'], {
      dryRunRestoreJob: async () => ({ ...restoreDryRun, findings: [], schemas: other }),
    })
    assert.equal(still.code, 4, 'another kind of loss is not accepted')
  })

  test('exits with the code of a record difference rather than of a schema loss', async () => {
    const schemas = { ...schemaReport, notes: [lossyNote] }
    const { code } = await run([], {
      runRestoreJob: async () => ({ ...restoreReport, verification: differing, schemas }),
    })
    assert.equal(code, 3)
  })

  test('--dry-run shows what would happen to schemas', async () => {
    const dryRunRestoreJob = async () => ({ ...restoreDryRun, findings: [], schemas: schemaPlan })
    const { code, out } = await run(['--dry-run'], { dryRunRestoreJob })
    assert.equal(code, 0)
    assert.match(out, /^ {2}Schemas {6}1 subject, 1 version: 1 to register$/m)
    const { schemas } = JSON.parse((await run(['--dry-run', '--format', 'json'], { dryRunRestoreJob })).out)
    assert.deepEqual([schemas.versions, schemas.writes], [schemaPlan.versions, { register: 1 }])
    const lossy = { ...schemaPlan, notes: [lossyNote] }
    const told = await run(['--dry-run'], {
      dryRunRestoreJob: async () => ({ ...restoreDryRun, findings: [], schemas: lossy }),
    })
    assert.equal(told.code, 4)
  })

  test('reports the number of rewritten and unknown schema IDs', async () => {
    const counts = (rewritten: number, unknown: number) => ({
      rewritten,
      unknown,
      same: 1,
      guid: 0,
      unframed: 0,
      unclear: 0,
      kept: 0,
    })
    const report = async (unknown: number) => {
      const schemaIds = { key: counts(1200, 0), value: counts(3, unknown) }
      return { ...restoreReport, totals: { ...restoreReport.totals, schemaIds } }
    }
    const { out } = await run([], { runRestoreJob: () => report(0) })
    assert.match(out, /^ {2}Schema IDs {2}rewritten in 1,200 keys and 3 values$/m)
    const passed = await run([], { runRestoreJob: () => report(7) })
    assert.match(passed.out, /1,200 keys and 3 values; 7 unknown, not changed$/m)
    const { out: json } = await run(['--format', 'json'], { runRestoreJob: () => report(7) })
    assert.equal(JSON.parse(json).totals.schema_ids.value.unknown, 7)
  })

  test('reports the result for consumer groups, and exits 4 if one lacks a committed offset', async () => {
    const runRestoreJob = async () => ({ ...restoreReport, consumerGroups: carried })
    const { code, out } = await run([], { runRestoreJob })
    assert.equal(code, 4)
    assert.match(out, /^ {2}Groups {6}3 consumer groups, 1 already had committed offsets, which are kept, 1 FAILED$/m)
    assert.match(out, /^billing {2}billing-2 +1 +0 +2 +0 *$/m)
    assert.match(out, /^web +web +0 +0 +0 +0 {2}it has members$/m)
    const json = await run(['--format', 'json'], { runRestoreJob })
    const document = JSON.parse(json.out)
    assert.deepEqual([json.code, document.ok, document.consumer_groups.totals.failed], [4, false, 1])
    assert.deepEqual(document.consumer_groups.groups[0].committed[0].target_offset, 1100)
    const none = { groups: [], totals: { groups: 0, committed: 0, kept: 0, failed: 0 }, reason: 'nobody reads' }
    const quiet = await run([], { runRestoreJob: async () => ({ ...restoreReport, consumerGroups: none }) })
    assert.equal(quiet.code, 0)
    assert.match(quiet.out, /^ {2}Groups {6}none: nobody reads$/m)
  })

  test('a dry run shows the groups that would be restored', async () => {
    const position = { topic: 'a', partition: 0, offset: 5n, leader_epoch: 0, metadata: '', lag: 1500n }
    const stream = { topic: 'a', partitions: [], targetTopic: 'a', targetPartition: 0 }
    const type = 'classic' as const
    const group = { group: 'g', type, target: 'h', positions: [position], streams: [stream], leftOut: 0 }
    const dryRunRestoreJob = async () => ({ ...restoreDryRun, consumerGroups: { groups: [group], findings: [] } })
    const { out } = await run(['--dry-run'], { dryRunRestoreJob })
    assert.match(out, /^g +h +1 {2}1,500 +0$/m)
    const { out: json } = await run(['--dry-run', '--format', 'json'], { dryRunRestoreJob })
    assert.deepEqual(JSON.parse(json).consumer_groups.groups[0].positions, [
      { topic: 'a', partition: 0, offset: 5, lag: 1500 },
    ])
  })

  test('reports the result for access rules, and exits 4 if one was refused', async () => {
    const runRestoreJob = async () => ({ ...restoreReport, access: accessReport })
    const { code, out } = await run([], { runRestoreJob })
    assert.equal(code, 4)
    assert.match(
      out,
      /^ {2}Access {6}1 created, 1 already exist, 1 differ and are kept, 1 cannot be restored, 1 FAILED$/m,
    )
    assert.match(out, /^ACLs +ALLOW User:a READ on topic orders +created *$/m)
    assert.match(out, /^ACLs +DENY User:a READ on topic orders {2,}FAILED +no$/m)
    assert.match(out, /^client quotas +user <default>: consumer_byte_rate 2 +DIFFERS, kept +the target has 3$/m)
    assert.match(out, /^SCRAM users +b \(SCRAM-SHA-256\) +not restored +a command$/m)
    assert.doesNotMatch(out, /topic kept/)
    const json = await run(['--format', 'json'], { runRestoreJob })
    const { ok, access } = JSON.parse(json.out)
    assert.deepEqual([json.code, ok, access.totals], [4, false, accessReport.totals])
    assert.deepEqual(
      access.acls.rules.map(({ outcome, resource_name }: Record<string, string>) => [outcome, resource_name]),
      [
        ['failed', 'orders'],
        ['created', 'orders'],
        ['kept', 'kept'],
      ],
    )
    const totals = { created: 0, kept: 0, differs: 0, cannot: 0, failed: 0 }
    const left = await run([], { runRestoreJob: async () => ({ ...restoreReport, access: { totals, reason: 'why' } }) })
    assert.equal(left.code, 0)
    assert.match(left.out, /^ {2}Access {6}none: why$/m)
  })

  test('a dry run shows the access rules that would be created', async () => {
    const create = { item: rule({}), decision: 'create' as const, notes: ['for topic x of the backup'] }
    const access = { acls: { items: [create] }, findings: [] }
    const dryRunRestoreJob = async () => ({ ...restoreDryRun, access })
    const { out } = await run(['--dry-run'], { dryRunRestoreJob })
    assert.match(out, /^ACLs +ALLOW User:a READ on topic orders +would be created +for topic x of the backup$/m)
    const { out: json } = await run(['--dry-run', '--format', 'json'], { dryRunRestoreJob })
    const { acls, quotas } = JSON.parse(json).access
    assert.deepEqual([acls.rules[0].outcome, quotas], ['create', null])
  })

  test('prints the run, topics and totals as JSON', async () => {
    const { code, out } = await run(['--format', 'json'], {
      runRestoreJob: async () => ({ ...restoreReport, warnings: ['a'] }),
    })
    assert.equal(code, 0)
    const nothing = { already_there: 0, rebuilt_batches: 0, rebuilt_because: {} }
    const rebuilt = { already_there: 0, rebuilt_batches: 12, rebuilt_because: { merged: 10, holes: 2 } }
    assert.deepEqual(JSON.parse(out), {
      ok: true,
      restore_id: '5f1c9a3b7d2e4f60',
      backup_id: 'orders',
      location: '/backups',
      generation: 3,
      generation_created_at: '2026-01-02T03:04:05.678Z',
      already_complete: false,
      complete: true,
      duration_ms: 10000,
      topics: [
        {
          source: 'orders',
          target: 'orders-2',
          origin: 'created',
          partitions: 4,
          records: 1500000,
          bytes: 419430400,
          ...rebuilt,
          duration_ms: 8000,
        },
        {
          source: 'audit',
          target: 'audit',
          origin: 'existed',
          partitions: 1,
          records: 1,
          bytes: 80,
          ...nothing,
          duration_ms: 4,
        },
      ],
      totals: { topics: 2, partitions: 5, records: 1500001, bytes: 419430480, ...rebuilt },
      gaps: [],
      warnings: ['a'],
      schemas: null,
      verification: null,
      recovery: null,
    })
  })

  test('reports records of earlier runs, gaps of the backup and all warnings', async () => {
    const [orders, audit] = restoreReport.topics
    const gap = { topic: 'orders', partition: 0, from: 100n, to: 1300n, reason: 'retention' as const }
    const report = {
      ...restoreReport,
      topics: [{ ...orders, origin: 'resumed', found: 700 }, audit] as typeof restoreReport.topics,
      totals: { ...restoreReport.totals, found: 700 },
      gaps: [gap],
      warnings: ['orders/0: the backup lacks the offsets 100 to 1300 (retention)'],
    }
    const { out } = await run([], { runRestoreJob: async () => report })
    assert.match(out, /^ {2}Found +700 records of earlier runs, not written again$/m)
    assert.match(out, /^ {2}Gaps +1 in the backup itself$/m)
    assert.match(out, /^orders +orders-2 +resumed .* 700 +12 +1$/m)
    assert.match(out, /^TOTAL .* 700 +12 +1$/m)
    assert.match(out, /\n\nWarnings\n {2}orders\/0: the backup lacks the offsets 100 to 1300 \(retention\)\n$/)
    const json = await run(['--format', 'json'], { runRestoreJob: async () => report })
    assert.deepEqual(JSON.parse(json.out).gaps, [{ ...gap, from: 100, to: 1300 }])
  })

  test('reports a restore that an earlier run completed, and exits 0', async () => {
    const topics = restoreReport.topics.map(topic => ({ ...topic, records: 0, bytes: 0, found: 5 }))
    const done = { runRestoreJob: async () => ({ ...restoreReport, topics, totals, wasComplete: true }) }
    const totals = { ...restoreReport.totals, records: 0, bytes: 0, found: 10 }
    const { code, out } = await run([], done)
    assert.equal(code, 0)
    assert.match(out, /^Already complete: the restore of orders from \/backups\n {2}Wrote +nothing: an earlier run/)
    assert.match(out, /^ {2}Found +10 records of earlier runs, not written again$/m)
    assert.doesNotMatch(out, /SOURCE/)
    const json = await run(['--format', 'json'], done)
    assert.deepEqual([json.code, JSON.parse(json.out).already_complete], [0, true])
  })

  test('reminds that retention is off if the job holds it', async () => {
    const held = { ...restoreJob, restore: { ...restoreJob.restore, retention: 'hold' as const } }
    const { out } = await run([], { loadRestoreJob: async () => held })
    assert.match(out, /\n\nRetention is off on the created topics \(restore\.retention: hold\)/)
    assert.doesNotMatch((await run([])).out, /Retention/)
  })

  describe('that compares in the end', () => {
    test('reports that all records are equal, separately from the figures of writing', async () => {
      const verification = { ...compareReport, durationMs: 2000 }
      const runRestoreJob = async () => ({ ...restoreReport, durationMs: 12_000, verification })
      const { code, out } = await run([], { runRestoreJob })
      assert.equal(code, 0)
      assert.match(out, /^Restored orders .*\n {2}Wrote .* in 10\.0 s \(40\.0 MiB\/s\)$/m)
      assert.match(out, /^ {2}Compared +1,500,000 records all equal, in 2\.0 s$/m)
      const json = await run(['--format', 'json'], { runRestoreJob })
      const { ok, complete, verification: told } = JSON.parse(json.out)
      assert.deepEqual([json.code, ok, complete, told.ok, told.totals.records], [0, true, true, true, 1_500_000])
    })

    test('exits 3 with the first differences, and reports that settings are not applied', async () => {
      const runRestoreJob = async () => ({ ...restoreReport, isDone: false, verification: differing })
      const { code, out } = await run([], { runRestoreJob })
      assert.equal(code, 3)
      assert.match(out, /^THE TARGET DIFFERS: the restore of orders from \/backups$/m)
      assert.match(out, /^ {2}Compared +7 records equal, 3 differences shown below, 2 removed by compaction since/m)
      assert.match(out, /^copy\/1 +12 +2 +different key, value +"b" +null$/m)
      assert.match(out, /^ {2}copy\/1: a transaction is open$/m)
      assert.match(out, /\n\nThe restore is not complete, and its deferred settings .*restore\.verify: false.*\n$/)
      const json = await run(['--format', 'json'], { runRestoreJob })
      const { ok, complete, verification } = JSON.parse(json.out)
      assert.deepEqual([json.code, ok, complete, verification.totals.differences], [3, false, false, 3])
    })

    test('shows the progress of writing, then of comparing', async () => {
      const io = new FakeIo()
      const runRestoreJob: Actions['runRestoreJob'] = async (_, { onProgress }) => {
        onProgress({ type: 'planned', topics: 1, partitions: 2, offsets: 4n, unit: 'records' })
        onProgress({ type: 'copied', topic: 't', partition: 0, offsets: 4n, records: 4, bytes: 4096 })
        onProgress({ type: 'planned', topics: 1, partitions: 2, offsets: 8n, phase: 'compare' })
        onProgress({ type: 'compared', topic: 't', partition: 0, offsets: 2n, records: 1, bytes: 1024 })
        io.clock.pass(10_000)
        return restoreReport
      }
      const { err } = await run([], { runRestoreJob }, io)
      assert.deepEqual(err.split('\n'), [
        'restore: 1 topic, 2 partitions, 4 records to write',
        'restore: done: 4 records, 4.0 KiB in 0 ms',
        'compare: 1 topic, 2 partitions, 8 offsets to compare',
        'compare: 25%, 1 record, 1.0 KiB, 102 B/s, ETA 30 s',
        'compare: done: 1 record, 1.0 KiB in 10.0 s',
        '',
      ])
    })
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
    test(`reports that progress is stored on the target when interrupted by ${name}, and exits ${code}`, async () => {
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
      assert.match(err, /^finishing current work; press Ctrl-C again to stop now\nerror: interrupted/)
      assert.match(err, /help: What was written is recorded on the target; run the same command to continue\. /)
    })
  }
})

describe('a refused restore', () => {
  const refused: Partial<Actions> = { runRestoreJob: () => Promise.reject(new RestoreRefusal(findings)) }

  test('prints all findings as a table, then the number of blockers', async () => {
    const { code, out, err } = await run([], refused)
    assert.deepEqual([code, out], [1, ''])
    assert.equal(
      err,
      `Preflight findings
         SUBJECT         PROBLEM                 WHAT TO DO
error    topic audit     it already has records  delete it
error    topic orders-2  it does not exist       create it
warning  topic orders-2  it is odd               look at it
error: the target is not suitable for this restore: 2 problems
help: Nothing was written. Resolve every problem listed, then run the command again. (RESTORE_REFUSED)
`,
    )
  })

  test('contains all errors in the message for programs', async () => {
    const { code, out, err } = await run(['--format', 'json', '--log-format', 'json'], refused)
    const { error } = JSON.parse(out)
    assert.deepEqual([code, error.code, error.exit_code], [1, 'RESTORE_REFUSED', 1])
    assert.equal(
      error.message,
      'topic audit: it already has records (delete it); topic orders-2: it does not exist (create it)',
    )
    assert.deepEqual(error.findings, findings)
    assert.equal(JSON.parse(err).msg, error.message)
  })

  test('names the remedy of a single problem', async () => {
    const one = new RestoreRefusal(findings.slice(0, 1))
    const { err } = await run([], { runRestoreJob: () => Promise.reject(one) })
    assert.match(err, /: 1 problem\nhelp: Nothing was written\. To continue: delete it\. \(RESTORE_REFUSED\)\n$/)
  })
})

describe('a restore of a damaged backup', () => {
  const damage: Finding = {
    severity: 'error',
    subject: 'object orders/kafka/orders/0/0.log',
    problem: 'the object is missing',
    remedy: 'restore another generation',
    code: 'ARCHIVE_DAMAGED',
  }

  test('is refused with exit code 3, with all findings, and the same for a dry run', async () => {
    const all = [...findings, damage]
    const refused = await run([], { runRestoreJob: () => Promise.reject(new RestoreRefusal(all)) })
    assert.equal(refused.code, 3)
    assert.match(refused.err, /^error {4}object orders\/kafka\/orders\/0\/0\.log +the object is missing/m)
    assert.match(refused.err, /^error: the backup is damaged: 3 problems$/m)
    const dry = await run(['--dry-run'], { dryRunRestoreJob: async () => ({ ...restoreDryRun, findings: all }) })
    assert.equal(dry.code, 3)
  })
})

describe('restore --dry-run', () => {
  test('shows what would be written and which settings are deferred, and writes nothing', async () => {
    const { code, out, calls } = await run(['--dry-run'])
    assert.deepEqual([code, calls.runRestoreJob], [0, undefined])
    assert.equal(
      out,
      `Dry run of the restore of orders: nothing is written
  From         generation 3, committed 2026-01-02 03:04:05Z, at /backups
  To cluster   T2U3OEVBNTcwNTJENDM2Qk
  Restore ID   5f1c9a3b7d2e4f60
  State        not started
  Would write  about 1,500,001 records, about 400 MiB into 2 topics, 5 partitions

SOURCE  TARGET    PARTITIONS     RECORDS     BYTES
orders  orders-2           4  ~1,500,000  ~400 MiB  would be created
audit   audit              1           1      80 B  exists

Settings deferred until all records are written
TOPIC     SETTING         DURING RESTORE  AFTERWARDS
orders-2  cleanup.policy  delete          compact
orders-2  retention.ms    -1              unchanged
`,
    )
  })

  test('shows blockers and exits 1', async () => {
    const dryRunRestoreJob = async () => ({ ...restoreDryRun, findings, warnings: ['generation 3 is incomplete'] })
    const { code, out, err } = await run(['--dry-run'], { dryRunRestoreJob })
    assert.deepEqual([code, err], [1, ''])
    assert.match(out, /^error {4}topic audit +it already has records +delete it$/m)
    assert.match(out, /^Warnings\n {2}generation 3 is incomplete$/m)
    assert.match(out, /\nThe restore would be refused before it writes anything\.\n$/)
  })

  test('exits 0 if there are only warnings', async () => {
    const only = { ...restoreDryRun, findings: findings.slice(2) }
    const { code, out } = await run(['--dry-run'], { dryRunRestoreJob: async () => only })
    assert.equal(code, 0)
    assert.match(out, /^warning {2}topic orders-2 /m)
  })

  test('prints the plan with all settings and findings as JSON', async () => {
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
  test('refuses the job of a backup, and names the mode and the right command', async () => {
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
    const leak = new RestoreRefusal([{ severity: 'error', subject: 'topic t', problem: `has ${secret}`, remedy: 'x' }])
    const { err } = await run([], { loadRestoreJob: async () => job, runRestoreJob: () => Promise.reject(leak) })
    assert.match(err, /Preflight findings/)
    assert.doesNotMatch(err, /hunter2/)
  })
})
