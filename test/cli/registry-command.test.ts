import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Actions, realActions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { backupSchemas } from '../../src/index.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'
import { withTwoRegistries } from '../fakes/two-registries.ts'
import { makeIdentity } from '../servers/certificates.ts'
import { fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'
import { registryJob, registryProbe } from './schema-samples.ts'

/** Runs the command until it has said where it is, calls back, and stops it with a signal. */
async function serve(
  args: string[],
  visit: (url: string) => Promise<void>,
  actions: Actions = realActions,
  env: Record<string, string> = {},
) {
  const io = new FakeIo({ env })
  const printed = new Promise<void>(resolve => {
    const { write } = io.stdout
    io.stdout.write = function (text: string) {
      write.call(this, text)
      resolve()
    }
  })
  const ended = main(['registry', 'serve', ...args], io, actions)
  await printed
  await visit(/https?:\/\/[\w.:[\]]+/.exec(io.stdout.text)?.[0] ?? '')
  io.signal('SIGTERM')
  return { io, code: await ended }
}

test('registry serve prints its address, serves requests, and exits 0 when it is stopped', async () => {
  let address = ''
  const { code, io } = await serve(['--listen', '127.0.0.1:0', '--first-id', '1001', '--format', 'json'], async url => {
    address = url
    const body = JSON.stringify({ schema: '"string"' })
    const response = await fetch(`${url}/subjects/a/versions`, { method: 'POST', body })
    assert.equal(((await response.json()) as { id: number }).id, 1001)
  })
  assert.equal(code, 0)
  assert.deepEqual(JSON.parse(io.stdout.text), { url: address })
  await assert.rejects(fetch(`${address}/subjects`))
})

test('registry serve listens only on localhost by default', async () => {
  const seen: unknown[] = []
  const actions = fakeActions({
    openRegistry: async ({ onFailure: _, onProgress: _progress, ...options }) => {
      seen.push(options)
      return { url: 'http://127.0.0.1:1', close: async () => undefined }
    },
  })
  await serve([], async () => undefined, actions)
  await serve(['--listen', '[::1]:9'], async () => undefined, actions)
  assert.deepEqual(seen, [
    { host: '127.0.0.1', port: 8081, firstId: 1 },
    { host: '::1', port: 9, firstId: 1 },
  ])
})

const snapshot = snapshotOf([versionOf('orders-value', 3, 7), versionOf('gone', 1, 8, { isDeleted: true })])

test('registry serve with a backup serves its schemas read-only', () =>
  withTwoRegistries(snapshot, async ({ backupJob, folder }) => {
    await backupSchemas(backupJob({ backup: { include_soft_deleted: true } }))
    const args = ['--path', folder, '--backup-id', 'orders', '--listen', '127.0.0.1:0', '--format', 'json']
    const { code, io } = await serve(args, async url => {
      const read = async (path: string) => (await fetch(`${url}${path}`)).json()
      assert.deepEqual(await read('/subjects'), ['orders-value'])
      assert.deepEqual(await read('/subjects/orders-value/versions'), [3])
      assert.partialDeepStrictEqual(await read('/schemas/ids/7'), { schema: snapshot.versions[0]?.schema })
      assert.partialDeepStrictEqual(await read('/schemas/ids/8'), { schema: snapshot.versions[1]?.schema })
      const body = JSON.stringify({ schema: '"int"' })
      const answer = await fetch(`${url}/subjects/new/versions`, { method: 'POST', body })
      assert.deepEqual([answer.status, ((await answer.json()) as { error_code: number }).error_code], [422, 42205])
    })
    assert.equal(code, 0)
    assert.partialDeepStrictEqual(JSON.parse(io.stdout.text), { backup_id: 'orders', read_only: true })
  }))

test('registry serve serves the backup of a job, or another generation of it', async () => {
  const seen: unknown[] = []
  const actions = fakeActions({
    openRegistry: async ({ backup }) => {
      seen.push(backup)
      return { url: 'http://127.0.0.1:1', close: async () => undefined }
    },
  })
  const { io } = await serve(['--config', 'job.yaml'], async () => undefined, actions)
  assert.match(io.stdout.text, /^The schemas of the backup orders are at http/)
  await serve(['--config', 'job.yaml', '--generation', '2'], async () => undefined, actions)
  const side = { kind: 'backup', storage: { backend: 'filesystem', path: '/backups' }, backupId: 'orders' }
  assert.deepEqual(seen, [
    { ...side, generation: undefined },
    { ...side, generation: 2 },
  ])
})

test('registry serve requires the login from the environment, and supports TLS', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-serve-'))
  try {
    const { cert, key } = await makeIdentity(folder, 'server', { names: 'IP:127.0.0.1' })
    const ca = await readFile(cert)
    const tls = ['--tls-cert', cert, '--tls-key', key]
    const args = ['--listen', '127.0.0.1:0', '--username', 'reader', '--password-env', 'SECRET', ...tls]
    const env = { SECRET: 'correct horse' }
    const visit = async (url: string) => {
      assert.match(url, /^https:/)
      const status = (authorization: string) =>
        new Promise((resolve, reject) => {
          const options = { headers: { authorization }, ca }
          request(`${url}/subjects`, options, response => resolve(response.resume().statusCode))
            .on('error', reject)
            .end()
        })
      assert.equal(await status(`Basic ${Buffer.from('reader:correct horse').toString('base64')}`), 200)
      assert.equal(await status(`Basic ${Buffer.from('reader:wrong').toString('base64')}`), 401)
    }
    const { io } = await serve(args, visit, realActions, env)
    assert.ok(!`${io.stdout.text}${io.stderr.text}`.includes('correct horse'))
  } finally {
    await rm(folder, { recursive: true })
  }
})

