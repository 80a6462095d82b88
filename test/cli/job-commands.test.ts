import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import type { Actions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { backupReport, checkReport, dryRun, fakeActions, gap, job } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

async function run(argv: string[], replaced: Partial<Actions> = {}, io = new FakeIo()) {
  const actions = fakeActions(replaced)
  const code = await main([...argv, '--no-progress'], io, actions)
  return { code, out: io.stdout.text, err: io.stderr.text, calls: actions.calls }
}

const config = ['--config', 'job.yaml']

describe('check', () => {
  const denied = {
    ...checkReport,
    ok: false,
    checks: [
      { subject: 'topic orders', action: 'Describe', allowed: true, detail: '' },
      { subject: 'topic orders', action: 'Read', allowed: false, detail: 'grant Read on topic orders' },
      { subject: 'topic orders', action: 'DescribeConfigs', allowed: false, detail: 'grant it' },
      { subject: 'cluster', action: 'Describe', allowed: false, detail: 'grant it' },
      { subject: 'topic gone', action: 'exists', allowed: false, detail: 'no such topic' },
      { subject: 'storage /backups', action: 'write', allowed: false, detail: 'read-only' },
    ],
  }

  test('reports that a job is ready', async () => {
    const { code, out } = await run(['check', ...config])
    assert.equal(code, 0)
    assert.equal(
      out,
      `Cluster MkU3OEVBNTcwNTJENDM2Qk, 3 brokers

SUBJECT           ACTION   RESULT  DETAIL
broker 1          connect  ok      kafka:9092 answers
topic orders      Read     ok
storage /backups  write    ok      the folder may be written

Ready: the job has everything it needs.
`,
    )
  })

  test('exits 1 and prints the missing permissions as kafka-acls options, and other problems', async () => {
    const { code, out } = await run(['check', ...config], { checkJob: async () => denied })
    assert.equal(code, 1)
    assert.match(out, /^topic orders +Read +FAILED +grant Read on topic orders$/m)
    assert.equal(
      out.slice(out.indexOf('Not ready')),
      `Not ready: 5 checks failed.
Grant to the user of this job, as options of kafka-acls --add:
  --operation Read --operation DescribeConfigs --topic orders
  --operation Describe --cluster
To fix:
  topic gone, exists: no such topic
  storage /backups, write: read-only
`,
    )
  })

  const needed = ['Describe', 'Read', 'DescribeConfigs']
  const many = {
    ...checkReport,
    checks: Array.from({ length: 12 }, (_, at) => `topic t${at}`).flatMap(subject =>
      needed.map(action => ({ subject, action, allowed: true, detail: '' })),
    ),
  }

  test('folds topics with all permissions into one row, and lists them with -v', async () => {
    const { out } = await run(['check', ...config], { checkJob: async () => many })
    assert.match(out, /^12 topics {2}Describe, Read, DescribeConfigs {2}ok$/m)
    assert.doesNotMatch(out, /topic t3/)
    const verbose = await run(['check', ...config, '-v'], { checkJob: async () => many })
    assert.equal(verbose.out.match(/^topic t\d+ /gm)?.length, 36)
  })

  test('prints the report as JSON', async () => {
    const { code, out } = await run(['check', ...config, '--format', 'json'], { checkJob: async () => denied })
    assert.equal(code, 1)
    const { clusterId, ...rest } = denied
    assert.deepEqual(JSON.parse(out), { ...rest, cluster_id: clusterId })
  })

  test('with --storage checks the storage alone, and prints no cluster', async () => {
    const [, , write] = checkReport.checks
    assert(write)
    const report = { ...checkReport, clusterId: null, brokers: 0, checks: [write] }
    const { code, out, calls } = await run(['check', ...config, '--storage'], { checkJobStorage: async () => report })
    assert.equal(code, 0)
    assert.equal(calls.checkJob, undefined)
    assert.match(out, /^SUBJECT .*\nstorage \/backups +write +ok/)
    assert.match(out, /The storage can be used\. The cluster was not checked\.\n$/)
    assert.doesNotMatch(out, /everything it needs/)
  })

  test('refuses --storage together with --acls', async () => {
    const { code, err } = await run(['check', ...config, '--storage', '--acls', 'strimzi'])
    assert.equal(code, 2)
    assert.match(err, /--storage and --acls cannot be used together/)
  })

  test('prints the ACLs that the job needs as a script of kafka-acls, without connecting', async () => {
    const { code, out, calls } = await run(['check', ...config, '--acls', 'kafka-acls'])
    assert.equal(code, 0)
    assert.equal(calls.checkJob, undefined)
    const lines = out.trimEnd().split('\n')
    assert.equal(lines[0], '# The job only reads from the cluster.')
    assert.ok(lines.includes('# Read: Fetch'), out)
    const tool = "kafka-acls.sh --bootstrap-server kafka:9092 --add --allow-principal 'User:<name>'"
    assert.deepEqual(
      lines.filter(line => line !== '' && !line.startsWith('#')),
      [
        `${tool} --topic orders --operation Describe --operation Read --operation DescribeConfigs`,
        `${tool} --group '*' --operation Describe`,
        `${tool} --cluster --operation Describe`,
      ],
    )
  })

  test('prints the ACLs as the authorization of a Strimzi KafkaUser', async () => {
    const { out } = await run(['check', ...config, '--acls', 'strimzi'])
    const { spec } = parse(out)
    assert.equal(spec.authorization.type, 'simple')
    assert.deepEqual(spec.authorization.acls[0], {
      resource: { type: 'topic', name: 'orders', patternType: 'literal' },
      operations: ['Describe', 'Read', 'DescribeConfigs'],
      host: '*',
    })
  })

  test('prints the ACLs as JSON, with the requests that need each operation', async () => {
    const json = async (form: string) =>
      JSON.parse((await run(['check', ...config, '--format', 'json', '--acls', form])).out)
    const { principal, rules, notes, kafka_acls } = await json('kafka-acls')
    assert.equal(principal, null)
    assert.equal(kafka_acls.length, rules.length)
    assert.equal(notes.length, 1)
    const { operations, ...cluster } = rules.at(-1)
    assert.deepEqual(cluster, { resource: 'cluster', name: 'kafka-cluster', pattern: 'literal' })
    assert.deepEqual(operations, [{ operation: 'Describe', requests: ['DescribeLogDirs', 'ListGroups'] }])
    assert.equal((await json('strimzi')).strimzi.spec.authorization.acls.length, rules.length)
  })
})

describe('backup', () => {
  test('reports what was copied, the totals and the next command', async () => {
    const { code, out, err } = await run(['backup', ...config])
    assert.equal(code, 0)
    assert.equal(err, '')
    assert.equal(
      out,
      `Backed up orders at /backups
  Copied      500,000 records, 410 MiB in 12.3 s (33.3 MiB/s)
  Holds       1 topic, 1 partition, 1,500,000 records
  Size        1.2 GiB, 376 MiB stored (3.3x)
  Generation  3

Next: kafka-backup verify --path /backups --backup-id orders
`,
    )
  })

  test('shows gaps and the number of warnings', async () => {
    const report = { ...backupReport, newGaps: [gap, { ...gap, to: null }], warnings: ['a', 'b'] }
    const { code, out } = await run(['backup', ...config], { runBackupJob: async () => report })
    assert.equal(code, 0)
    assert.match(out, /^ {2}Warnings {4}2$/m)
    assert.match(out, /^orders +0 +100 +1300 +1,200 +deleted at the source before the backup read it$/m)
    assert.match(out, /^orders +0 +100 +\? +\? +deleted at the source before the backup read it$/m)
  })

  test('reports that nothing was new', async () => {
    const report = { ...backupReport, copied: { records: 0, bytes: 0, partitions: 0 } }
    const { out } = await run(['backup', ...config], { runBackupJob: async () => report })
    assert.match(out, /^Nothing new for orders at \/backups\n {2}Holds /)
  })

  test('reports a new schema although no record is new', async () => {
    const changes = { ...backupReport.changes, schemas: true, consumerGroups: true }
    const report = { ...backupReport, changes, copied: { records: 0, bytes: 0, partitions: 0 } }
    const { out } = await run(['backup', ...config], { runBackupJob: async () => report })
    const changed = 'schemas, committed offsets of consumer groups; no new records'
    assert.match(out, new RegExp(`^Backed up orders at /backups\\n {2}Changed +${changed}\\n {2}Holds `))
    const { out: text } = await run(['backup', ...config, '--format', 'json'], { runBackupJob: async () => report })
    const expected = { topics: false, schemas: true, consumer_groups: true, access: false }
    assert.deepEqual(JSON.parse(text).changed, expected)
  })

  test('quotes the location in the next command if a shell needs it', async () => {
    const spaced = { ...job, storage: { backend: 'filesystem' as const, path: "/my b'kups", prefix: 'x' } }
    const { out } = await run(['backup', ...config], { loadBackupJob: async () => spaced })
    assert.match(out, /--path '\/my b'\\''kups\/x' --backup-id orders\n$/)
  })

  test('prints the run, totals and gaps as JSON, without the manifest', async () => {
    const report = { ...backupReport, newGaps: [gap], warnings: ['a'] }
    const { out } = await run(['backup', ...config, '--format', 'json'], { runBackupJob: async () => report })
    const { totals, ...document } = JSON.parse(out)
    assert.deepEqual(document, {
      backup_id: 'orders',
      location: '/backups',
      generation: 3,
      complete: true,
      created_at: '2025-11-15T09:36:12.345Z',
      cluster_id: 'MkU3OEVBNTcwNTJENDM2Qk',
      duration_ms: 12300,
      copied: { records: 500000, bytes: 429496730, partitions: 1 },
      changed: { topics: false, schemas: false, consumer_groups: false, access: false },
      schemas: null,
      gaps: [{ topic: 'orders', partition: 0, from: 100, to: 1300, reason: 'retention' }],
      warnings: ['a'],
    })
    assert.equal(totals.records, 1_500_000)
  })

  test('reports the number of schemas in the backup', async () => {
    const file = { file: 'f', size: 1, blake3: 'b' }
    const version = { version: 1, id: 1, deleted: false, schema_file: 'f', size: 1, blake3: 'b' }
    const subject = {
      schema_type: 'AVRO',
      compatibility: 'BACKWARD',
      compatibility_source: 'global' as const,
      metadata: file,
      versions: [version, version],
    } as const
    const schema_registry = {
      ...{ schema_registry_version: 'unknown', backup_timestamp: '', settings: file, global: file, id_mapping: {} },
      subjects: ['a', 'b'].map(name => ({ name, ...subject, versions: [...subject.versions] })),
    }
    const report = { ...backupReport, manifest: { ...backupReport.manifest, schema_registry } }
    const { out } = await run(['backup', ...config], { runBackupJob: async () => report })
    assert.match(out, /^ {2}Schemas {5}2 subjects, 4 versions$/m)
    const { out: json } = await run(['backup', ...config, '--format', 'json'], { runBackupJob: async () => report })
    assert.deepEqual(JSON.parse(json).schemas, { subjects: 2, versions: 4 })
  })

  test('--shard copies one part, and names the command that commits all parts', async () => {
    const { code, out, calls } = await run(['backup', ...config, '--shard', '1/4'])
    assert.deepEqual([code, calls.runShardJob?.[1]], [0, { index: 1, count: 4 }])
    assert.equal(
      out,
      `Copied shard 1 of 4 for orders at /backups
  Copied   1,200 records, 1.9 MiB in 2.1 s
  Written  orders/shards/00000004/shard-1-of-4.b985d206-1.json
  For      generation 4

When all shards are done: kafka-backup backup --config job.yaml --commit
`,
    )
    const changed = await run(['backup', ...config, '--shard', '1/4', '--set', 'backup.topics.include=a b'])
    assert.match(changed.out, /backup --config job\.yaml --set 'backup\.topics\.include=a b' --commit\n$/)
    const json = await run(['backup', ...config, '--shard', '1/4', '--format', 'json'])
    const { shard, shards, generation, copied } = JSON.parse(json.out)
    assert.deepEqual([shard, shards, generation, copied.records], [1, 4, 4, 1200])
  })

  test('--commit commits the work of the shards, and reports like a backup', async () => {
    const { code, out, calls } = await run(['backup', ...config, '--commit'])
    assert.deepEqual([code, calls.commitShardsJob !== undefined, calls.runBackupJob], [0, true, undefined])
    assert.match(out, /^Backed up orders at \/backups\n/)
  })

  for (const shard of ['4/4', '1', '-1/4', '0/0', 'a/b', '1/4/2', '']) {
    test(`--shard refuses ${JSON.stringify(shard)} and shows the syntax`, async () => {
      const { code, err, calls } = await run(['backup', ...config, `--shard=${shard}`])
      assert.deepEqual([code, calls.loadBackupJob], [2, undefined])
      assert.match(err, /is not i\/n with i from 0 to n-1/)
    })
  }

  test('--new-incarnation applies to one run, and is refused for continuous runs and shards', async () => {
    const { code, calls } = await run(['backup', ...config, '--new-incarnation', 'a', '--new-incarnation', 'b'])
    const [job] = calls.runBackupJob as [{ newIncarnations?: string[] }]
    assert.deepEqual([code, job.newIncarnations], [0, ['a', 'b']])
    for (const other of [['--shard', '0/2'], ['--commit']]) {
      const refused = await run(['backup', ...config, '--new-incarnation', 'a', ...other])
      assert.equal(refused.code, 2)
      assert.match(refused.err, new RegExp(`--new-incarnation and ${other[0]} exclude each other`))
    }
  })

  test('refuses two of --dry-run, --shard and --commit at once, and parts of a continuous run', async () => {
    for (const pair of [
      ['--dry-run', '--commit'],
      ['--shard', '0/2', '--commit'],
      ['--dry-run', '--shard', '0/2'],
    ]) {
      const { code, err } = await run(['backup', ...config, ...pair])
      assert.equal(code, 2)
      assert.match(err, /exclude each other/)
    }
    const continuous = { ...job, backup: { ...job.backup, continuous: true } }
    const { code, err } = await run(['backup', ...config, '--commit'], { loadBackupJob: async () => continuous })
    assert.equal(code, 2)
    assert.match(err, /`backup\.continuous` exclude each other/)
  })

  test('--dry-run shows the plan and runs nothing', async () => {
    const { code, out, calls } = await run(['backup', ...config, '--dry-run'])
    assert.equal(code, 0)
    assert.equal(calls.runBackupJob, undefined)
    assert.equal(
      out,
      `Dry run of orders: nothing is written
  Cluster         MkU3OEVBNTcwNTJENDM2Qk
  Location        /backups
  Continues from  generation 3
  Would copy      2 topics, 16 partitions, 9,007,199,255,240,993 offsets

TOPIC        PARTITIONS                OFFSETS     BYTES
orders                4                500,000  ~410 MiB
payments-eu          12  9,007,199,254,740,993         ?  new
`,
    )
  })

  test('--dry-run names partitions without a leader, and exits as the run would', async () => {
    const warnings = ['partitions without a leader are not copied: orders/1']
    const dryRunJob = async () => ({ ...dryRun, leaderless: ['orders/1'], warnings })
    const { code, out } = await run(['backup', ...config, '--dry-run'], { dryRunJob })
    assert.equal(code, 4)
    assert.match(out, /^ {2}No leader {7}1 partition, which would not be copied$/m)
    assert.match(out, /not copied: orders\/1/)
    const { out: json } = await run(['backup', ...config, '--dry-run', '--format', 'json'], { dryRunJob })
    assert.deepEqual(JSON.parse(json).leaderless, ['orders/1'])
  })

  test('--dry-run shows the number of schemas to back up', async () => {
    const dryRunJob = async () => ({ ...dryRun, schemas: { subjects: 5, versions: 6 } })
    const { out } = await run(['backup', ...config, '--dry-run'], { dryRunJob })
    assert.match(out, /^ {2}Schemas {9}5 subjects, 6 versions$/m)
    const { out: json } = await run(['backup', ...config, '--dry-run', '--format', 'json'], { dryRunJob })
    assert.deepEqual(JSON.parse(json).schemas, { subjects: 5, versions: 6 })
  })

  test('--dry-run in JSON keeps the digits of large offsets', async () => {
    const { out } = await run(['backup', ...config, '--dry-run', '--format', 'json'])
    assert.match(out, /"offsets": 9007199254740993,/)
    const { dry_run, resumes_from, topics } = JSON.parse(out)
    assert.deepEqual({ dry_run, resumes_from }, { dry_run: true, resumes_from: 3 })
    assert.deepEqual(
      topics.map((topic: { is_new: boolean }) => topic.is_new),
      dryRun.topics.map(topic => topic.isNew),
    )
  })
})
