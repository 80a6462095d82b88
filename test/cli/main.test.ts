import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { Actions } from '../../src/cli/actions.ts'
import { commandTable } from '../../src/cli/command-table.ts'
import { main } from '../../src/cli/main.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { backupReport, fakeActions, job } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

async function run(argv: string[], actions: Partial<Actions> = {}, io = new FakeIo()) {
  const code = await main(argv, io, fakeActions(actions))
  return { code, out: io.stdout.text, err: io.stderr.text }
}

function failing(error: unknown): Partial<Actions> {
  return { listBackups: () => Promise.reject(error) }
}

const list = ['list', '--path', '/backups']

describe('help and version', () => {
  test('--help lists every command on standard output and exits 0', async () => {
    const { code, out, err } = await run(['--help'])
    assert.equal(code, 0)
    assert.equal(err, '')
    for (const { name, summary } of commandTable) {
      assert.match(out, new RegExp(`^ +${name} .*${summary.replaceAll(' ', '\\s+')}`, 'm'))
    }
    assert.deepEqual(
      out.split('\n').filter(line => line.length > 80),
      [],
    )
  })

  test('the help of every command has its options and at least one example', async () => {
    for (const { name, options, examples } of commandTable) {
      const { code, out } = await run([name, '--help'])
      assert.equal(code, 0)
      for (const option of [...options.map(one => one.name), 'format', 'verbose', 'log-format', 'help']) {
        assert.match(out, new RegExp(`--${option}\\b`), `${name} --${option}`)
      }
      assert.ok(examples.length > 0 && examples.every(example => out.includes(example.command)), name)
    }
  })

  test('`help backup` is the help of backup', async () => {
    assert.equal((await run(['help', 'backup'])).out, (await run(['backup', '--help'])).out)
  })

  test('--version is the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    assert.deepEqual(await run(['--version']), { code: 0, out: `${version}\n`, err: '' })
  })

  test('without a command the help goes to standard error and the exit code is 2', async () => {
    const { code, out, err } = await run([])
    assert.equal(code, 2)
    assert.equal(out, '')
    assert.match(err, /^Usage: kafka-backup/)
  })
})

describe('a bad command line', () => {
  test('exits 2, names the error and a near match, and points to the help', async () => {
    const { code, out, err } = await run(['list', '--pth', 'x'])
    assert.equal(code, 2)
    assert.equal(out, '')
    assert.equal(
      err,
      "error: unknown option '--pth' (Did you mean --path?)\nhelp: See `kafka-backup list --help`. (USAGE)\n",
    )
  })

  test('names an unknown action and the known ones', async () => {
    const { code, err } = await run(['key', 'create'])
    assert.equal(code, 2)
    assert.match(err, /^error: unknown action 'create'. Allowed choices are new, list, rewrap\.\nhelp: /)
  })

  test('names the commands that have an option which this one lacks', async () => {
    const { code, err } = await run(['backup', 'job.yaml', '--deep'])
    const help = 'The commands with this option: verify, repair. See `kafka-backup backup --help`.'
    assert.deepEqual([code, err], [2, `error: backup has no option --deep\nhelp: ${help} (USAGE)\n`])
  })

  test('asks for an option after the command where it is before it', async () => {
    const { code, err } = await run(['--no-progress', 'list', '/backups'])
    const help = 'Options follow the command: `kafka-backup list --no-progress`. See `kafka-backup list --help`.'
    assert.deepEqual([code, err], [2, `error: --no-progress is before the command list\nhelp: ${help} (USAGE)\n`])
  })

  const wrong: Record<string, string[]> = {
    'an unknown command': ['lst'],
    'a missing job file': ['backup'],
    'an unknown format': [...list, '--format', 'xml'],
    'an unknown log format': [...list, '--log-format', 'xml'],
    'an option without its value': ['list', '--path'],
    'an argument too many': [...list, 'more'],
    'an unknown shell': ['completion', 'tcsh'],
    'no location': ['list'],
    'a location and a job file': [...list, '--config', 'job.yaml'],
    'an override without a job file': [...list, '--set', 'a=b'],
    'no backup id': ['describe', '--path', '/backups'],
  }
  for (const [what, argv] of Object.entries(wrong)) {
    test(`${what} exits 2 with a USAGE error`, async () => {
      const { code, out, err } = await run(argv)
      assert.equal(code, 2)
      assert.equal(out, '')
      assert.match(err, /^error: .*\nhelp: .*\(USAGE\)\n$/)
    })
  }

  test('is reported as JSON if the arguments request it', async () => {
    for (const format of [['--format', 'json'], ['--format=json'], ['-f', 'json']]) {
      const { code, out } = await run(['list', '--nope', ...format])
      assert.equal(code, 2)
      const { error } = JSON.parse(out)
      assert.equal(error.code, 'USAGE')
      assert.equal(error.exit_code, 2)
    }
  })
})

