import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Actions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { readOsoJob } from '../../src/init/oso-job.ts'
import { assertFree, writeJobFile } from '../../src/init/write-job-file.ts'
import { checkReport, fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

interface Run {
  answers?: string[]
  actions?: Partial<Actions>
  env?: Record<string, string>
}

async function run(argv: string[], { answers, actions = {}, env = {} }: Run = {}) {
  const io = new FakeIo({ env })
  const asked: string[] = []
  const ask = async (question: string) => {
    asked.push(question)
    return answers?.shift() ?? ''
  }
  const all = { ...fakeActions(), ...actions }
  const code = await main(['init', ...argv], answers ? Object.assign(io, { ask }) : io, all)
  const [file, text] = (all.calls.writeJobFile ?? []) as [string?, string?]
  return { code, out: io.stdout.text, err: io.stderr.text, asked, file, text, calls: all.calls }
}

describe('init with options', () => {
  test('shows topics, checks the job, writes the file and says what to run next', async () => {
    const { code, out, err, file, text } = await run(['--bootstrap-server', 'kafka:9092', '--path', '/backups'])
    assert.equal(code, 0, err)
    assert.match(err, /orders +12 +4\.7 GiB/)
    assert.match(err, /secret +1 +- +delete +Read/)
    assert.match(err, /Ready: the job has everything it needs/)
    assert.equal(file, 'backup.yaml')
    assert.match(text ?? '', /bootstrap_servers:\n {4}- kafka:9092/)
    assert.match(
      out,
      /Wrote backup\.yaml\. Next:[\s\S]*kafka-backup backup backup\.yaml[\s\S]*echo '.* kafka-backup backup \/.*backup\.yaml'\) \| crontab -/,
    )
  })

  test('uses the secret of a file for its checks, and shows and writes it nowhere', async () => {
    const { code, out, err, text, calls } = await run(['--from', 'client.properties', '-p', '/backups', '--yes'])
    assert.equal(code, 0, err)
    const [source] = calls.surveyCluster as [{ security: { sasl: { password: string } } }]
    assert.equal(source.security.sasl.password, 'hunter2-secret')
    assert.doesNotMatch(`${out}${err}${text}`, /hunter2/)
    assert.match(out, /export KAFKA_PASSWORD=…/)
    const json = await run(['--from', 'client.properties', '-p', '/backups', '--yes', '--format', 'json'])
    assert.doesNotMatch(json.out, /hunter2/)
    assert.deepEqual(JSON.parse(json.out).variables, [
      { variable: 'KAFKA_PASSWORD', origin: 'sasl.password in client.properties' },
    ])
  })

  test('prints the file instead, and contacts nothing with --no-check', async () => {
    const options = ['--bootstrap-server', 'kafka:9092', '-p', '/backups', '--out', '-', '--no-check']
    const { code, out, file, calls } = await run([...options, '--include', 'orders', '--schedule', 'continuous'])
    assert.equal(code, 0)
    assert.match(out, /^# Backup job of kafka-backup[\s\S]*include:\n {6}- orders\n[\s\S]*continuous: true/)
    assert.deepEqual([file, calls.surveyCluster, calls.checkJob], [undefined, undefined, undefined])
  })

  test('writes the file and exits 4 if a check fails', async () => {
    const denied = { subject: 'topic secret', action: 'Read', allowed: false, detail: 'grant Read on topic secret' }
    const checkJob = async () => ({ ...checkReport, ok: false, checks: [denied] })
    const { code, out, err, file } = await run(['--bootstrap-server', 'k:9092', '-p', '/b'], { actions: { checkJob } })
    assert.deepEqual([code, file], [4, 'backup.yaml'])
    assert.match(err, /--operation Read --topic secret/)
    assert.match(out, /check backup\.yaml --acls kafka-acls/)
  })

  test('names the option that is missing without a terminal', async () => {
    assert.match((await run([])).err, /pass --bootstrap-server or --from: there is no terminal to ask on/)
    const noPath = await run(['--bootstrap-server', 'kafka:9092'])
    assert.deepEqual([noPath.code, noPath.file], [2, undefined])
    assert.match(noPath.err, /pass --path/)
    const usual = await run(['--bootstrap-server', 'k:9092'], { env: { KAFKA_BACKUP_LOCATION: '/usual' } })
    assert.match(usual.text ?? '', /path: \/usual/)
  })

  test('names the brokers as missing where a file names none', async () => {
    const readConnectionFile = async () => ({ bootstrapServers: [], secrets: [], notes: [] })
    const { code, err } = await run(['--from', 'other.json', '-p', '/b'], { actions: { readConnectionFile } })
    assert.equal(code, 2)
    assert.match(err, /pass --bootstrap-server \(other\.json names no brokers\)/)
  })

  test('shows the notes of a file before its checks', async () => {
    const read = { bootstrapServers: ['k:9092'], secrets: [], notes: ['write ca.crt first'] }
    const surveyCluster = async () => Promise.reject(new KafkaBackupError('CONFIG_UNREADABLE', 'no such file'))
    const actions = { readConnectionFile: async () => read, surveyCluster }
    assert.match(
      (await run(['--from', 'kafka.yaml', '-p', '/b'], { actions })).err,
      /kafka\.yaml: write ca\.crt first\n/,
    )
  })

  test('names a variable that its checks need, and needs none with --no-check', async () => {
    const options = ['--bootstrap-server', 'k:9092', '--mechanism', 'PLAIN', '--username', 'u', '-p', '/b']
    const refused = await run(options)
    assert.deepEqual([refused.code, refused.calls.surveyCluster, refused.file], [2, undefined, undefined])
    assert.match(refused.err, /KAFKA_PASSWORD is not set: set it to the password of the user, or pass --no-check/)
    const written = await run([...options, '--no-check'])
    assert.equal(written.code, 0, written.err)
    assert.match(written.text ?? '', /password: \$\{KAFKA_PASSWORD\}/)
    assert.match(written.out, /in the PATH of cron and KAFKA_PASSWORD set there/)
  })

  test('shows only comments and commands as next steps on a narrow terminal', async () => {
    const io = new FakeIo({ columns: 60, env: { NO_COLOR: '1' } })
    await main(['init', '--bootstrap-server', 'k:9092', '-p', '/b', '--no-check', '--yes'], io, fakeActions())
    const steps = io.stdout.text.trimEnd().split('\n').slice(1)
    assert.ok(steps.some(line => /^ {2}# .*PATH of cron/.test(line)))
    assert.deepEqual(
      steps.filter(line => !/^ {2}(# |kafka-backup |\(crontab )/.test(line)),
      [],
    )
  })

  test('lets cron start in this folder if the job has relative paths', async () => {
    const options = ['--bootstrap-server', 'k:9092', '--tls-ca', 'ca.pem', '-p', '/b', '--no-check']
    assert.match((await run(options)).out, /\* \* \* cd \/.* && kafka-backup backup \//)
    assert.doesNotMatch((await run(options.with(3, '/etc/ca.pem'))).out, / cd /)
  })

  test('writes nothing that the validator refuses', async () => {
    const { code, err, file } = await run(['--bootstrap-server', 'kafka', '-p', '/backups', '--no-check'])
    assert.deepEqual([code, file], [2, undefined])
    assert.match(err, /the new job file: 1 error\n +source\.bootstrap_servers/)
  })
})

test('init on a terminal asks for what is left open, and proposes answers', async () => {
  const answers = ['', 'kafka:9092', 'orders, pay*', '', 'ftp://x', 's3://bucket/kafka', 'weekly', '0 4 * * *', 'prod']
  const { code, asked, text, err } = await run([], { answers })
  assert.equal(code, 0, err)
  assert.deepEqual(
    asked.map(question => question.replace(/ \(.*/, '')),
    [
      'Brokers',
      'Brokers',
      'Topics to include, separated by commas [*]: ',
      'Topics to exclude, separated by commas [*-repartition]: ',
      'Location',
      'Location',
      'Schedule: continuous, hourly, daily, once or cron',
      'Schedule: continuous, hourly, daily, once or cron',
      'Name of the backup [kafka]: ',
    ],
  )
  assert.match(asked[6] ?? '', /the shortest retention is/)
  assert.match(err, /unsupported location scheme `ftp:`[\s\S]*--schedule "weekly" is not/)
  assert.match(text ?? '', /backup_id: prod[\s\S]*- orders\n\s+- pay\*[\s\S]*bucket: bucket[\s\S]*0 4 \* \* \*/)
})

test('a file that exists is replaced only with --overwrite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-init-'))
  try {
    const path = join(folder, 'backup.yaml')
    await writeFile(path, 'mine')
    const options = ['--bootstrap-server', 'kafka:9092', '-p', '/backups', '--out', path]
    const refused = await run(options, { actions: { assertFree, writeJobFile } })
    assert.deepEqual([refused.code, refused.calls.surveyCluster], [2, undefined])
    assert.match(refused.err, /backup\.yaml already exists; nothing was changed[\s\S]*--overwrite/)
    await assert.rejects(writeJobFile(path, 'x', false), { code: 'USAGE' })
    assert.equal(await readFile(path, 'utf8'), 'mine')
    const replaced = await run([...options, '--overwrite'], { actions: { assertFree, writeJobFile } })
    assert.equal(replaced.code, 0)
    assert.match(await readFile(path, 'utf8'), /^# Backup job/)
    await assert.rejects(writeJobFile(join(folder, 'no/x.yaml'), 'x', false), {
      message: /cannot be written \(ENOENT\)/,
    })
  } finally {
    await rm(folder, { recursive: true })
  }
})

describe('init with a job file of OSO kafka-backup', () => {
  const text = (mode: string, topic = 'orders') => `mode: ${mode}
backup_id: daily
${mode === 'backup' ? 'source' : 'target'}: { bootstrap_servers: [kafka:9092], topics: { include: ['${topic}'] } }
storage: { backend: s3, bucket: acme, prefix: prod, access_key: AKIA1, secret_key: open-sesame }
${mode}: { max_concurrent_partitions: 3 }
`
  const from = (file: string) => ({ readOsoJobFile: async () => readOsoJob(file, 'oso.yaml') })

  test('takes its topics, storage and name, and lists what has no counterpart', async () => {
    const {
      code,
      out,
      err,
      file,
      text: job,
      calls,
    } = await run(['--from', 'oso.yaml'], { actions: from(text('backup')) })
    assert.equal(code, 0, err)
    assert.equal(file, 'backup.yaml')
    assert.match(err, /oso\.yaml: backup\.max_concurrent_partitions: not translated/)
    assert.match(job ?? '', /# - backup\.max_concurrent_partitions: not translated/)
    assert.match(job ?? '', /backup_id: daily[\s\S]*- orders\n[\s\S]*bucket: acme[\s\S]*prefix: prod\/kafka-backup/)
    assert.doesNotMatch(`${job}${out}${err}`, /open-sesame/)
    assert.match(out, /export AWS_SECRET_ACCESS_KEY=…/)
    const [checked] = calls.checkJob as [{ storage: { secretAccessKey: string } }]
    assert.equal(checked.storage.secretAccessKey, 'open-sesame')
  })

  test('replaces its storage with --path, and needs its credentials no more', async () => {
    const { out, err, text: job } = await run(['--from', 'oso.yaml', '-p', '/b'], { actions: from(text('backup')) })
    assert.match(err, /storage: replaced by \/b/)
    assert.match(job ?? '', /backend: filesystem\n {2}path: \/b\n/)
    assert.doesNotMatch(`${job}${out}`, /AWS_/)
  })

  test('writes the job of a restore, and the command that imports its archive', async () => {
    const {
      code,
      out,
      err,
      file,
      text: job,
      calls,
    } = await run(['--from', 'oso.yaml'], { actions: from(text('restore')) })
    assert.equal(code, 0, err)
    assert.equal(file, 'restore.yaml')
    assert.deepEqual([calls.surveyCluster, calls.checkJob], [undefined, undefined])
    assert.match(out, /kafka-backup import --from s3:\/\/acme\/prod --backup-id daily --to s3:\/\/acme\/prod\/imported/)
    assert.match(job ?? '', /prefix: prod\/imported[\s\S]*topics:\n {4}include:\n {6}- orders/)
    const other = await run(['--from', 'oso.yaml', '--backup-id', 'weekly'], { actions: from(text('restore')) })
    assert.match(other.out, /kafka-backup import --from \S+ --backup-id weekly /)
    const json = await run(['--from', 'oso.yaml', '--format', 'json'], { actions: from(text('restore')) })
    assert.equal(JSON.parse(json.out).file, 'restore.yaml')
  })

  test('refuses a regular expression and options that do not apply, and writes nothing', async () => {
    const refused = await run(['--from', 'oso.yaml'], { actions: from(text('restore', '~pay.*')) })
    assert.deepEqual([refused.code, refused.file], [2, undefined])
    assert.match(
      refused.err,
      /target\.topics\.include: the regular expression ~pay\.\* has no counterpart; pass --include/,
    )
    const replaced = await run(['--from', 'oso.yaml', '--include', 'pay*'], {
      actions: from(text('restore', '~pay.*')),
    })
    assert.equal(replaced.code, 0, replaced.err)
    const scheduled = await run(['--from', 'oso.yaml', '--schedule', 'daily'], { actions: from(text('restore')) })
    assert.deepEqual([scheduled.code, scheduled.file], [2, undefined])
  })
})
