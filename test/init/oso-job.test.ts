import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { describedJobSchema, type JsonSchema } from '../../src/config/job-schema.ts'
import { parseJob } from '../../src/config/load-job.ts'
import { formatJob } from '../../src/init/format-job.ts'
import { formatRestoreJob } from '../../src/init/format-restore-job.ts'
import { OWN_FIELDS, SHARED_FIELDS } from '../../src/init/job-format.ts'
import { isOsoJob, type OsoJob, readOsoJob } from '../../src/init/oso-job.ts'
import { parseSchedule } from '../../src/init/propose-schedule.ts'

const read = (text: string) => readOsoJob(text, 'oso.yaml')

function backupText(job: OsoJob): string {
  const { continuous, ...options } = job.options
  const origin = { file: 'oso.yaml', notes: job.notes, options, metrics: job.metrics }
  return formatJob({ ...job, schedule: parseSchedule(continuous ? 'continuous' : 'once'), origin })
}

function loadBackup(job: OsoJob) {
  return parseJob(backupText(job), { source: 'translated', mode: 'backup', env: envOf(job) })
}

function loadRestore(job: OsoJob) {
  const origin = { file: 'oso.yaml', notes: job.notes, options: job.options, metrics: job.metrics }
  const text = formatRestoreJob({ ...job, origin })
  return parseJob(text, { source: 'translated', mode: 'restore', env: envOf(job) })
}

const envOf = ({ connection, secrets }: OsoJob) =>
  Object.fromEntries([...connection.secrets, ...secrets].map(({ variable, value }) => [variable, value ?? 'set']))

function assertNoted({ notes }: OsoJob, ...paths: string[]): void {
  for (const path of paths) {
    assert.ok(
      notes.some(note => note.startsWith(`${path}: `)),
      `${path} in\n${notes.join('\n')}`,
    )
  }
}

const backup = `
mode: backup  # or restore
backup_id: "daily-001"
source:
  bootstrap_servers: [kafka-1:9093, kafka-2:9093]
  topics: { include: ['orders-*'], exclude: ['*-dlq'] }
  security:
    security_protocol: SASL_SSL
    sasl_mechanism: SCRAM-SHA512
    sasl_username: backup
    sasl_password: opensesame
    ssl_ca_location: /etc/kafka/ca.pem
  connection: { tcp_keepalive: true }
storage: { backend: s3, bucket: my-backups, region: eu-central-1, prefix: prod/, access_key: AKIA1, secret_key: s3cr3t, path_style: false, allow_http: true }
backup: { compression: lz4, segment_max_bytes: 52428800, continuous: true, start_offset: latest, consumer_group_snapshot: false }
metrics: { port: 9090, path: /stats }
offset_storage: { backend: sqlite }
logging: { level: info }
`

describe('a backup job of OSO kafka-backup', () => {
  test('becomes a job that loads', () => {
    const job = read(backup)
    const loaded = loadBackup(job)
    assert.deepEqual(
      [loaded.backupId, loaded.source.topics],
      ['daily-001', { include: ['orders-*'], exclude: ['*-dlq'] }],
    )
    assert.deepEqual([loaded.backup.segmentBytes, loaded.backup.continuous], [52_428_800, true])
    assert.deepEqual(loaded.backup.consumerGroups.include, [])
    const { security } = loaded.source
    assert.deepEqual([security?.protocol, security?.sasl?.mechanism], ['SASL_SSL', 'SCRAM-SHA-512'])
    assert.equal(loaded.metrics?.listen, '0.0.0.0:9090')
    assertNoted(job, 'backup.compression', 'backup.start_offset', 'source.connection', 'storage.allow_http')
    assertNoted(job, 'metrics.path', 'metrics', 'offset_storage', 'logging')
  })

  test('writes to a folder of its own, because its archive has the same keys', () => {
    const job = read(backup)
    assert.equal(job.storage.prefix, 'prod/kafka-backup')
    assert.equal(job.archives, 's3://my-backups/prod')
    assertNoted(job, 'storage')
    const local = read(
      'mode: backup\nbackup_id: a\nsource: {bootstrap_servers: [k:1]}\nstorage: {backend: filesystem, path: /b}',
    )
    assert.deepEqual(local.storage, { backend: 'filesystem', path: '/b', prefix: 'kafka-backup' })
    assert.deepEqual(local.topics, { include: ['*'], exclude: [] })
    assert.equal(loadBackup(local).storage.backend, 'filesystem')
  })

  test('holds no secret, and names the variables for them', () => {
    const job = read(backup)
    assert.doesNotMatch(backupText(job), /opensesame|s3cr3t|AKIA1/)
    assert.deepEqual(
      [...job.connection.secrets, ...job.secrets].map(({ variable, origin, value }) => [variable, origin, value]),
      [
        ['KAFKA_PASSWORD', 'source.security.sasl_password in oso.yaml', 'opensesame'],
        ['AWS_ACCESS_KEY_ID', 'storage.access_key in oso.yaml', 'AKIA1'],
        ['AWS_SECRET_ACCESS_KEY', 'storage.secret_key in oso.yaml', 's3cr3t'],
      ],
    )
    const temporary = read(backup.replace('secret_key: s3cr3t', 'secret_key: s3cr3t, session_token: t0ken'))
    assert.equal(temporary.storage.session_token, `\${AWS_SESSION_TOKEN}`)
    assert.equal(temporary.secrets.find(({ variable }) => variable === 'AWS_SESSION_TOKEN')?.value, 't0ken')
    const referring = read(backup.replace('opensesame', `\${MY_PASSWORD}`).replace('kafka-1:9093', `"\${BROKER}:9093"`))
    assert.deepEqual(
      referring.connection.secrets.map(({ variable, value }) => [variable, value]),
      [
        ['MY_PASSWORD', undefined],
        ['BROKER', undefined],
      ],
    )
  })

  test('holds no secret that YAML reads as a number', () => {
    const job = read(backup.replace('s3cr3t', '987654321'))
    assert.doesNotMatch(backupText(job), /987654321/)
    assert.equal(job.secrets.find(({ variable }) => variable === 'AWS_SECRET_ACCESS_KEY')?.value, '987654321')
  })

  test('is refused without a word of it where a password is not valid YAML', () => {
    for (const password of ['*hunter2', '|hunter2', '>hunter2', '!a!hunter2 b', '!hunter2 b', '"hunter2" hunter2']) {
      assert.throws(
        () => read(backup.replace('opensesame', password)),
        (error: Error & { code?: string; help?: string }) => {
          assert.equal(error.code, 'CONFIG_INVALID', password)
          assert.match(error.message, /^oso\.yaml: /)
          return !`${error.message} ${error.help} ${error.cause}`.includes('hunter2')
        },
      )
    }
  })

  test('is refused with the field that no job could replace', () => {
    const kerberos = backup.replace('SCRAM-SHA512', 'GSSAPI')
    assert.throws(() => read(kerberos), /oso\.yaml: source\.security\.sasl_mechanism: GSSAPI cannot be translated/)
    assert.throws(() => read('mode: backup\nstorage: {a: [}'), /oso\.yaml: line 2: it is not valid YAML/)
  })
})

