import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Actions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { RestoreRefusal } from '../../src/restore/refusal.ts'
import { fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'
import { findings } from './restore-samples.ts'
import {
  lossyNote,
  registryJob,
  registryRestoreJob,
  schemaBackupReport,
  schemaDiff,
  schemaListing,
  schemaRestoreDryRun,
  schemaRestoreReport,
} from './schema-samples.ts'

async function run(argv: string[], replaced: Partial<Actions> = {}) {
  const io = new FakeIo()
  const actions = fakeActions(replaced)
  const code = await main(['schemas', ...argv], io, actions)
  return { code, out: io.stdout.text, err: io.stderr.text, calls: actions.calls }
}

const config = ['--config', 'job.yaml']
const json = ['--format', 'json']

describe('schemas backup', () => {
  test('reports the number of schemas and the generation', async () => {
    const { code, out, err } = await run(['backup', ...config])
    assert.deepEqual([code, err], [0, ''])
    assert.equal(
      out,
      `Backed up the schemas of orders at /backups
  Schemas     3 subjects, 1,200 versions, read in 1.2 s
  Topics      2, as they were
  Generation  4
`,
    )
  })

  test('reports that nothing has changed, with warnings', async () => {
    const report = { ...schemaBackupReport, isChanged: false, generation: 3, topics: 0, warnings: ['4 are left out'] }
    const { code, out } = await run(['backup', ...config], { backupSchemasJob: async () => report })
    assert.equal(code, 0)
    assert.match(out, /^Nothing new for orders at \/backups: the registry is as generation 3 has it$/m)
    assert.match(out, /^Warnings\n {2}4 are left out$/m)
  })

  test('prints the generation as JSON, and whether it is new', async () => {
    const { out } = await run(['backup', ...config, ...json])
    assert.deepEqual(JSON.parse(out), {
      backup_id: 'orders',
      location: '/backups',
      generation: 4,
      changed: true,
      subjects: 3,
      versions: 1200,
      topics: 2,
      warnings: [],
      duration_ms: 1235,
    })
  })
})

describe('schemas restore', () => {
  test('reports what was registered, and the ID mapping with changed IDs first', async () => {
    const { code, out, err } = await run(['restore', ...config])
    assert.deepEqual([code, err], [0, ''])
    assert.equal(
      out,
      `Restored the schemas of orders from /backups
  Registry    http://registry:8081 (confluent 8.0.0)
  Generation  3
  Schemas     2 subjects, 4 versions: 3 registered, 1 kept
  ID mapping  1 of 2 IDs changed
  Took        457 ms

SOURCE ID  TARGET ID
        2       1002
        1          1  same
`,
    )
    assert.match((await run(['restore', ...config, '-v'])).out, /^ {2}Took {8}457 ms\n {2}Requests {4}20$/m)
  })

  test('shows at most twenty IDs with their contexts, and all of them as JSON', async () => {
    const ids = Array.from({ length: 30 }, (_, at) => ({ context: '.eu', source: at + 1, target: at + 100 }))
    const restoreSchemasJob = async () => ({ ...schemaRestoreReport, ids, unmappedIds: ['7'] })
    const { out } = await run(['restore', ...config], { restoreSchemasJob })
    assert.match(out, /^ {2}ID mapping {2}30 of 30 IDs changed; 1 ID not mapped to the target$/m)
    assert.match(out, /^CONTEXT {2}SOURCE ID {2}TARGET ID$/m)
    assert.equal(out.match(/^\.eu /gm)?.length, 20)
    assert.match(out, /^and 10 more; --format json shows all$/m)
    const { out: text } = await run(['restore', ...config, ...json], { restoreSchemasJob })
    const document = JSON.parse(text)
    assert.deepEqual([document.id_mapping, document.unmapped_ids], [ids, ['7']])
  })

  test('exits 4 if the target cannot store everything, also if nothing had to be written', async () => {
    for (const wasComplete of [false, true]) {
      const restoreSchemasJob = async () => ({ ...schemaRestoreReport, wasComplete, notes: [lossyNote] })
      const { code, out } = await run(['restore', ...config], { restoreSchemasJob })
      assert.equal(code, 4)
      assert.match(out, /^ {2}Lossy .*cannot store everything/m)
      assert.match(out, /^metadata {2}orders-value {2}the registry keeps no metadata$/m)
      const { code: other, out: text } = await run(['restore', ...config, ...json], { restoreSchemasJob })
      const { ok, lossy, notes } = JSON.parse(text)
      assert.deepEqual([other, ok, lossy, notes], [4, false, true, [lossyNote]])
    }
  })

  test('does not treat a hint as a loss', async () => {
    const restoreSchemasJob = async () => ({
      ...schemaRestoreReport,
      notes: [{ kind: 'hint' as const, subject: null, message: 'more follows' }],
    })
    assert.equal((await run(['restore', ...config], { restoreSchemasJob })).code, 0)
  })

  test('prints blockers as a table, and exits 1', async () => {
    const restoreSchemasJob = async () => {
      throw new RestoreRefusal(findings)
    }
    const { code, err, out } = await run(['restore', ...config], { restoreSchemasJob })
    assert.deepEqual([code, out], [1, ''])
    assert.match(err, /^Preflight findings$/m)
    assert.match(err, /the target is not suitable for this restore: \d+ problem/)
  })

  test('--dry-run shows the plan, and exits with the code of the restore', async () => {
    const { code, out, calls } = await run(['restore', ...config, '--dry-run'])
    assert.equal(code, 0)
    assert.equal(calls.restoreSchemasJob, undefined)
    assert.equal(
      out,
      `Dry run of the restore of the schemas of orders: nothing is written
  Registry    http://registry:8081 (confluent 8.0.0)
  Generation  3
  Schemas     1 subject, 1 version: 1 to register
  Would send  1 register
`,
    )
    const refused = await run(['restore', ...config, '--dry-run'], {
      dryRunSchemasJob: async () => ({ ...schemaRestoreDryRun, findings: [...findings] }),
    })
    assert.equal(refused.code, 1)
    assert.match(refused.out, /would be refused before it writes anything/)
    const lossy = await run(['restore', ...config, '--dry-run', ...json], {
      dryRunSchemasJob: async () => ({ ...schemaRestoreDryRun, notes: [lossyNote] }),
    })
    const { dry_run, ok, counts, writes, registry } = JSON.parse(lossy.out)
    assert.deepEqual([lossy.code, dry_run, ok, counts.register], [4, true, false, 1])
    assert.deepEqual([writes, registry], [{ register: 1 }, 'http://registry:8081'])
  })
})

describe('schemas plan', () => {
  const mode = { kind: 'lossy', loss: 'mode', subject: 'audit-value', message: 'the registry has no modes' } as const
  const notes = [mode, lossyNote]

  test('shows losses by kind and subject, and how to accept them', async () => {
    const dryRunSchemasJob = async () => ({ ...schemaRestoreDryRun, notes, acceptLoss: ['metadata'] as const })
    const { code, out, calls } = await run(['plan', ...config], { dryRunSchemasJob })
    assert.equal(code, 4)
    assert.equal(calls.restoreSchemasJob, undefined)
    assert.equal(
      out,
      `Plan of the restore of the schemas of orders: nothing is written
  Registry    http://registry:8081 (confluent 8.0.0)
  Generation  3
  Schemas     1 subject, 1 version: 1 to register
  Lossy       the registry cannot store everything in the backup
  Would send  1 register

Losses in the target registry
LOSS      SUBJECTS  ACCEPTED  MEANING
metadata         1  yes       the metadata of schemas is dropped
mode             1  NO        the mode of a subject, or of the registry, is not kept

LOSS      SUBJECT       DETAIL
metadata  orders-value  the registry keeps no metadata
mode      audit-value   the registry has no modes

Not accepted: mode. A restore completes everything else and ends with exit code 4.
To accept these losses, set in the job:
  enterprise:
    schema_registry:
      restore:
        accept_loss:
          - metadata
          - mode
`,
    )
  })

  test('exits 0 without losses, and if every loss is accepted', async () => {
    const whole = await run(['plan', ...config])
    assert.equal(whole.code, 0)
    assert.match(whole.out, /^No loss is expected: the target registry can keep everything that the job restores\.$/m)
    const acceptLoss = ['mode', 'metadata'] as const
    const accepted = await run(['plan', ...config], {
      dryRunSchemasJob: async () => ({ ...schemaRestoreDryRun, notes, acceptLoss }),
    })
    assert.equal(accepted.code, 0)
    assert.match(accepted.out, /accept_loss accepts every loss\.$/m)
  })

  test('shows blockers, and exits with the code of the restore', async () => {
    const { code, out } = await run(['plan', ...config], {
      dryRunSchemasJob: async () => ({ ...schemaRestoreDryRun, findings: [...findings], notes }),
    })
    assert.equal(code, 1)
    assert.match(out, /^Blockers$/m)
    assert.match(out, /^The restore would be refused before it writes anything\.$/m)
    assert.doesNotMatch(out, /Would send/)
  })

  test('shows which subjects the filter leaves out, and which IDs of the target lose their schema', async () => {
    const others = [
      { kind: 'hint' as const, subject: null, message: '2 subjects are left out' },
      { kind: 'undecodable' as const, subject: 'orders-value', message: 'ID 7 of the target loses its schema' },
    ]
    const { code, out } = await run(['plan', ...config], {
      dryRunSchemasJob: async () => ({ ...schemaRestoreDryRun, notes: others }),
    })
    assert.equal(code, 0)
    assert.match(out, /^hint +- +2 subjects are left out$/m)
    assert.match(out, /^undecodable +orders-value +ID 7 of the target loses its schema$/m)
  })

  test('prints every loss with its subjects as JSON, and the kinds that are not accepted', async () => {
    const dryRunSchemasJob = async () => ({ ...schemaRestoreDryRun, notes, acceptLoss: ['metadata'] as const })
    const { code, out } = await run(['plan', ...config, ...json], { dryRunSchemasJob })
    const { ok, lossy, losses, unaccepted_losses, notes: told } = JSON.parse(out)
    assert.deepEqual([code, ok, lossy, unaccepted_losses, told], [4, false, true, ['mode'], notes])
    assert.deepEqual(losses, [
      {
        kind: 'metadata',
        meaning: 'the metadata of schemas is dropped',
        subjects: ['orders-value'],
        notes: 1,
        accepted: true,
      },
      {
        kind: 'mode',
        meaning: 'the mode of a subject, or of the registry, is not kept',
        subjects: ['audit-value'],
        notes: 1,
        accepted: false,
      },
    ])
  })

  test('requires a job file, and refuses --dry-run', async () => {
    assert.match((await run(['plan'])).err, /`schemas plan` needs --config/)
    assert.match((await run(['plan', ...config, '--dry-run'])).err, /--dry-run is not for `schemas plan`/)
  })
})

describe('schemas list', () => {
  test('shows one line for each subject, with its special settings', async () => {
    const { code, out, calls } = await run(['list', '--path', '/backups', '--backup-id', 'orders'])
    assert.equal(code, 0)
    const storage = { backend: 'filesystem', path: '/backups' }
    assert.deepEqual(calls.listSchemasJob?.[0], { kind: 'backup', storage, backupId: 'orders', generation: undefined })
    assert.equal(
      out,
      `generation 3 of the backup orders at /backups: 2 subjects and 1 deleted, 1,200 versions and 4 deleted; compatibility BACKWARD, mode not set

SUBJECT       TYPE  VERSIONS  LATEST ID  COMPATIBILITY
orders-value  AVRO     1,200     100001  FULL           4 deleted
other         -            0          -  -              mode READONLY, alias of orders-value
`,
    )
  })

  test('prints counts and every subject as JSON', async () => {
    const { out } = await run(['list', '--registry', 'http://registry:8081', ...json])
    const { subjects, source, subjects_count, versions_count } = JSON.parse(out)
    assert.deepEqual([source, subjects_count, versions_count], [schemaListing.name, 2, 1204])
    assert.deepEqual(subjects[0], {
      name: 'orders-value',
      schema_type: 'AVRO',
      versions: 1200,
      latest_version: 1200,
      latest_id: 100001,
      compatibility: 'FULL',
      mode: null,
      alias: null,
      deleted_versions: 4,
      pulled_in_versions: 0,
    })
  })

  test('lists a registry by URL, the backup or registry of a job, or a generation', async () => {
    const loadClusterlessJob = async () => registryJob
    const sideOf = async (...argv: string[]) =>
      (await run(['list', ...argv], { loadClusterlessJob })).calls.listSchemasJob?.[0]
    assert.deepEqual(await sideOf('--registry', 'http://a:8081, http://b:8081/base'), {
      kind: 'registry',
      options: { urls: ['http://a:8081', 'http://b:8081/base'] },
      selection: {},
    })
    const storage = { backend: 'filesystem', path: '/backups' }
    const backup = { kind: 'backup', storage, backupId: 'orders', generation: undefined }
    assert.deepEqual(await sideOf(...config), backup)
    assert.deepEqual(await sideOf(...config, '--source', 'backup', '--backup-id', 'b', '--generation', '7'), {
      ...backup,
      backupId: 'b',
      generation: 7,
    })
    const side = (await sideOf(...config, '--source', 'registry')) as { options: object; selection: object }
    assert.partialDeepStrictEqual(side.options, { urls: ['http://registry:8081'] })
    assert.partialDeepStrictEqual(side.selection, { subjects: ['orders-*'], includeSoftDeleted: false })
  })
})

describe('schemas diff', () => {
  const row = { subject: 'orders-value', version: 2, kind: 'rule_set', left: null, right: '{}' } as const
  const global = { subject: null, version: null, kind: 'compatibility', left: 'NONE', right: 'FULL' } as const

  test('reports the number of subjects of two equal sides', async () => {
    const { code, out } = await run(['diff', '--path', '/backups', '--backup-id', 'orders', '--against', 'http://r'])
    assert.equal(code, 0)
    assert.equal(
      out,
      `The schemas are the same
  Left   generation 3 of the backup orders at /backups: 2 subjects and 1 deleted, 1,200 versions and 4 deleted
  Right  registry http://registry:8081: 1 subject, 1 version
`,
    )
  })

  test('shows every difference, and exits 3', async () => {
    const found = { ...schemaDiff, ok: false, differences: [global, row], ids: [{ ...row, kind: 'id' as const }] }
    const argv = ['diff', '--registry', 'http://a', '--against', 'http://b']
    const { code, out, calls } = await run(argv, { diffSchemasJob: async () => found })
    assert.equal(code, 3)
    assert.equal(calls.loadClusterlessJob, undefined)
    assert.match(out, /^THE SCHEMAS DIFFER: 2 differences$/m)
    assert.match(out, /^ {2}IDs {4}1 version with another ID, a difference only with --ids$/m)
    assert.match(out, /^\(registry\) {10}- {2}compatibility {2}NONE {2}FULL$/m)
    assert.match(out, /^orders-value {8}2 {2}rule set {7}- {5}\{\}$/m)
    const { out: text } = await run([...argv, ...json], { diffSchemasJob: async () => found })
    const { ok, left, right, differences, id_differences } = JSON.parse(text)
    assert.deepEqual([ok, left.subjects_count, right.subjects_count], [false, 2, 1])
    assert.deepEqual([differences, id_differences], [found.differences, found.ids])
  })

  test('compares the backup of a job with its registry, or with another side', async () => {
    const loadClusterlessJob: Actions['loadClusterlessJob'] = async path =>
      path === 'restore.yaml' ? registryRestoreJob : registryJob
    const callOf = async (...argv: string[]) => {
      const { calls } = await run(['diff', ...argv], { loadClusterlessJob })
      return calls.diffSchemasJob as [Record<string, unknown>, Record<string, unknown>, { wantsIds: boolean }]
    }
    const kinds = async (...argv: string[]) =>
      (await callOf(...argv)).slice(0, 2).map(side => 'kind' in side && side.kind)
    assert.deepEqual(await kinds(...config), ['backup', 'registry'])
    assert.deepEqual(await kinds(...config, '--source', 'registry', '--against', 'restore.yaml'), [
      'registry',
      'registry',
    ])
    assert.deepEqual(await kinds(...config, '--against', 'https://b'), ['backup', 'registry'])
    assert.equal((await callOf(...config, '--ids'))[2].wantsIds, true)

    const [first, second] = await callOf(...config, '--generation', '1', '--against-generation', '2')
    assert.deepEqual(second, { ...first, generation: 2 })
    const [, other] = await callOf(...config, '--against-path', '/other', '--against-backup-id', 'b')
    const storage = { backend: 'filesystem', path: '/other' }
    assert.deepEqual(other, { kind: 'backup', storage, backupId: 'b', generation: undefined })
    assert.equal(
      (await callOf('--registry', 'http://a', '--against-path', '/o', '--against-backup-id', 'b'))[1].kind,
      'backup',
    )
  })

  test('compares with the registry of a restore under the mapped subject names', async () => {
    const loadClusterlessJob = async () => registryRestoreJob
    const optionsOf = async (...argv: string[]) =>
      (await run(['diff', ...argv], { loadClusterlessJob })).calls.diffSchemasJob?.[2]
    const restoredBy = registryRestoreJob
    assert.deepEqual(await optionsOf('--config', 'restore.yaml'), { wantsIds: false, restoredBy })
    assert.deepEqual(await optionsOf('--registry', 'http://a', '--against', 'restore.yaml'), {
      wantsIds: false,
      restoredBy,
    })
    const itself = ['--config', 'restore.yaml', '--source', 'registry', '--against', 'restore.yaml']
    assert.deepEqual(await optionsOf(...itself), { wantsIds: false })
  })
})

const refused: [string[], RegExp][] = [
  [['backup'], /`schemas backup` needs --config/],
  [['restore'], /`schemas restore` needs --config/],
  [['backup', ...config, '--dry-run'], /--dry-run is not for `schemas backup`, but for restore/],
  [['list', ...config, '--against', 'http://b'], /--against is not for `schemas list`, but for diff/],
  [['restore', ...config, '--path', '/b'], /--path is not for `schemas restore`, but for list and diff/],
  [['list'], /pass --path and --backup-id, or --config/],
  [['list', '--path', '/b'], /pass --backup-id or --config/],
  [['list', '--path', '/b', ...config], /either --path or --config/],
  [['list', '--registry', 'http://a', ...config], /--registry and --config exclude each other/],
  [['list', '--registry', 'localhost:8081'], /--registry is not an address/],
  [['list', '--source', 'registry'], /--source registry needs --config/],
  [['list', '--registry', 'http://a', '--set', 'a=b'], /--set needs --config/],
  [['list', ...config, '--generation', '0'], /--generation 0 is not a generation/],
  [['diff', '--registry', 'http://a'], /pass --against, or --against-path/],
  [['diff', ...config, '--source', 'registry'], /pass --against, or --against-path/],
  [['diff', '--registry', 'http://a', '--against-path', '/b'], /pass --against-backup-id/],
  [['diff', '--registry', 'http://a', '--against-backup-id', 'b'], /pass --against-path/],
  [['diff', ...config, '--against', 'http://b', '--against-path', '/b'], /--against and --against-path exclude/],
  [['diff', '--registry', 'http://a', '--against', 'http://'], /--against is not an address/],
  [['destroy'], /See `kafka-backup schemas --help`/],
  [['backup', '--nothing'], /See `kafka-backup schemas --help`/],
]
for (const [argv, message] of refused) {
  test(`refuses schemas ${argv.join(' ')} as a bad command line`, async () => {
    const { code, err } = await run(argv, { loadClusterlessJob: async () => registryJob })
    assert.equal(code, 2)
    assert.match(err, message)
  })
}

test('schemas --help shows the actions, the examples and the exit codes', async () => {
  const { code, out } = await run(['--help'])
  assert.equal(code, 0)
  for (const word of ['"backup", "plan", "restore", "list", "diff"', 'schemas diff --config job.yaml', 'Exit codes:']) {
    assert.ok(out.replace(/\s+/g, ' ').includes(word), word)
  }
})
