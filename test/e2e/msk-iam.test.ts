import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { signConnect } from '../../src/kafka/security/msk-iam.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { assertSameRecords } from '../oracle/records.ts'
import { brokerNames, type Identity, makeIdentity } from '../servers/certificates.ts'
import { type KafkaDriver, openDriver } from '../servers/driver.ts'
import { type KafkaServer, startKafka } from '../servers/kafka.ts'
import { defaultKafkaVersion, kafkaLibs } from '../servers/kafka-dist.ts'
import { awsPayload, mskIamClassPath } from '../servers/msk-iam.ts'
import { runCommand } from '../servers/run-command.ts'
import { backUp, jobText, withFolder } from './backup-job.ts'

const command = resolve(import.meta.dirname, '../../bin/kafka-backup.js')
const credentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: "session/token+with=signs and !*'()",
}
const env = (secretAccessKey = credentials.secretAccessKey) => ({
  AWS_ACCESS_KEY_ID: credentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: secretAccessKey,
  AWS_SESSION_TOKEN: credentials.sessionToken,
})

describe('AWS_MSK_IAM', () => {
  let folder: string
  let ca: Identity
  let server: KafkaServer
  let driver: KafkaDriver

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-certificates-'))
    ca = await makeIdentity(folder, 'ca')
    const identity = await makeIdentity(folder, 'server', { signedBy: ca, names: brokerNames })
    server = await startKafka({
      listeners: { IAM: 'SASL_SSL' },
      classPath: await mskIamClassPath(await kafkaLibs(defaultKafkaVersion)),
      env: env(),
      properties: {
        'listener.name.iam.ssl.keystore.type': 'PEM',
        'listener.name.iam.ssl.keystore.location': identity.store,
        'listener.name.iam.sasl.enabled.mechanisms': 'AWS_MSK_IAM',
        'listener.name.iam.aws_msk_iam.sasl.jaas.config': 'IamLoginModule required;',
      },
    })
    driver = await openDriver(server)
    await driver.createTopic('t', { partitions: 2 })
    await driver.seedBulk('t', { count: 500, partitions: 2, valueBytes: 200 })
  })
  after(async () => {
    await driver?.close()
    await server?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  test("our message is that of AWS's own client, field by field", async () => {
    const host = 'b-1.demo.abc123.c2.kafka.eu-central-1.amazonaws.com'
    const libs = await kafkaLibs(defaultKafkaVersion)
    let theirs = await awsPayload(host, libs, env())
    // Their client reads the clock twice: where a second begins in between, it signs for one second less.
    for (let tries = 0; theirs['x-amz-expires'] === '899' && tries < 5; tries++) {
      theirs = await awsPayload(host, libs, env())
    }
    const ours = signConnect({ host, region: 'eu-central-1', credentials, nowMs: parseDate(theirs['x-amz-date']) })
    const { 'user-agent': theirAgent, ...theirFields } = theirs
    const { 'user-agent': ourAgent, ...ourFields } = ours
    assert.deepEqual(ourFields, theirFields)
    assert.ok(theirAgent !== undefined && ourAgent === 'kafka-backup')
  })

  test("a broker that signs again with AWS's SDK lets a backup in", () =>
    withEnvironment(
      env(),
      path => backUp(spec(path)),
      async path => {
        const expected = await driver.consume('t', { isolation: 'read_committed' })
        assertSameRecords(expected, await readArchivedTopic(path, 'b1', 't'))
      },
    ))

  test('and so the published command line, whose parts are bundled, with the credentials of a profile', () =>
    withFolder(async path => {
      const { accessKeyId, secretAccessKey, sessionToken } = credentials
      const lines = [
        '[backup]',
        `aws_access_key_id=${accessKeyId}`,
        `aws_secret_access_key=${secretAccessKey}`,
        `aws_session_token=${sessionToken}`,
      ]
      await writeFile(join(path, 'credentials'), lines.join('\n'))
      const config = join(path, 'job.yaml')
      await writeFile(config, jobText(spec(join(path, 'store'))))
      const profile = ['--set', 'source.security.sasl.aws.profile=backup']
      const output = await runCommand(process.execPath, [command, 'backup', '--config', config, ...profile, '-vv'], {
        env: { ...process.env, AWS_SHARED_CREDENTIALS_FILE: join(path, 'credentials') },
      })
      assert.equal(output.exitCode, 0, output.stderr)
      assert.ok(!`${output.stdout}${output.stderr}`.includes(secretAccessKey))
    }))

  test('and refuses one with another secret', () =>
    withEnvironment(env('another-secret'), path =>
      assert.rejects(backUp(spec(path)), {
        code: 'KAFKA_AUTH',
        message: /refused the AWS_MSK_IAM login as the AWS identity of this process: .*x-amz-signature is not what AWS/,
      }),
    ))

  test('a host name that does not tell its region needs the setting', () =>
    withEnvironment(env(), path => {
      const security = { ...spec(path).security, sasl: { mechanism: 'AWS_MSK_IAM' } }
      return assert.rejects(backUp({ ...spec(path), security }), {
        code: 'CONFIG_INVALID',
        message: 'the name 127.0.0.1 does not contain its AWS region',
      })
    }))

  const spec = (path: string) => ({
    servers: [server.listenerServers.IAM ?? ''],
    path,
    include: ['t'],
    security: {
      protocol: 'SASL_SSL',
      tls: { ca_cert: ca.cert },
      sasl: { mechanism: 'AWS_MSK_IAM', aws: { region: 'eu-central-1' } },
    },
  })
})

async function withEnvironment(
  variables: Record<string, string>,
  ...steps: ((path: string) => Promise<unknown>)[]
): Promise<void> {
  const earlier = { ...process.env }
  Object.assign(process.env, variables)
  try {
    await withFolder(async path => {
      for (const step of steps) await step(path)
    })
  } finally {
    for (const name of Object.keys(variables)) {
      if (earlier[name] === undefined) delete process.env[name]
      else process.env[name] = earlier[name]
    }
  }
}

/** `20261115T125600Z` in milliseconds. */
function parseDate(text = ''): number {
  return Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
}