describe('a job file of this program', () => {
  const minimal = 'mode: backup\nbackup_id: a\nstorage: {backend: filesystem, path: /b}\n'
  const restoring = 'mode: restore\ntarget: {bootstrap_servers: [k:1]}\nstorage: {backend: filesystem, path: /b}\n'

  test('is refused by any field that only this program has', () => {
    const fields = ['source: {security: {protocol: SSL}}', 'source: {client_rack: a}', 'backup: {commit_interval: 1m}']
    const own = [...fields, 'metrics: {listen: 0.0.0.0:1}', 'encryption: {recipients: []}'].map(one => minimal + one)
    for (const file of [...own, `${restoring}restore: {topics: {include: [a]}}`]) {
      assert.throws(() => read(file), /a job file of this program already/, file)
    }
  })

  test('is translated with a note that names the assumed format if both programs have all of its fields', () => {
    const note = /^read as a job file of OSO kafka-backup, because all of its fields exist in both programs/
    for (const file of [`${minimal}source: {bootstrap_servers: [k:1]}`, restoring])
      assert.match(read(file).notes[0] ?? '', note)
    const oso = ['source: {security: {}, connection: {}}', 'backup: {segment_max_bytes: 1}', 'logging: {}']
    for (const file of [...oso.map(one => minimal + one), backup]) {
      assert.ok(!read(file).notes.some(one => note.test(one)), file)
    }
  })

  test('has only fields whose program is known', () => {
    const known: Record<string, Set<string>> = {}
    for (const mode of ['backup', 'restore'] as const) collect(describedJobSchema(mode), '', known)
    for (const section of Object.keys(OWN_FIELDS)) {
      const expected = [...(OWN_FIELDS[section] ?? []), ...(SHARED_FIELDS[section] ?? [])]
      assert.deepEqual([...(known[section] ?? [])].sort(), expected.sort(), section)
    }
  })

  function collect(schema: JsonSchema, section: string, known: Record<string, Set<string>>): void {
    const branches = [schema, ...((schema.oneOf ?? schema.anyOf ?? []) as JsonSchema[])]
    for (const { properties = {} } of branches) {
      for (const [name, field] of Object.entries(properties as Record<string, JsonSchema>)) {
        known[section] = (known[section] ?? new Set()).add(name)
        if (section === '') collect(field, name, known)
      }
    }
  }
})

