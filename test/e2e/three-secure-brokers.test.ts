import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readArchivedTopic } from '../oracle/archive.ts'
import { hashChain } from '../oracle/records.ts'
import { brokerNames, makeIdentity } from '../servers/certificates.ts'
import { openDriver } from '../servers/driver.ts'
import { startKafka } from '../servers/kafka.ts'
import { backUp, withFolder } from './backup-job.ts'
import { loginProperties, scramPassword, scramUser } from './secure-kafka.ts'

test('survives a broker that is killed during the run over SASL_SSL', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-certificates-'))
  const ca = await makeIdentity(folder, 'ca')
  const identity = await makeIdentity(folder, 'server', { signedBy: ca, names: brokerNames })
  await using server = await startKafka({
    brokers: 3,
    secureListener: 'SASL_SSL',
    properties: {
      ...loginProperties('secure'),
      'listener.name.secure.ssl.keystore.type': 'PEM',
      'listener.name.secure.ssl.keystore.location': identity.store,
    },
  })
  await using driver = await openDriver(server)
  await driver.createScramUser(scramUser, scramPassword, 'SCRAM-SHA-256')
  await driver.createTopic('spread', { partitions: 9, replicationFactor: 3 })
  await driver.seedBulk('spread', { count: 45_000, partitions: 9, valueBytes: 1000 })
  await withFolder(async path => {
    let killed: Promise<void> | undefined
    const retries: string[] = []
    const sasl = { mechanism: 'SCRAM-SHA-256', username: scramUser, password: scramPassword }
    await backUp(
      {
        servers: server.secureBootstrapServers,
        path,
        include: ['spread'],
        backup: { memory_budget: '32MiB', compression: 'none' },
        security: { protocol: 'SASL_SSL', tls: { ca_cert: ca.cert }, sasl },
      },
      {
        onProgress: event => {
          if (event.type === 'copied') killed ??= server.killBroker(1)
          if (event.type === 'retry') retries.push(event.what)
        },
      },
    )
    await (killed ?? assert.fail('nothing was copied'))
    assert.ok(retries.length > 0, 'the loss of the broker was met')
    const digests = await driver.digest('spread', { isolation: 'read_committed' })
    const archived = await readArchivedTopic(path, 'b1', 'spread')
    assert.deepEqual(
      archived.map(hashChain),
      digests.map(digest => digest.sha256),
    )
  })
  await rm(folder, { recursive: true, force: true })
})
