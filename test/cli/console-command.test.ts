import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { main } from '../../src/cli/main.ts'
import { makeIdentity } from '../servers/certificates.ts'
import { FakeIo } from './fake-io.ts'

const golden = join(import.meta.dirname, '../golden/v0.1.0')
const TOKEN = 'a token of 24 characters'

/** Runs the command until it has printed its address, calls back, and stops it with a signal. */
async function serve(args: string[], visit: (url: string) => Promise<void>, env: Record<string, string> = {}) {
  const io = new FakeIo({ env })
  const printed = new Promise<void>(resolve => {
    const { write } = io.stdout
    io.stdout.write = function (text: string) {
      write.call(this, text)
      resolve()
    }
  })
  const ended = main(['console', '--path', golden, ...args], io)
  await Promise.race([printed, ended])
  await visit(/https?:\/\/[\w.:[\]]+/.exec(io.stdout.text)?.[0] ?? '')
  io.signal('SIGTERM')
  return { io, code: await ended }
}

test('console prints its address, serves the locations, and exits 0 when it is stopped', async () => {
  let address = ''
  const { code, io } = await serve(['--listen', '127.0.0.1:0', '--format', 'json'], async url => {
    address = url
    assert.match(await (await fetch(url)).text(), /href="\/at\/0\/golden"/)
  })
  assert.equal(code, 0)
  assert.deepEqual(JSON.parse(io.stdout.text), { url: address, locations: [golden] })
  await assert.rejects(fetch(address))
})

test('console serves over TLS, requires the token from the environment, and never prints it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-console-'))
  try {
    const { cert, key } = await makeIdentity(folder, 'server', { names: 'IP:127.0.0.1' })
    const ca = await readFile(cert)
    const status = (url: string, password: string) =>
      new Promise((resolve, reject) => {
        const authorization = `Basic ${Buffer.from(`:${password}`).toString('base64')}`
        request(url, { headers: { authorization }, ca }, response => resolve(response.resume().statusCode))
          .on('error', reject)
          .end()
      })
    const visit = async (url: string) => {
      assert.match(url, /^https:/)
      assert.deepEqual([await status(url, TOKEN), await status(url, 'wrong')], [200, 401])
    }
    const args = ['--listen', '127.0.0.1:0', '--tls-cert', cert, '--tls-key', key, '--token-env', 'SECRET']
    const { io } = await serve(args, visit, { SECRET: TOKEN })
    assert.ok(!`${io.stdout.text}${io.stderr.text}`.includes(TOKEN))
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('console shows no secret of a job file, on no page', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-console-'))
  try {
    const config = join(folder, 'job.yaml')
    const security = {
      ...{ protocol: 'SASL_SSL' },
      sasl: { mechanism: 'PLAIN', username: 'backup', password: 's3cret-of-kafka' },
    }
    const auth = { type: 'basic', username: 'reader', password: `\${REGISTRY_PASSWORD}` }
    const job = {
      ...{ mode: 'backup', backup_id: 'golden', storage: { backend: 'filesystem', path: golden } },
      source: { bootstrap_servers: ['kafka:9093'], security, topics: { include: ['*'] } },
      enterprise: { schema_registry: { enabled: true, url: 'https://registry:8081', auth } },
    }
    await writeFile(config, JSON.stringify(job))
    const pages = ['', '/topics/golden', '/topics/golden/records', '/schemas', '/groups', '/restore', '/none']
    const { io, code } = await serve(
      ['--config', config, '--listen', '127.0.0.1:0'],
      async url => {
        for (const path of ['/', ...[0, 1].flatMap(at => pages.map(page => `/at/${at}/golden${page}`))]) {
          const answer = await fetch(url + path)
          assert.equal(answer.status, path.endsWith('/none') ? 404 : 200, path)
          assert.doesNotMatch(await answer.text(), /s3cret|kafka:9093|registry:8081/, path)
        }
        assert.equal((await fetch(`${url}/at/2/golden`)).status, 404)
      },
      { REGISTRY_PASSWORD: 's3cret-of-the-registry' },
    )
    assert.equal(code, 0)
    assert.doesNotMatch(io.stdout.text + io.stderr.text, /s3cret/)
  } finally {
    await rm(folder, { recursive: true })
  }
})

const refused: [string[], RegExp, Record<string, string>?][] = [
  [['--listen', '0.0.0.0:0'], /needs a token \(--token-env\) and TLS/],
  [['--listen', '0.0.0.0:0'], /needs TLS/, { KAFKA_BACKUP_CONSOLE_TOKEN: TOKEN }],
  [['--listen', '127.0.0.1:0'], /fewer than 16 characters/, { KAFKA_BACKUP_CONSOLE_TOKEN: 'short' }],
  [['--listen', '127.0.0.1:0', '--token-env', 'MISTYPED'], /MISTYPED: this environment variable is not set/],
  [
    ['--listen', '127.0.0.1:0'],
    /TOKEN: this environment variable is empty: set a token, or/,
    { KAFKA_BACKUP_CONSOLE_TOKEN: '' },
  ],
  [['--listen', '127.0.0.1:0', '--token-env', 'BLANK'], /BLANK: this environment variable is empty/, { BLANK: '' }],
  [['--listen', '127.0.0.1:0', '--allowed-host', 'https://a.example'], /--allowed-host .* is not a host name/],
  [['--tls-cert', 'a.pem'], /both --tls-cert and --tls-key/],
  [['--listen', 'nowhere'], /is not an address/],
  [['--set', 'a=b'], /--set needs --config/],
]
for (const [args, message, env = {}] of refused) {
  test(`console refuses ${args.join(' ')}${Object.keys(env).join('')}`, async () => {
    const io = new FakeIo({ env })
    assert.equal(await main(['console', '--path', golden, ...args], io), 2)
    assert.match(io.stderr.text, message)
  })
}
