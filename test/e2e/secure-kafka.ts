import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { brokerNames, type Identity, makeIdentity } from '../servers/certificates.ts'
import { type KafkaDriver, openDriver } from '../servers/driver.ts'
import { type KafkaOptions, type KafkaServer, startKafka } from '../servers/kafka.ts'
import type { SecureProtocol } from '../servers/kafka-properties.ts'

/** SCRAM gives `,` and `=` a meaning, and SASLprep would change the last letter of the password. */
export const scramUser = 'backup,user=1'
export const scramPassword = 'pässwörd, = and ª'
export const plainUser = 'plain-user'
export const plainPassword = 'correct-horse-battery'

export interface SecureKafka {
  server: KafkaServer
  /** Over the plain listener. */
  driver: KafkaDriver
  folder: string
  identities: Record<IdentityName, Identity>
  /** The address of a listener. */
  at(listener: ListenerName): string
}

const listeners = {
  TLS: 'SSL',
  MTLS: 'SSL',
  SASL: 'SASL_PLAINTEXT',
  SASLTLS: 'SASL_SSL',
  EXPIRED: 'SSL',
  SELFSIGNED: 'SSL',
  WRONGHOST: 'SSL',
  UNKNOWNCA: 'SSL',
} as const satisfies Record<string, SecureProtocol>
export type ListenerName = keyof typeof listeners

type IdentityName =
  | 'ca'
  | 'otherCa'
  | 'server'
  | 'client'
  | 'otherClient'
  | 'expired'
  | 'selfSigned'
  | 'wrongHost'
  | 'unknownCa'

/** One broker with a listener of every kind for the tests of one `describe`, and a topic `t` with records. */
export function useSecureKafka(options: KafkaOptions = {}): SecureKafka {
  const kafka = {} as SecureKafka
  before(async () => {
    kafka.folder = await mkdtemp(join(tmpdir(), 'kafka-backup-certificates-'))
    kafka.identities = await makeIdentities(kafka.folder)
    const properties = { ...planSecureProperties(kafka.identities), ...options.properties }
    kafka.server = await startKafka({ ...options, listeners, properties })
    kafka.driver = await openDriver(kafka.server)
    kafka.at = listener => kafka.server.listenerServers[listener] ?? ''
    await kafka.driver.createScramUser(scramUser, scramPassword, 'SCRAM-SHA-256')
    await kafka.driver.createScramUser(scramUser, scramPassword, 'SCRAM-SHA-512')
    await kafka.driver.createTopic('t', { partitions: 2 })
    await kafka.driver.seedBulk('t', { count: 500, partitions: 2, valueBytes: 200 })
  })
  after(async () => {
    await kafka.driver?.close()
    await kafka.server?.stop()
    await rm(kafka.folder, { recursive: true, force: true })
  })
  return kafka
}

async function makeIdentities(folder: string): Promise<Record<IdentityName, Identity>> {
  const ca = await makeIdentity(folder, 'ca')
  const otherCa = await makeIdentity(folder, 'other-ca')
  return {
    ca,
    otherCa,
    server: await makeIdentity(folder, 'server', { signedBy: ca, names: brokerNames }),
    client: await makeIdentity(folder, 'client', { signedBy: ca }),
    otherClient: await makeIdentity(folder, 'other-client', { signedBy: otherCa }),
    expired: await makeIdentity(folder, 'expired', { signedBy: ca, names: brokerNames, days: -1 }),
    selfSigned: await makeIdentity(folder, 'self-signed', { names: brokerNames }),
    wrongHost: await makeIdentity(folder, 'wrong-host', { signedBy: ca, names: 'DNS:elsewhere.example' }),
    unknownCa: await makeIdentity(folder, 'unknown-ca', { signedBy: otherCa, names: brokerNames }),
  }
}

function planSecureProperties(identities: Record<IdentityName, Identity>): Record<string, string> {
  const keyStore = (listener: string, identity: Identity) => ({
    [`listener.name.${listener}.ssl.keystore.type`]: 'PEM',
    [`listener.name.${listener}.ssl.keystore.location`]: identity.store,
  })
  const { server, ca } = identities
  return {
    ...keyStore('tls', server),
    ...keyStore('mtls', server),
    ...keyStore('sasltls', server),
    ...keyStore('expired', identities.expired),
    ...keyStore('selfsigned', identities.selfSigned),
    ...keyStore('wronghost', identities.wrongHost),
    ...keyStore('unknownca', identities.unknownCa),
    'listener.name.mtls.ssl.truststore.type': 'PEM',
    'listener.name.mtls.ssl.truststore.location': ca.cert,
    'listener.name.mtls.ssl.client.auth': 'required',
    ...loginProperties('sasl'),
    ...loginProperties('sasltls'),
  }
}

/** Settings of a listener that takes the mechanisms with passwords. */
export function loginProperties(listener: string): Record<string, string> {
  const at = `listener.name.${listener}`
  const module = 'org.apache.kafka.common.security'
  return {
    [`${at}.sasl.enabled.mechanisms`]: 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
    [`${at}.plain.sasl.jaas.config`]: `${module}.plain.PlainLoginModule required user_${plainUser}="${plainPassword}";`,
    [`${at}.scram-sha-256.sasl.jaas.config`]: `${module}.scram.ScramLoginModule required;`,
    [`${at}.scram-sha-512.sasl.jaas.config`]: `${module}.scram.ScramLoginModule required;`,
  }
}