const incomplete: [string[], RegExp][] = [
  [['--username', 'reader'], /set the environment variable REGISTRY_PASSWORD/],
  [['--tls-cert', 'a.pem'], /both --tls-cert and --tls-key/],
  [['--tls-ca', 'a.pem'], /both --tls-cert and --tls-key/],
  [['--tls-cert', '/nowhere/a.pem', '--tls-key', 'b.pem'], /--tls-cert \/nowhere\/a.pem cannot be read/],
  [['--backup-id', 'orders'], /pass --path and --backup-id, or --config/],
  [['--path', '/backups'], /pass --backup-id or --config/],
  [['--set', 'a=b'], /--set needs --config/],
  [['--path', '/b', '--backup-id', 'o', '--first-id', '9'], /--first-id is for an empty registry/],
]
for (const [args, message] of incomplete) {
  test(`registry serve refuses ${args.join(' ')} without its counterpart`, async () => {
    const io = new FakeIo()
    assert.equal(await main(['registry', 'serve', ...args], io, realActions), 2)
    assert.match(io.stderr.text, message)
  })
}

for (const args of [
  ['--listen', '8081'],
  ['--listen', 'host:99999'],
  ['--listen', ''],
  ['--first-id', '0'],
  ['--first-id', 'x'],
  ['--first-id', '2147483648'],
]) {
  test(`registry serve ${args.join(' ')} is refused`, async () => {
    const io = new FakeIo()
    assert.equal(await main(['registry', 'serve', ...args], io, realActions), 2)
    assert.match(io.stderr.text, new RegExp(`${args[0]} ${args[1]} is no`))
  })
}

test('registry requires an action', async () => {
  const io = new FakeIo()
  assert.equal(await main(['registry'], io, realActions), 2)
  assert.equal(await main(['registry', 'export'], io, realActions), 2)
})

async function probe(args: string[], actions: Actions = realActions) {
  const io = new FakeIo({ columns: 80, env: { NO_COLOR: '1' } })
  const code = await main(['registry', 'probe', ...args], io, actions)
  return { io, code }
}

test('registry probe only reads, unless --write allows test schemas', () =>
  withTwoRegistries(snapshot, async ({ targetUrl, requests, target }) => {
    const read = await probe(['--url', targetUrl])
    assert.equal(read.code, 0)
    assert.deepEqual(
      requests.filter(one => !one.startsWith('GET ')),
      [],
    )
    assert.match(read.io.stdout.text, /^http:\/\/127\.0\.0\.1:\d+: confluent 8\.0\.0$/m)
    assert.match(read.io.stdout.text, /^contexts +yes/m)
    assert.match(read.io.stdout.text, /Pass --write to probe all of them/)
    assert.ok(!read.io.stderr.text.includes('Writing'))

    const written = await probe(['--url', targetUrl, '--write', '--format', 'json'])
    assert.equal(written.code, 0)
    assert.match(
      written.io.stderr.text,
      /Writing test schemas to the context \.kafka-backup-probe-.*use up\s+a schema ID/s,
    )
    const document = JSON.parse(written.io.stdout.text)
    assert.partialDeepStrictEqual(document, {
      registry_flavour: 'confluent',
      registry_version: '8.0.0',
      left_behind: [],
      left_behind_details: [],
    })
    assert.ok(document.features.every(({ has }: { has: boolean }) => has))
    assert.ok(document.schemas_registered > 10)
    assert.deepEqual(target.subjects({ prefix: ':*:', including: 'all', offset: 0, limit: 0 }), [])
  }))

test('registry probe uses the registry and login of a job', async () => {
  const seen: unknown[] = []
  const actions = fakeActions({
    loadClusterlessJob: async () => registryJob,
    probeRegistryJob: async (side, options) => {
      seen.push(side, options.isWriting)
      return {
        ...registryProbe,
        registrations: 12,
        leftBehind: [{ subject: 'kafka-backup-probe-1-a', parts: ['versions'], reason: 'access denied' }],
      }
    },
  })
  const { code, io } = await probe(['--config', 'job.yaml', '--write'], actions)
  assert.equal(code, 4)
  assert.match(io.stdout.text, /^12 schemas registered, not all of them removed again\.$/m)
  assert.match(io.stdout.text, /not removed: subject kafka-backup-probe-1-a \(versions\): access denied/)
  assert.match(io.stdout.text, /DELETE \/subjects\/<name>/)
  assert.partialDeepStrictEqual(seen, [{ kind: 'registry' }, true])
})

const misused: [string[], RegExp][] = [
  [['probe'], /pass --url or --config/],
  [['probe', '--url', 'http://a:1', '--config', 'job.yaml'], /pass either --url or --config, not both/],
  [['probe', '--url', 'registry:8081'], /--url is not an address/],
  [['probe', '--url', 'http://a:1', '--set', 'a=b'], /--set needs --config/],
  [['probe', '--url', 'http://a:1', '--first-id', '5'], /--first-id is not for `registry probe`, but for serve/],
  [['serve', '--write'], /--write is not for `registry serve`, but for probe/],
]
for (const [args, message] of misused) {
  test(`registry ${args.join(' ')} is refused`, async () => {
    const io = new FakeIo()
    assert.equal(await main(['registry', ...args], io, realActions), 2)
    assert.match(io.stderr.text, message)
  })
}
