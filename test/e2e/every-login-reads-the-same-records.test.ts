import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { checkJob } from '../../src/jobs/check.ts'
import { fullDescribe } from '../full.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { assertSameRecords } from '../oracle/records.ts'
import { encryptKey } from '../servers/certificates.ts'
import { olderKafkaVersion } from '../servers/kafka-dist.ts'
import { backUp, makeJob, withFolder } from './backup-job.ts'
import { addInitCases } from './init-cases.ts'
import { restoreByJob } from './restore-job.ts'
import { plainPassword, plainUser, type SecureKafka, scramPassword, scramUser, useSecureKafka } from './secure-kafka.ts'

type Security = Record<string, unknown>

describe('every login reads and writes the same records', () => {
  const kafka = useSecureKafka()
  const tls = () => ({ ca_cert: kafka.identities.ca.cert })
  const scram = (bits: 256 | 512) => ({ mechanism: `SCRAM-SHA-${bits}`, username: scramUser, password: scramPassword })
  const plain = { mechanism: 'PLAIN', username: plainUser, password: plainPassword }
  const clientFiles = () => ({ client_cert: kafka.identities.client.cert, client_key: kafka.identities.client.key })

  const ways: [name: string, server: () => string, security: () => Security][] = [
    ['SSL by address', () => kafka.at('TLS'), () => ({ protocol: 'SSL', tls: tls() })],
    [
      'SSL by host name',
      () => kafka.at('TLS').replace('127.0.0.1', 'localhost'),
      () => ({ protocol: 'SSL', tls: tls() }),
    ],
    [
      'SSL with a client certificate',
      () => kafka.at('MTLS'),
      () => ({ protocol: 'SSL', tls: { ...tls(), ...clientFiles() } }),
    ],
    ['SASL_PLAINTEXT with PLAIN', () => kafka.at('SASL'), () => ({ protocol: 'SASL_PLAINTEXT', sasl: plain })],
    ['SASL_SSL with PLAIN', () => kafka.at('SASLTLS'), () => ({ protocol: 'SASL_SSL', tls: tls(), sasl: plain })],
    [
      'SASL_PLAINTEXT with SCRAM-SHA-256',
      () => kafka.at('SASL'),
      () => ({ protocol: 'SASL_PLAINTEXT', sasl: scram(256) }),
    ],
    [
      'SASL_SSL with SCRAM-SHA-256',
      () => kafka.at('SASLTLS'),
      () => ({ protocol: 'SASL_SSL', tls: tls(), sasl: scram(256) }),
    ],
    [
      'SASL_SSL with SCRAM-SHA-512',
      () => kafka.at('SASLTLS'),
      () => ({ protocol: 'SASL_SSL', tls: tls(), sasl: scram(512) }),
    ],
  ]
  for (const [i, [name, server, security]] of ways.entries()) {
    test(name, () => assertReads(kafka, server(), security(), `t-${i}`))
  }

  addInitCases(kafka)

  test('a client key with a password', async () => {
    const client_key = await encryptKey(kafka.identities.client, 'key-password')
    const client_cert = kafka.identities.client.cert
    const files = { ...tls(), client_cert, client_key, client_key_password: 'key-password' }
    await assertReads(kafka, kafka.at('MTLS'), { protocol: 'SSL', tls: files })
    const wrong = { protocol: 'SSL', tls: { ...files, client_key_password: 'not-this-one' } }
    await assert.rejects(assertReads(kafka, kafka.at('MTLS'), wrong), {
      code: 'KAFKA_TLS',
      message: `the password of the private key ${client_key} is wrong`,
    })
  })

  test('a password in a file, whose new content is used without a restart', async () => {
    const password_file = join(kafka.folder, 'password')
    const sasl = { mechanism: 'PLAIN', username: plainUser, password_file }
    await writeFile(password_file, `${plainPassword}\n`)
    await assertReads(kafka, kafka.at('SASL'), { protocol: 'SASL_PLAINTEXT', sasl })
    await writeFile(password_file, 'another')
    await assert.rejects(assertReads(kafka, kafka.at('SASL'), { protocol: 'SASL_PLAINTEXT', sasl }), {
      code: 'KAFKA_AUTH',
    })
  })

  test('check shows how each broker is reached', () =>
    withFolder(async path => {
      const security = { protocol: 'SASL_SSL', tls: tls(), sasl: scram(512) }
      const job = makeJob({ servers: [kafka.at('SASLTLS')], path, include: ['t'], security })
      const report = await checkJob(job, new AbortController().signal)
      assert.equal(report.ok, true)
      assert.match(report.checks[0]?.detail ?? '', /\(SASL_SSL, SCRAM-SHA-512 as backup,user=1\) answers/)
    }))
})

fullDescribe(`Kafka ${olderKafkaVersion}`, () => {
  const kafka = useSecureKafka({ version: olderKafkaVersion })

  test('accepts a SCRAM login over TLS as well', () =>
    assertReads(kafka, kafka.at('SASLTLS'), {
      protocol: 'SASL_SSL',
      tls: { ca_cert: kafka.identities.ca.cert },
      sasl: { mechanism: 'SCRAM-SHA-512', username: scramUser, password: scramPassword },
    }))
})

/** And writes, where a topic to restore into is given. */
async function assertReads(kafka: SecureKafka, server: string, security: Security, back?: string): Promise<void> {
  await withFolder(async path => {
    await backUp({ servers: [server], path, include: ['t'], security })
    const expected = await kafka.driver.consume('t', { isolation: 'read_committed' })
    assertSameRecords(expected, await readArchivedTopic(path, 'b1', 't'))
    if (back === undefined) return
    await restoreByJob({
      servers: [server],
      path,
      security,
      restore: { topic_mapping: { t: back }, retention: 'hold' },
    })
    assertSameRecords(expected, await kafka.driver.consume(back, { isolation: 'read_committed' }))
  })
}
