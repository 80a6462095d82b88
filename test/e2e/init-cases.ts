import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { shellQuote } from '../../src/lib/shell.ts'
import { withFolder } from './backup-job.ts'
import { cli, runCli } from './run-cli.ts'
import { plainPassword, plainUser, type SecureKafka, scramPassword, scramUser } from './secure-kafka.ts'

/** `init` against listeners with TLS and logins, and on a terminal. */
export function addInitCases(kafka: SecureKafka): void {
  const environment = (more: Record<string, string> = {}) => ({ ...process.env, KAFKA_PASSWORD: '', ...more })

  test('init takes TLS and a login from client.properties, and the job that it writes runs', () =>
    withFolder(async folder => {
      const jaas = `org.apache.kafka.common.security.scram.ScramLoginModule required username="${scramUser}" password="${scramPassword}";`
      const lines = [
        `bootstrap.servers=${kafka.at('SASLTLS')}`,
        'security.protocol=SASL_SSL',
        'sasl.mechanism=SCRAM-SHA-512',
        `sasl.jaas.config=${jaas}`,
        'ssl.truststore.type=PEM',
        `ssl.truststore.location=${kafka.identities.ca.cert}`,
      ]
      await writeFile(join(folder, 'client.properties'), lines.join('\n'))
      const options = ['--from', 'client.properties', '--include', 't', '--path', './store', '--yes']
      const { KAFKA_PASSWORD: _, ...env } = environment()
      const written = await runCli(['init', ...options], { cwd: folder, env })
      assert.equal(written.code, 0, written.stderr)
      assert.match(written.stderr, /\bt +2 +\d[\s\S]*Ready/)
      assert.ok(!`${await readFile(join(folder, 'backup.yaml'), 'utf8')}${written.stdout}`.includes(scramPassword))
      const more = environment({ KAFKA_PASSWORD: scramPassword })
      const ran = await runCli(['backup', 'backup.yaml', '--format', 'json'], { cwd: folder, env: more })
      assert.equal(ran.code, 0, ran.stderr)
    }))

  test('init writes nothing after a wrong password or a certificate that is not trusted', () =>
    withFolder(async folder => {
      const login = ['--mechanism', 'PLAIN', '--username', plainUser, '--tls-ca', kafka.identities.ca.cert]
      const env = environment({ KAFKA_PASSWORD: 'not this one' })
      const rest = ['--path', './store', '--yes']
      const wrong = await runCli(['init', '--bootstrap-server', kafka.at('SASLTLS'), ...login, ...rest], {
        ...{ cwd: folder, env },
      })
      assert.ok(wrong.code !== 0 && wrong.code !== 4, wrong.stderr)
      assert.match(wrong.stderr, /KAFKA_AUTH/)
      assert.doesNotMatch(wrong.stderr, /not this one/)
      const tls = ['--protocol', 'SSL', '--tls-ca', kafka.identities.ca.cert]
      const untrusted = await runCli(['init', '--bootstrap-server', kafka.at('UNKNOWNCA'), ...tls, ...rest], {
        ...{ cwd: folder, env },
      })
      assert.ok(untrusted.code !== 0 && untrusted.code !== 4, untrusted.stderr)
      assert.match(untrusted.stderr, /KAFKA_TLS/)
      await assert.rejects(stat(join(folder, 'backup.yaml')), { code: 'ENOENT' })
    }))

  test('init asks on a terminal, and proposes answers that Enter takes', () =>
    withFolder(async folder => {
      const login = ['--mechanism', 'PLAIN', '--username', plainUser, '--tls-ca', kafka.identities.ca.cert]
      const env = environment({ KAFKA_PASSWORD: plainPassword })
      const { code, output } = await onTerminal(['init', ...login], folder, env, [
        ['Brokers (host:port)', kafka.at('SASLTLS')],
        ['Topics to include', 't'],
        ['Topics to exclude', ''],
        ['Location', join(folder, 'store')],
        ['Schedule', 'hourly'],
        ['Name of the backup', 'from-terminal'],
      ])
      assert.equal(code, 0, output)
      assert.match(output, /Wrote backup\.yaml/)
      const job = await readFile(join(folder, 'backup.yaml'), 'utf8')
      assert.match(
        job,
        /backup_id: from-terminal[\s\S]*protocol: SASL_SSL[\s\S]*include:\n {6}- t\n[\s\S]*Schedule \(hourly\)/,
      )
    }))

  test('init ends without a file where its terminal is interrupted', () =>
    withFolder(async folder => {
      const interrupted = await onTerminal(['init'], folder, environment(), [['Brokers (host:port)', '\u0003']])
      assert.notEqual(interrupted.code, 0)
      await assert.rejects(stat(join(folder, 'backup.yaml')), { code: 'ENOENT' })
    }))
}

/** Runs the program on a pseudo-terminal, and answers each question when it is shown. */
async function onTerminal(
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  answers: readonly [question: string, answer: string][],
): Promise<{ code: number; output: string }> {
  const command = [...cli, ...args].map(shellQuote).join(' ')
  const running: ChildProcess = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    ...{ cwd, env: { ...env, TERM: 'dumb', NO_COLOR: '1' } },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const left = [...answers]
  let output = ''
  let seen = 0
  running.stdout?.on('data', chunk => {
    output += chunk
    const [question, answer] = left[0] ?? []
    const at = question === undefined ? -1 : output.indexOf(question, seen)
    if (at < 0) return
    seen = output.length
    left.shift()
    running.stdin?.write(answer === '\u0003' ? answer : `${answer}\r`)
  })
  const [code] = await once(running, 'close')
  assert.deepEqual(left, [], output)
  return { code, output }
}
