import assert from 'node:assert/strict'
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster } from '../../src/kafka/cluster.ts'
import { TlsContextSource } from '../../src/kafka/security/tls-context.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { hashChain } from '../oracle/records.ts'
import { brokerNames, type Identity, makeIdentity } from '../servers/certificates.ts'
import { type KafkaDriver, openDriver } from '../servers/driver.ts'
import { type KafkaServer, startKafka } from '../servers/kafka.ts'
import { runCommand } from '../servers/run-command.ts'
import { startTokenServer, type TokenServer } from '../servers/token-server.ts'
import { backUp, jobText, makeJob, withFolder } from './backup-job.ts'
import { restoreByJob } from './restore-job.ts'
import { loginProperties, scramPassword, scramUser } from './secure-kafka.ts'

const never = new AbortController().signal
const bin = resolve(import.meta.dirname, '../../src/cli/bin.ts')
const sessionMs = 2000

describe('logins and certificates are renewed during a run', () => {
  let folder: string
  let server: KafkaServer
  let driver: KafkaDriver
  let tokens: TokenServer
  let ca: Identity
  let identity: Identity
  let expected: string[]

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-certificates-'))
    ca = await makeIdentity(folder, 'ca')
    identity = await makeIdentity(folder, 'server', { signedBy: ca, names: brokerNames })
    tokens = await startTokenServer(identity, join(folder, 'jwks.json'))
    server = await startKafka({
      listeners: { SASL: 'SASL_PLAINTEXT', OAUTH: 'SASL_SSL', MTLS: 'SSL' },
      properties: planProperties(identity, ca, tokens),
      jvmFlags: [`-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${tokens.jwksUrl}`],
    })
    driver = await openDriver(server)
    await driver.createScramUser(scramUser, scramPassword, 'SCRAM-SHA-512')
    await driver.createTopic('t', { partitions: 2 })
    await driver.seedBulk('t', { count: 6000, partitions: 2, valueBytes: 10_000, compression: 'none' })
    expected = (await driver.digest('t', { isolation: 'read_committed' })).map(({ sha256 }) => sha256)
    await driver.createTopic('small', { partitions: 2 })
    await driver.seedBulk('small', { count: 600, partitions: 2, valueBytes: 1000, compression: 'none' })
  })
  after(async () => {
    await driver?.close()
    await server?.stop()
    await tokens?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const at = (listener: string) => server.listenerServers[listener] ?? ''
  const scram = {
    protocol: 'SASL_PLAINTEXT',
    sasl: { mechanism: 'SCRAM-SHA-512', username: scramUser, password: scramPassword },
  }
  const oauth = (more: Record<string, unknown> = {}) => ({
    protocol: 'SASL_SSL',
    tls: { ca_cert: ca.cert },
    sasl: {
      mechanism: 'OAUTHBEARER',
      oauth: {
        token_url: tokens.tokenUrl,
        client_id: 'client:1',
        client_secret: 'sécret/with+signs',
        ca_cert: ca.cert,
        ...more,
      },
    },
  })

  test('a backup that lasts longer than several sessions logs in again on its connections and loses none', () =>
    withFolder(async path => {
      const run = await slowBackUp(path, at('SASL'), scram)
      assert.ok(run.ms > 2 * sessionMs, `it lasted ${run.ms} ms`)
      assert.deepEqual(run.retries, [])
      const [logins, connections] = [run.count('SaslHandshake'), run.count('ApiVersions')]
      assert.ok(logins >= connections + 2, `${logins} logins on ${connections} connections`)
      assert.deepEqual(run.hashes, expected)
    }))

  test('a connection that was idle for longer than its session is used again', async () => {
    const { cluster, names, retries } = await openCluster(at('SASL'), scram)
    await sleep(sessionMs + 500)
    await Promise.all([1, 2, 3].map(() => cluster.metadata({ topics: null }, never)))
    assert.deepEqual(retries, [])
    assert.deepEqual(
      ['ApiVersions', 'SaslHandshake'].map(name => names.filter(each => each === name).length),
      [1, 2],
      'one connection, and one renewal for all three requests',
    )
    cluster.close()
  })

  test('the broker ends a session that is not renewed: what the two tests before rely on', async () => {
    const stopped = { ...systemClock, monotonic: () => 0 }
    const { cluster, names } = await openCluster(at('SASL'), scram, stopped)
    await sleep(sessionMs + 500)
    await cluster.metadata({ topics: null }, never)
    assert.equal(names.filter(name => name === 'ApiVersions').length, 2, 'a new connection had to be made')
    cluster.close()
  })

  test('a restore by OAUTHBEARER that lasts longer than several sessions is exact', () =>
    withFolder(async path => {
      await backUp({ servers: server.bootstrapServers, path, include: ['t'] })
      const options = { topic_mapping: { t: 't-back' }, retention: 'hold', rate_limit: '12MiB' }
      const { durationMs } = await restoreByJob({ servers: [at('OAUTH')], path, security: oauth(), restore: options })
      assert.ok(durationMs > 2 * sessionMs, `it lasted ${durationMs} ms`)
      const found = await driver.digest('t-back', { isolation: 'read_committed' })
      assert.deepEqual(
        found.map(({ sha256 }) => sha256),
        expected,
      )
    }))

  test('OAUTHBEARER: one token serves all connections, with its extensions', () =>
    withFolder(async path => {
      tokens.requests.length = 0
      const security = oauth({ scope: 'kafka', audience: 'cluster', extensions: { logicalCluster: 'lkc-1' } })
      await backUp({ servers: [at('OAUTH')], path, include: ['small'], security })
      const digests = await driver.digest('small', { isolation: 'read_committed' })
      assert.deepEqual(
        (await readArchivedTopic(path, 'b1', 'small')).map(hashChain),
        digests.map(({ sha256 }) => sha256),
      )
      const credentials = Buffer.from('client%3A1:s%C3%A9cret%2Fwith%2Bsigns').toString('base64')
      assert.deepEqual(tokens.requests, [
        {
          authorization: `Basic ${credentials}`,
          form: { grant_type: 'client_credentials', scope: 'kafka', audience: 'cluster' },
        },
      ])
    }))

  test('OAUTHBEARER: sends ID and secret in the form if the endpoint requires it', () =>
    withFolder(async path => {
      tokens.requests.length = 0
      await backUp({ servers: [at('OAUTH')], path, include: ['small'], security: oauth({ client_auth: 'post' }) })
      const { authorization, form } = tokens.requests[0] ?? {}
      assert.deepEqual(
        [authorization, form?.client_id, form?.client_secret],
        [undefined, 'client:1', 'sécret/with+signs'],
      )
    }))

  test('OAUTHBEARER: replaces short-lived tokens before they expire', () =>
    withFolder(async path => {
      tokens.requests.length = 0
      tokens.lifeSeconds = 4
      try {
        const run = await slowBackUp(path, at('OAUTH'), oauth())
        assert.ok(run.ms > 4000, `it lasted ${run.ms} ms`)
        assert.deepEqual(run.retries, [])
        assert.ok(tokens.requests.length >= 2, `${tokens.requests.length} tokens`)
        assert.ok(tokens.requests.length <= run.ms / 1000 + 2, 'no stampede')
        assert.ok(run.count('SaslHandshake') > run.count('ApiVersions'))
        assert.deepEqual(run.hashes, expected)
      } finally {
        tokens.lifeSeconds = 3600
      }
    }))

  test('OAUTHBEARER: reports why the broker or the endpoint refuses the login', () =>
    withFolder(async path => {
      const attempt = (security: Record<string, unknown>) =>
        backUp({ servers: [at('OAUTH')], path, include: ['small'], security })
      tokens.lifeSeconds = -600
      await assert.rejects(attempt(oauth()), {
        code: 'KAFKA_AUTH',
        message: /refused the OAUTHBEARER login as client:1: .*invalid_token/,
      })
      tokens.lifeSeconds = 3600
      tokens.refusal = { statusCode: 401, body: { error: 'invalid_client', error_description: 'who are you' } }
      await assert.rejects(attempt(oauth()), {
        code: 'KAFKA_AUTH',
        message:
          /the token endpoint https:\/\/localhost:\d+\/token gave no token: status 401, invalid_client: who are you/,
      })
      tokens.refusal = { statusCode: 503, body: {} }
      await assert.rejects(attempt(oauth()), { code: 'KAFKA_UNREACHABLE', message: /token answered with status 503/ })
      tokens.refusal = undefined
      await assert.rejects(attempt(oauth({ ca_cert: join(folder, 'server.pem') })), {
        code: 'KAFKA_TLS',
        message: /the certificate of the token endpoint localhost:\d+ is signed by a CA that is not trusted/,
        help: /security\.sasl\.oauth\.ca_cert/,
      })
      await assert.rejects(attempt(oauth({ token_url: 'https://localhost:1/token' })), {
        code: 'KAFKA_UNREACHABLE',
        message: /the token endpoint https:\/\/localhost:1\/token cannot be reached: ECONNREFUSED/,
      })
    }))

  test('OAUTHBEARER: shows neither the client secret nor a token, not even with -vv', () =>
    withFolder(async path => {
      const config = join(path, 'job.yaml')
      const run = async (security: Record<string, unknown>) => {
        const job = { servers: [at('OAUTH')], path: join(path, 'store'), include: ['small'], security }
        await writeFile(config, jobText(job))
        const { exitCode, stdout, stderr } = await runCommand(process.execPath, [
          bin,
          'backup',
          '-vv',
          '--config',
          config,
        ])
        assert.doesNotMatch(`${stdout}${stderr}`, /sécret|s%C3%A9cret|eyJ|Bearer/)
        return { exitCode, stderr }
      }
      assert.equal((await run(oauth())).exitCode, 0)
      tokens.lifeSeconds = -600
      const refused = await run(oauth())
      tokens.lifeSeconds = 3600
      assert.equal(refused.exitCode, 1)
      assert.match(refused.stderr, /invalid_token/)
      tokens.refusal = {
        statusCode: 401,
        body: { error: 'invalid_client', error_description: 'sécret/with+signs is wrong' },
      }
      assert.match((await run(oauth())).stderr, /invalid_client: \[redacted\] is wrong/)
      tokens.refusal = undefined
    }))

  test('the next connection uses replaced client certificates', async () => {
    const otherCa = await makeIdentity(folder, 'other-ca')
    const first = await makeIdentity(folder, 'first', { signedBy: ca })
    const foreign = await makeIdentity(folder, 'foreign', { signedBy: otherCa })
    const second = await makeIdentity(folder, 'second', { signedBy: ca })
    const [client_cert, client_key] = [join(folder, 'used.pem'), join(folder, 'used.key')]
    const put = async ({ cert, key }: Identity) => {
      await copyFile(cert, client_cert)
      await copyFile(key, client_key)
    }
    await put(first)
    const security = { protocol: 'SSL', tls: { ca_cert: ca.cert, client_cert, client_key } }
    const { cluster } = await openCluster(at('MTLS'), security)
    const connect = async () => (await cluster.openLink(1, never)).close()
    await connect()
    await put(foreign)
    await assert.rejects(connect, { code: 'KAFKA_TLS', message: /refuses the client certificate .*used\.pem/ })
    await cluster.metadata({ topics: null }, never)
    await put(second)
    await connect()
    cluster.close()
  })

  test('keeps the earlier certificate for a minute if only one file of the pair is replaced, then fails', async () => {
    const one = await makeIdentity(folder, 'one', { signedBy: ca })
    const two = await makeIdentity(folder, 'two', { signedBy: ca })
    const files = { clientCert: join(folder, 'pair.pem'), clientKey: join(folder, 'pair.key') }
    await copyFile(one.cert, files.clientCert)
    await copyFile(one.key, files.clientKey)
    const clock = new JumpingClock()
    const source = new TlsContextSource(files, clock)
    const first = await source.current()
    assert.equal(await source.current(), first, 'files that did not change are not read again')
    await copyFile(two.cert, files.clientCert)
    assert.equal(await source.current(), first)
    clock.pass(61_000)
    await assert.rejects(source.current(), { code: 'KAFKA_TLS', message: /pair\.key does not belong to .*pair\.pem/ })
    await copyFile(two.key, files.clientKey)
    assert.notEqual(await source.current(), first)
  })

  /** A backup whose store takes its time, with what it asked of the brokers. */
  async function slowBackUp(path: string, from: string, security: Record<string, unknown>) {
    const names: string[] = []
    const retries: string[] = []
    const started = performance.now()
    await backUp(
      {
        servers: [from],
        path,
        include: ['t'],
        security,
        backup: { memory_budget: '32MiB', connections_per_broker: 1, compression: 'none' },
      },
      {
        onRequest: name => names.push(name),
        onProgress: event => {
          if (event.type === 'retry') retries.push(event.what)
        },
        decorateStorage: storage => withSlowWrites(storage, 600),
      },
    )
    return {
      ms: performance.now() - started,
      retries,
      count: (name: string) => names.filter(each => each === name).length,
      hashes: (await readArchivedTopic(path, 'b1', 't')).map(hashChain),
    }
  }

  async function openCluster(from: string, security: Record<string, unknown>, clock = systemClock) {
    const { source } = makeJob({ servers: [from], path: folder, include: ['t'], security })
    const names: string[] = []
    const retries: string[] = []
    const cluster = await Cluster.open(
      {
        ...source,
        softwareVersion: 'test',
        clock,
        onRequest: name => names.push(name),
        onRetry: error => retries.push(String(error)),
      },
      never,
    )
    return { cluster, names, retries }
  }
})

