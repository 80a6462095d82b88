import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { KafkaBackupError } from '../../src/errors.ts'
import { encryptKey } from '../servers/certificates.ts'
import { mustRun, runCommand } from '../servers/run-command.ts'
import { backUp, jobText, withFolder } from './backup-job.ts'
import { cli } from './run-cli.ts'
import { plainPassword, plainUser, scramPassword, scramUser, useSecureKafka } from './secure-kafka.ts'

type Security = Record<string, unknown> | undefined
interface Refusal {
  server: () => string
  security: () => Security
  code: 'KAFKA_TLS' | 'KAFKA_AUTH' | 'KAFKA_DISCONNECTED'
  message: RegExp
  help: RegExp
}

describe('uses the protocol of the job, and names a listener that expects another', () => {
  const kafka = useSecureKafka()
  const tls = () => ({ ca_cert: kafka.identities.ca.cert })
  const ssl = () => ({ protocol: 'SSL', tls: tls() })
  const scram = { mechanism: 'SCRAM-SHA-512', username: scramUser, password: scramPassword }
  const plainListener = () => kafka.server.bootstrapServers[0] ?? ''
  const clientOf = (name: 'client' | 'otherClient') => ({
    client_cert: kafka.identities[name].cert,
    client_key: kafka.identities[name].key,
  })

  const refusals: Record<string, Refusal> = {
    'a server certificate of a CA that nobody named': {
      server: () => kafka.at('TLS'),
      security: () => ({ protocol: 'SSL' }),
      code: 'KAFKA_TLS',
      message: /the certificate of 127\.0\.0\.1:\d+ is signed by a CA that is not trusted/,
      help: /Set `security\.tls\.ca_cert`/,
    },
    'a server certificate of another CA': {
      server: () => kafka.at('UNKNOWNCA'),
      security: ssl,
      code: 'KAFKA_TLS',
      message: /is signed by a CA that is not trusted/,
      help: /Put the CA .* `security\.tls\.ca_cert`/,
    },
    'a server certificate that has expired': {
      server: () => kafka.at('EXPIRED'),
      security: ssl,
      code: 'KAFKA_TLS',
      message: /has expired/,
      help: /Renew the broker's certificate/,
    },
    'a self-signed server certificate': {
      server: () => kafka.at('SELFSIGNED'),
      security: ssl,
      code: 'KAFKA_TLS',
      message: /is self-signed/,
      help: /security\.tls\.ca_cert/,
    },
    'a server certificate for another host, by address': {
      server: () => kafka.at('WRONGHOST'),
      security: ssl,
      code: 'KAFKA_TLS',
      message: /127\.0\.0\.1:\d+ is not for this host: it names DNS:elsewhere\.example/,
      help: /Connect by a name that the certificate has/,
    },
    'a server certificate for another host, by name': {
      server: () => kafka.at('WRONGHOST').replace('127.0.0.1', 'localhost'),
      security: ssl,
      code: 'KAFKA_TLS',
      message: /localhost:\d+ is not for this host: it names DNS:elsewhere\.example/,
      help: /Connect by a name that the certificate has/,
    },
    'a client without the certificate that is asked for': {
      server: () => kafka.at('MTLS'),
      security: ssl,
      code: 'KAFKA_TLS',
      message: /asks for a client certificate \(it said: bad certificate\)/,
      help: /Set `security\.tls\.client_cert` and `security\.tls\.client_key`/,
    },
    'a client certificate of another CA': {
      server: () => kafka.at('MTLS'),
      security: () => ({ protocol: 'SSL', tls: { ...tls(), ...clientOf('otherClient') } }),
      code: 'KAFKA_TLS',
      message: /refuses the client certificate .*other-client\.pem \(it said: certificate unknown\)/,
      help: /trust store/,
    },
    'plain text to a TLS listener': {
      server: () => kafka.at('TLS'),
      security: () => undefined,
      code: 'KAFKA_TLS',
      message: /the listener at .* expects TLS, and the job connects in plain text/,
      help: /Set `security\.protocol` to SSL/,
    },
    'a login in plain text to a TLS listener': {
      server: () => kafka.at('SASLTLS'),
      security: () => ({ protocol: 'SASL_PLAINTEXT', sasl: scram }),
      code: 'KAFKA_TLS',
      message: /expects TLS/,
      help: /SASL_SSL/,
    },
    'TLS to a plain listener': {
      server: plainListener,
      security: ssl,
      code: 'KAFKA_DISCONNECTED',
      message: /closed the connection during the TLS handshake: its listener may not speak TLS/,
      help: /correct `security\.protocol`/,
    },
    'a login over TLS to a plain SASL listener': {
      server: () => kafka.at('SASL'),
      security: () => ({ protocol: 'SASL_SSL', tls: tls(), sasl: scram }),
      code: 'KAFKA_DISCONNECTED',
      message: /its listener may not speak TLS/,
      help: /correct `security\.protocol`/,
    },
    'no login at a SASL listener': {
      server: () => kafka.at('SASL'),
      security: () => undefined,
      code: 'KAFKA_AUTH',
      message: /requires a login, and the job has none; it accepts .*SCRAM-SHA-512/,
      help: /`security\.sasl`/,
    },
    'no login at a SASL listener with TLS': {
      server: () => kafka.at('SASLTLS'),
      security: ssl,
      code: 'KAFKA_AUTH',
      message: /requires a login, and the job has none; it accepts .*PLAIN/,
      help: /SASL_SSL/,
    },
    'a login at a listener that takes none': {
      server: plainListener,
      security: () => ({ protocol: 'SASL_PLAINTEXT', sasl: scram }),
      code: 'KAFKA_AUTH',
      message: /accepts no login, and the job has one \(SCRAM-SHA-512\)/,
      help: /without `security\.sasl`/,
    },
    'a mechanism that is not enabled': {
      server: () => kafka.at('SASLTLS'),
      security: () => ({ protocol: 'SASL_SSL', tls: tls(), sasl: { mechanism: 'AWS_MSK_IAM' } }),
      code: 'KAFKA_AUTH',
      message: /does not accept AWS_MSK_IAM; it accepts PLAIN, SCRAM-SHA-512, SCRAM-SHA-256/,
      help: /`security\.sasl\.mechanism`/,
    },
    'a wrong password with PLAIN': {
      server: () => kafka.at('SASL'),
      security: () => ({
        protocol: 'SASL_PLAINTEXT',
        sasl: { mechanism: 'PLAIN', username: plainUser, password: 'no' },
      }),
      code: 'KAFKA_AUTH',
      message: /127\.0\.0\.1:\d+ refused the PLAIN login as plain-user: .*Invalid username or password/,
      help: /mechanism, user and password/,
    },
    'a wrong password with SCRAM': {
      server: () => kafka.at('SASL'),
      security: () => ({ protocol: 'SASL_PLAINTEXT', sasl: { ...scram, password: 'no' } }),
      code: 'KAFKA_AUTH',
      message: /refused the SCRAM-SHA-512 login as backup,user=1: .*invalid credentials/,
      help: /mechanism, user and password/,
    },
    'a user that is not there': {
      server: () => kafka.at('SASL'),
      security: () => ({ protocol: 'SASL_PLAINTEXT', sasl: { ...scram, username: 'nobody' } }),
      code: 'KAFKA_AUTH',
      message: /refused the SCRAM-SHA-512 login as nobody/,
      help: /mechanism, user and password/,
    },
  }
  for (const [name, { server, security, code, message, help }] of Object.entries(refusals)) {
    test(name, () =>
      withFolder(async path => {
        const attempt = backUp({ servers: [server()], path, include: ['t'], security: security() })
        await assert.rejects(attempt, (error: KafkaBackupError) => {
          assert.deepEqual([error.code, error.exitCode], [code, 1])
          assert.match(error.message, message)
          assert.match(error.help, help)
          return true
        })
        assert.deepEqual(await readdir(path), [])
      }),
    )
  }

  test('always distinguishes a refused client certificate from a lost connection', () =>
    withFolder(async path => {
      for (let i = 0; i < 30; i++) {
        const attempt = backUp({ servers: [kafka.at('MTLS')], path, include: ['t'], security: ssl() })
        await assert.rejects(attempt, { code: 'KAFKA_TLS', message: /asks for a client certificate/ })
      }
    }))

  test('an environment variable does not turn verification off', () =>
    withFolder(async path => {
      const { exitCode, stderr } = await runJob(path, { protocol: 'SSL' }, kafka.at('TLS'), {
        NODE_TLS_REJECT_UNAUTHORIZED: '0',
      })
      assert.equal(exitCode, 1)
      assert.match(stderr, /is signed by a CA that is not trusted/)
      assert.match(stderr, /KAFKA_TLS/)
    }))

  test('names certificate files that do not match', async () => {
    const { client, otherClient } = kafka.identities
    const pair = { ...tls(), client_cert: client.cert, client_key: otherClient.key }
    await assert.rejects(backUpWith({ protocol: 'SSL', tls: pair }), {
      code: 'KAFKA_TLS',
      message: `the private key ${otherClient.key} does not belong to the certificate ${client.cert}`,
    })
    const encrypted = await encryptKey(client, 'key-password')
    const locked = { ...tls(), client_cert: client.cert, client_key: encrypted }
    await assert.rejects(backUpWith({ protocol: 'SSL', tls: locked }), {
      code: 'KAFKA_TLS',
      message: `the private key ${encrypted} is encrypted; give its password as client_key_password`,
    })
    const store = join(kafka.folder, 'store-of-another-format.pem')
    const pair12 = ['-inkey', client.key, '-in', client.cert, '-passout', 'pass:changeit', '-out', store]
    await mustRun('openssl', ['pkcs12', '-export', ...pair12])
    await assert.rejects(backUpWith({ protocol: 'SSL', tls: { ca_cert: store } }), {
      code: 'KAFKA_TLS',
      message: `${store} holds no PEM certificate, which the CA certificate has to be`,
      help: /openssl pkcs12 -in store\.p12/,
    })
    const swapped = { ca_cert: client.key }
    await assert.rejects(backUpWith({ protocol: 'SSL', tls: swapped }), {
      code: 'KAFKA_TLS',
      message: /client\.key holds no PEM certificate/,
    })
    await assert.rejects(backUpWith({ protocol: 'SSL', tls: { ca_cert: '/nowhere/ca.pem' } }), {
      code: 'CONFIG_UNREADABLE',
      message: 'the file /nowhere/ca.pem for the CA certificate is not there',
    })
  })

  test('shows no secret in any format and at any log level', () =>
    withFolder(async path => {
      const wrong = 'swordfish-in-the-open'
      const logins = [
        { mechanism: 'PLAIN', username: plainUser, password: wrong },
        { mechanism: 'SCRAM-SHA-256', username: plainUser, password: wrong },
      ]
      for (const sasl of logins) {
        const security = { protocol: 'SASL_SSL', tls: tls(), sasl }
        for (const flags of [['-vv'], ['--format', 'json', '-v'], ['--log-format', 'json', '-vv']]) {
          const result = await runJob(path, security, kafka.at('SASLTLS'), {}, flags)
          assert.equal(result.exitCode, 1)
          const shown = `${result.stdout}${result.stderr}`
          assert.match(shown, /refused the .* login as plain-user/)
          assert.ok(![wrong, Buffer.from(wrong).toString('base64')].some(text => shown.includes(text)), shown)
        }
      }
      const right = { mechanism: 'PLAIN', username: plainUser, password: plainPassword }
      const security = { protocol: 'SASL_SSL', tls: tls(), sasl: right }
      const { exitCode, stdout, stderr } = await runJob(path, security, kafka.at('SASLTLS'), {}, ['-vv'])
      assert.equal(exitCode, 0, stderr)
      assert.ok(!`${stdout}${stderr}`.includes(plainPassword))
      const names = await readdir(join(path, 'store'), { recursive: true, withFileTypes: true })
      for (const file of names.filter(entry => entry.isFile())) {
        assert.ok(!(await readFile(join(file.parentPath, file.name))).includes(plainPassword))
      }
    }))

  function backUpWith(security: Security) {
    return withFolder(path => backUp({ servers: [kafka.at('MTLS')], path, include: ['t'], security }))
  }

  async function runJob(
    path: string,
    security: Security,
    server: string,
    env: Record<string, string>,
    flags: readonly string[] = [],
  ) {
    const config = join(path, 'job.yaml')
    await writeFile(config, jobText({ servers: [server], path: join(path, 'store'), include: ['t'], security }))
    const [command, ...first] = cli
    const args = [...first, 'backup', '--config', config, ...flags]
    return runCommand(command, args, { env: { ...process.env, ...env } })
  }
})