describe('a restore job of OSO kafka-backup', () => {
  const restore = (fields: string, include = '[orders, payments]') =>
    read(`
mode: restore
backup_id: daily
target: { bootstrap_servers: [kafka:9092], topics: { include: ${include} } }
storage: { backend: azure, account_name: acme1, container_name: kafka-backups, prefix: production/, account_key: topsecret }
restore: ${fields}
`)

  test('becomes a job that loads', () => {
    const job = restore(`
  time_window_start: 1736899200000
  time_window_end: 1736985600000
  topic_mapping: { orders: orders-2 }
  source_partitions: [0, 2]
  reset_consumer_offsets: true
  consumer_groups: [billing]
  purge_topics: true
  dry_run: true`)
    const { restore: loaded, storage } = loadRestore(job)
    assert.deepEqual([loaded.timeWindowStartMs, loaded.timeWindowEndMs], [1736899200000n, 1736985600001n])
    assert.deepEqual([...loaded.topicMapping], [['orders', 'orders-2']])
    assert.deepEqual(
      [...loaded.partitions],
      [
        ['orders', [0, 2]],
        ['payments', [0, 2]],
      ],
    )
    assert.deepEqual(loaded.consumerGroups.include, ['billing'])
    assert.equal('prefix' in storage && storage.prefix, 'production/imported')
    assert.equal(job.archives, 'az://kafka-backups/production?account=acme1')
    assertNoted(job, 'restore.purge_topics', 'restore.dry_run', 'restore.time_window_end', 'restore.create_topics')
  })

  test('leaves consumer groups alone unless the job asked for them', () => {
    assert.deepEqual(loadRestore(restore('{}')).restore.consumerGroups.include, [])
    const named = restore('{ consumer_groups: [billing] }')
    assert.deepEqual(loadRestore(named).restore.consumerGroups.include, [])
    assertNoted(named, 'restore.consumer_groups')
    assert.deepEqual(loadRestore(restore('{ auto_consumer_groups: true }')).restore.consumerGroups.include, ['*'])
  })

  test('notes what applies to all topics where it names none', () => {
    const job = restore('{ source_partitions: [1], partition_mapping: {0: 1} }', "['orders*']")
    assertNoted(job, 'restore.source_partitions', 'restore.partition_mapping')
    assert.deepEqual([...loadRestore(job).restore.partitions], [])
  })
})

/** The fields of `BackupOptions` and `RestoreOptions` in version 0.25.2, each with a value that is not its default. */
const fields = {
  backup: {
    ...{ segment_max_bytes: 65536, segment_max_interval_ms: 5000, compression: 'lz4', compression_level: 9 },
    ...{ start_offset: 'latest', isolation_level: 'read_uncommitted', include_internal_topics: true },
    ...{ internal_topics: ['__x'], checkpoint_interval_secs: 9, sync_interval_secs: 9, include_offset_headers: true },
    ...{ source_cluster_id: 'x', stop_at_current_offsets: false, max_concurrent_partitions: 2, poll_interval_ms: 9 },
    ...{ fetch_max_bytes: 9, segment_max_records: 9, capture_topic_configs: false, require_topic_configs: false },
    ...{ retention: { max_age: '7d' }, circuit_breaker: { enabled: false }, shutdown_grace_secs: 9, brand_new: 1 },
  },
  restore: {
    ...{ consumer_group_strategy: 'header-based', dry_run: true, strip_offset_headers: false },
    ...{ rate_limit_records_per_sec: 9, max_concurrent_partitions: 2, produce_batch_size: 9 },
    ...{ produce_max_batch_bytes: 9, produce_acks: 1, idempotent_producer: false, produce_timeout_ms: 9 },
    ...{ checkpoint_state: 'x', checkpoint_interval_secs: 9, checkpoint_storage: 'both', offset_report: 'x' },
    ...{ repartitioning: { a: { target_partitions: 3 } }, purge_topics: true, restore_topic_configs: false },
    ...{ existing_topic_config_policy: 'apply', topic_config_overrides: { a: {} }, unsupported_config_policy: 'fail' },
    ...{ target_profile: 'confluent_cloud', target_cluster_type: 'basic', rewrite_schema_ids: true },
    ...{ schema_id_mapping: { 1: 2 }, schema_id_rewrite_topics: ['a'], schema_id_rewrite_strict: false },
    ...{ header_preflight: 'full', dry_run_check_segments: true, circuit_breaker: { enabled: false }, brand_new: 1 },
  },
}

for (const [mode, options] of Object.entries(fields)) {
  test(`every option of a ${mode} that has no counterpart is noted with what to do`, () => {
    const side = mode === 'backup' ? 'source' : 'target'
    const document = {
      ...{
        mode,
        backup_id: 'x',
        storage: { backend: 'filesystem', path: '/b', brand_new: 1 },
        enterprise: { rbac: 1 },
      },
      ...{ [side]: { bootstrap_servers: ['k:9092'], topics: { include: ['a'], brand_new: 1 }, brand_new: 1 } },
      [mode]: options,
    }
    // JSON is YAML; a job begins its lines with the sections.
    const text = Object.entries(document)
      .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
      .join('\n')
    assert.ok(isOsoJob(text))
    const job = read(text)
    assertNoted(job, ...Object.keys(options).map(name => `${mode}.${name}`))
    assertNoted(job, 'storage.brand_new', `${side}.brand_new`, `${side}.topics.brand_new`, 'enterprise')
    assert.ok(mode === 'backup' ? loadBackup(job) : loadRestore(job))
  })
}