describe('a failure', () => {
  test('of the command line points to the help of the called command', async () => {
    const { code, err } = await run(['verify', '--path', '/backups'])
    assert.equal(code, 2)
    assert.match(err, /help: See `kafka-backup verify --help`\. \(USAGE\)/)
  })

  test('prints a message and help, and exits with the code of the error table', async () => {
    const { code, out, err } = await run(list, failing(new KafkaBackupError('ARCHIVE_DAMAGED', 'x.json is not JSON')))
    assert.equal(code, 3)
    assert.equal(out, '')
    assert.equal(
      err,
      'error: x.json is not JSON\nhelp: Run `kafka-backup verify --deep` for the whole extent; earlier generations may be intact. (ARCHIVE_DAMAGED)\n',
    )
  })

  test('shows the chain of causes only with -v', async () => {
    const root = Object.assign(new Error('read failed'), { code: 'EIO' })
    const error = new KafkaBackupError('STORAGE_UNAVAILABLE', 'no answer', {
      cause: new Error('call failed', { cause: root }),
    })
    assert.doesNotMatch((await run(list, failing(error))).err, /caused by/)
    const { err } = await run([...list, '-v'], failing(error))
    assert.match(err, /error: no answer\n {2}caused by: call failed\n {2}caused by: read failed \(EIO\)\nhelp: /)
  })

  test('without a code is reported as a bug: exit 1, and the stack with -v', async () => {
    const { code, err } = await run(list, failing(new TypeError('x is not a function')))
    assert.equal(code, 1)
    assert.match(err, /error: x is not a function\nhelp: This is a bug .*\(INTERNAL\)\n$/)
    assert.match((await run([...list, '-v'], failing(new TypeError('boom')))).err, /at .*main\.test\.ts/)
  })

  test('with --format json is one document on standard output, and text on standard error', async () => {
    const details = { backup_id: 'x', location: undefined }
    const error = new KafkaBackupError('BACKUP_NOT_FOUND', 'no backup `x`', { help: 'Look again.', details })
    const { code, out, err } = await run([...list, '--format', 'json'], failing(error))
    assert.equal(code, 1)
    assert.deepEqual(JSON.parse(out), {
      error: {
        code: 'BACKUP_NOT_FOUND',
        message: 'no backup `x`',
        help: 'Look again.',
        exit_code: 1,
        details: { backup_id: 'x' },
      },
    })
    assert.match(err, /^error: no backup `x`\n/)
  })

  test('with --log-format json is a line of the log', async () => {
    const error = new KafkaBackupError('STORAGE_FULL', 'no space', { details: { key: 'orders/a', offset: 7n } })
    const { code, err } = await run([...list, '--log-format', 'json'], failing(error))
    assert.equal(code, 1)
    const { level, msg, code: named, exit_code, details } = JSON.parse(err)
    assert.deepEqual(
      { level, msg, named, exit_code, details },
      { level: 'error', msg: 'no space', named: 'STORAGE_FULL', exit_code: 1, details: { key: 'orders/a', offset: 7 } },
    )
  })

  test('shows no secret of the job in any format', async () => {
    const secretive = { ...job, auth: { password: 'hunter22' } }
    for (const extra of [[], ['--format', 'json'], ['--log-format', 'json'], ['-vv']]) {
      const { out, err } = await run(['backup', '--config', 'job.yaml', ...extra], {
        loadBackupJob: async () => secretive,
        runBackupJob: async (_, { onProgress }) => {
          onProgress({ type: 'warning', message: 'tried hunter22' })
          throw new KafkaBackupError('KAFKA_DENIED', 'refused hunter22', { cause: new Error('with hunter22') })
        },
      })
      assert.doesNotMatch(out + err, /hunter22/)
      assert.match(err, /refused \[redacted\]/)
    }
  })

  test('cannot control the terminal through its message', async () => {
    const { err } = await run(list, failing(new KafkaBackupError('ARCHIVE_DAMAGED', 'key \x1b[2J\x07\n  next')))
    assert.match(err, /^error: key \\u001b\[2J\\u0007\n {2}next\n/)
  })
})

describe('the log', () => {
  const chatty: Partial<Actions> = {
    runBackupJob: async (_, { onProgress, onRequest }) => {
      onProgress({ type: 'planned', topics: 1, partitions: 2, offsets: 10n })
      onRequest?.('Fetch', 'kafka-1:9092')
      onRequest?.('Fetch', 'kafka-1:9092')
      onProgress({ type: 'retry', what: 'broker 1 does not answer', delayMs: 200 })
      onProgress({ type: 'retry', what: 'broker 1 does not answer', delayMs: 5000 })
      onProgress({ type: 'gap', topic: 'orders', partition: 1, from: 3n, to: 7n, reason: 'retention' })
      onProgress({ type: 'copied', topic: 'orders', partition: 0, offsets: 10n, records: 10, bytes: 2048 })
      onProgress({ type: 'committed', generation: 4, complete: true })
      return backupReport
    },
  }
  const backup = ['backup', '--config', 'job.yaml', '--no-progress']
  const warnings = [
    'warning: broker 1 does not answer; trying again in 5.0 s',
    'warning: orders/1: offsets 3 to 7 were lost at the source (retention)',
  ]

  test('contains gaps, warnings and long waits by default', async () => {
    assert.equal((await run(backup, chatty)).err, `${warnings.join('\n')}\n`)
  })

  test('contains plans, commits, retries and request counts with timestamps with -v', async () => {
    const { err } = await run([...backup, '-v'], chatty)
    const lines = err.trimEnd().split('\n')
    const time = '2025-11-15T09:30:00.000Z '
    assert.ok(lines.every(line => line.startsWith(time)))
    assert.deepEqual(
      lines.map(line => line.slice(time.length)),
      [
        'info: 2 partitions of 1 topic to copy',
        'info: broker 1 does not answer; trying again in 200 ms',
        ...warnings,
        'info: committed generation 4, complete',
        'info: requests to Kafka: Fetch 2',
      ],
    )
  })

  test('contains every step with -vv', async () => {
    assert.match((await run([...backup, '-vv'], chatty)).err, /debug: orders\/0: 10 records, 2\.0 KiB copied\n/)
  })

  test('is empty with -q', async () => {
    assert.equal((await run([...backup, '-q'], chatty)).err, '')
  })

  test('has the parts of an event as fields in JSON', async () => {
    const { err } = await run([...backup, '--log-format', 'json'], chatty)
    const events = err
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    assert.deepEqual(
      events.map(({ level, event }) => [level, event]),
      [
        ['warn', 'retry'],
        ['warn', 'gap'],
      ],
    )
    const { topic, partition, from, to, reason } = events[1]
    assert.deepEqual(
      { topic, partition, from, to, reason },
      { topic: 'orders', partition: 1, from: 3, to: 7, reason: 'retention' },
    )
  })
})