function withSlowWrites(storage: Storage, ms: number): Storage {
  return {
    ...storage,
    openWriter: async (key, signal) => {
      const writer = await storage.openWriter(key, signal)
      return Object.assign(Object.create(writer), {
        write: async (chunks: readonly Uint8Array[]) => {
          await sleep(ms)
          await writer.write(chunks, signal)
        },
        commit: (commitSignal: AbortSignal) => writer.commit(commitSignal),
        abort: () => writer.abort(),
      })
    },
  }
}

function planProperties(identity: Identity, ca: Identity, tokens: TokenServer): Record<string, string> {
  const keyStore = (listener: string) => ({
    [`listener.name.${listener}.ssl.keystore.type`]: 'PEM',
    [`listener.name.${listener}.ssl.keystore.location`]: identity.store,
  })
  const oauth = 'listener.name.oauth.oauthbearer'
  const module = 'org.apache.kafka.common.security.oauthbearer'
  return {
    ...loginProperties('sasl'),
    'listener.name.sasl.scram-sha-512.connections.max.reauth.ms': String(sessionMs),
    ...keyStore('oauth'),
    'listener.name.oauth.sasl.enabled.mechanisms': 'OAUTHBEARER',
    [`${oauth}.connections.max.reauth.ms`]: '3600000',
    [`${oauth}.sasl.jaas.config`]: `${module}.OAuthBearerLoginModule required;`,
    [`${oauth}.sasl.server.callback.handler.class`]: `${module}.OAuthBearerValidatorCallbackHandler`,
    // The default of Kafka 4.1.1 looks at no signature and no expiry.
    'sasl.oauthbearer.jwt.validator.class': `${module}.BrokerJwtValidator`,
    'sasl.oauthbearer.jwks.endpoint.url': tokens.jwksUrl,
    'sasl.oauthbearer.clock.skew.seconds': '1',
    ...keyStore('mtls'),
    'listener.name.mtls.ssl.truststore.type': 'PEM',
    'listener.name.mtls.ssl.truststore.location': ca.cert,
    'listener.name.mtls.ssl.client.auth': 'required',
  }
}
