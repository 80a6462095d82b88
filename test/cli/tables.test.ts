import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import type { Actions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import type { OffsetsSession } from '../../src/jobs/offsets.ts'
import { lossNote } from '../../src/registry/restore/plan/restore-step.ts'
import {
  backupReport,
  exportReport,
  fakeActions,
  gap,
  manifest,
  repairReport,
  summaries,
  verifyReport,
} from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'
import { accessReport, carried, differing, findings, restoreDryRun, restoreReport } from './restore-samples.ts'
import { backupSource, registryProbe, registrySource, schemaRestoreDryRun } from './schema-samples.ts'

/** Names as they are in large companies, in the place of the short ones of the samples. */
const LONG_TOPIC = 'eu-west-1.payments.orders.v2'

function lengthen<T>(value: T): T {
  if (typeof value === 'string') return value.replace(/^(topic )?orders\b/, `$1${LONG_TOPIC}`) as T
  if (Array.isArray(value)) return value.map(lengthen) as T
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, lengthen(one)])) as T
}

const losses = [
  lossNote('rule_set', 'orders-value', 'the target registry (karapace) does not keep the rule sets of orders-value'),
  lossNote('live_version_deleted', 'a', 'version 1 of subject a is marked as deleted on the target, and stays so'),
  lossNote('context_settings', null, 'the target registry (karapace) does not keep the settings of the context .eu'),
]

const place = { topic: 'orders', partition: 0, leaderEpoch: -1, metadata: 'host-17.consumers.example.com' }
const group = { group: 'billing-of-the-west', type: 'consumer', state: 'Empty', members: 0, undecided: [] } as const
const change = { ...place, from: 5_000_000n, to: 50_000_000n, isChange: true }
const problem = 'the topic does not exist on the target cluster, so no offset can be committed for it'
const plan = {
  clusterId: 'F3A58zlEyGPFjIi3alAKBw',
  strategy: 'earliest' as const,
  groups: [{ now: { ...group, positions: [] }, positions: [change, { ...change, partition: 1, to: null, problem }] }],
}
const position = { ...place, offset: 5_000_000n, logStart: 0n, logEnd: 50_000_000n, lag: 45_000_000n }
const snapshot = {
  snapshotId: '20260131t080000z-1a2b3c4d',
  key: 'offset-snapshots/20260131t080000z-1a2b3c4d.json',
  isEncrypted: true,
  snapshot: {
    ...{ reason: 'reset', created_at: '2026-01-31T08:00:00.000Z', cluster_id: 'F3A58zlEyGPFjIi3alAKBw', groups: [] },
  },
}
const row = { topic: 'orders', partition: 0, was: 5_000_000n, is: 50_000_000n, change: 'ahead', isDifferent: true }
const offsets = {
  list: async () => lengthen({ groups: [{ ...group, positions: [position] }], leftOut: [] }),
  plan: async () => lengthen(plan),
  listSnapshots: async () => [snapshot],
  verify: async () =>
    lengthen({
      snapshotId: 's1',
      isStrict: true,
      ok: false,
      groups: [{ ...group, isDifferent: true, positions: [row] }],
    }),
  requests: () => ({}),
  close: async () => undefined,
} as unknown as OffsetsSession

const damage = {
  code: 'ARCHIVE_DAMAGED',
  key: `b1/kafka/${LONG_TOPIC}/0/00000000000000000100.1a2b3c4d.log.zst`,
  problem: '1000 bytes instead of 394264576, so every record from offset 100 on is lost',
} as const
const path = ['--path', '/backups', '--backup-id', 'orders']
const config = ['--config', 'restore.yaml']
const schemaDifference = {
  subject: 'orders-value',
  version: 3,
  kind: 'other_schema',
  left: 'a'.repeat(40),
  right: 'b'.repeat(40),
}

/** Every command that prints a table, with answers in which the table has rows. */
const commands: Record<string, [argv: string[], answers?: Partial<Actions>]> = {
  list: [['list', '--path', '/backups']],
  'list of several locations': [['list', '--path', '/backups', '--path', '/copies']],
  'list --generations': [['list', ...path, '--generations']],
  describe: [['describe', ...path]],
  diff: [['diff', ...path, '--from', '41', '--to', '43']],
  check: [['check', ...config]],
  verify: [['verify', ...path], { verifyBackup: async () => ({ ...verifyReport, ok: false, problems: [damage] }) }],
  prune: [['prune', '--path', '/backups', '--keep-last', '1', '--dry-run']],
  export: [
    ['export', ...path, '--topic', 'orders', '--out', '/exported'],
    { exportAt: async () => lengthen(exportReport) },
  ],
  'repair --dry-run': [
    ['repair', ...path, '--dry-run'],
    { repairAt: async () => lengthen({ ...repairReport, problems: [damage] }) },
  ],
  'backup with gaps': [
    ['backup', ...config],
    {
      runBackupJob: async () =>
        lengthen({
          ...backupReport,
          manifest,
          durationMs: 5,
          copied: { records: 1, bytes: 1, partitions: 1 },
          newGaps: [gap],
          changes: { topics: false, schemas: false, consumerGroups: false, access: false },
          warnings: ['a topic has '.repeat(12)],
        }),
    },
  ],
  'backup --dry-run': [['backup', ...config, '--dry-run']],
  restore: [
    ['restore', ...config],
    { runRestoreJob: async () => lengthen({ ...restoreReport, consumerGroups: carried, access: accessReport }) },
  ],
  'restore --dry-run': [
    ['restore', ...config, '--dry-run'],
    { dryRunRestoreJob: async () => lengthen({ ...restoreDryRun, findings }) },
  ],
  compare: [['compare', ...config], { compareJob: async () => lengthen(differing) }],
  'offset-map': [['offset-map', ...config]],
  'key list': [['key', 'list', ...path]],
  'schemas list': [['schemas', 'list', ...path]],
  'schemas diff': [
    ['schemas', 'diff', ...path, '--against', 'http://registry:8081'],
    {
      diffSchemasJob: async () =>
        ({ ok: false, left: backupSource, right: registrySource, differences: [schemaDifference], ids: [] }) as never,
    },
  ],
  'registry probe': [
    ['registry', 'probe', '--url', 'http://registry:8081'],
    {
      probeRegistryJob: async () => ({
        ...registryProbe,
        registrations: 33,
        leftBehind: [{ subject: 'kafka-backup-probe-1-mode', parts: ['versions', 'mode'], reason: 'access denied' }],
      }),
    },
  ],
  'schemas plan': [
    ['schemas', 'plan', ...config],
    { dryRunSchemasJob: async () => lengthen({ ...schemaRestoreDryRun, notes: losses }) },
  ],
  'schemas restore --dry-run': [['schemas', 'restore', ...config, '--dry-run']],
  'offsets list': [['offsets', 'list', ...config]],
  'offsets show': [['offsets', 'show', ...config, '--group', 'billing']],
  'offsets plan': [['offsets', 'plan', ...config, '--group', 'billing', '--strategy', 'earliest']],
  'offsets snapshots': [['offsets', 'snapshots', ...config]],
  'offsets verify': [['offsets', 'verify', ...config, '--snapshot-id', 's1']],
}

async function print(argv: string[], answers: Partial<Actions>, columns: number): Promise<string> {
  const io = new FakeIo({ columns })
  const listBackups = async () => lengthen(summaries)
  const samples = fakeActions({ openOffsets: async () => offsets, listBackups, ...answers })
  const entries = Object.entries(samples).map(([name, action]) => [
    name,
    // Jobs and storages are no samples: they have classes of their own inside.
    typeof action !== 'function' || /^(load|open|plain|with|watch)/.test(name)
      ? action
      : async (...args: unknown[]) => lengthen(await (action as (...all: unknown[]) => unknown)(...args)),
  ])
  await main([...argv, '--no-progress'], io, Object.fromEntries(entries))
  return stripVTControlCharacters(io.stdout.text)
}

for (const columns of [80, 120, 200]) {
  describe(`at ${columns} columns`, () => {
    test('every table fits the terminal and breaks no word', async t => {
      const shown: string[] = []
      for (const [name, [argv, answers = {}]] of Object.entries(commands)) {
        const text = await print(argv, answers, columns)
        assert.notEqual(text, '', name)
        // A command stays on one line, to be copied.
        const lines = text.split('\n').filter(line => !line.includes('kafka-backup '))
        assert.deepEqual(
          lines.filter(line => line.length > columns),
          [],
          name,
        )
        shown.push(`$ ${name}\n${text}`)
      }
      t.assert.fileSnapshot(shown.join('\n'), join(import.meta.dirname, `tables-${columns}.txt`), {
        serializers: [String],
      })
    })
  })
}
