import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loginProperties, scramPassword, scramUser } from '../e2e/secure-kafka.ts'
import { startAzure } from '../servers/azurite.ts'
import { brokerNames, makeIdentity } from '../servers/certificates.ts'
import { openDriver } from '../servers/driver.ts'
import { startGcs } from '../servers/fake-gcs.ts'
import { startKafka } from '../servers/kafka.ts'
import { tlsFlags } from '../servers/kafka-dist.ts'
import { startS3 } from '../servers/versitygw.ts'
import type { Lab } from './lab.ts'

export interface LabOptions {
  brokers: 1 | 3
  store: LabStore
  share?: Lab['share']
}

export type LabStore = 'filesystem' | 's3' | 'azure' | 'gcs'
export type OpenLab = Lab & AsyncDisposable

/** What labs with other stores share: servers, a folder, and a job's `source:` that reads over SASL_SSL. */
export type LabServers = Pick<Lab, 'server' | 'driver' | 'folder' | 'servers' | 'source'> & AsyncDisposable

/** With servers of its own. */
export async function openLab({ brokers, store, share = 1 }: LabOptions): Promise<OpenLab> {
  await using stack = new AsyncDisposableStack()
  const servers = stack.use(await openLabServers(brokers))
  const lab = stack.use(await openLabAt(servers, store, share))
  const opened = stack.move()
  return { ...lab, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

export async function openLabServers(brokers: 1 | 3): Promise<LabServers> {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-faults-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const ca = await makeIdentity(folder, 'ca')
  const identity = await makeIdentity(folder, 'server', { signedBy: ca, names: brokerNames })
  const properties = {
    ...loginProperties('secure'),
    'listener.name.secure.ssl.keystore.type': 'PEM',
    'listener.name.secure.ssl.keystore.location': identity.store,
  }
  const listeners = { secureListener: 'SASL_SSL', behindProxy: true } as const
  const server = stack.use(await startKafka({ brokers, ...listeners, properties, jvmFlags: tlsFlags }))
  const driver = stack.use(await openDriver(server))
  await driver.createScramUser(scramUser, scramPassword, 'SCRAM-SHA-512')
  const sasl = { mechanism: 'SCRAM-SHA-512', username: scramUser, password: scramPassword }
  const source = { security: { protocol: 'SASL_SSL', tls: { ca_cert: ca.cert }, sasl } }
  const opened = stack.move()
  return {
    server,
    driver,
    folder,
    servers: server.secureBootstrapServers,
    source,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** A bucket is reached over TLS. */
export async function openLabAt(servers: LabServers, store: LabStore, share: number): Promise<OpenLab> {
  await using stack = new AsyncDisposableStack()
  const storageAt = await openStores(store, servers.folder, stack)
  const opened = stack.move()
  return { ...servers, share, storageAt, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

async function openStores(store: LabStore, folder: string, stack: AsyncDisposableStack): Promise<Lab['storageAt']> {
  switch (store) {
    case 'filesystem':
      return openFolders(folder)
    case 's3':
      return openBuckets(stack)
    case 'azure':
      return openContainers(stack)
    case 'gcs':
      return openGoogleBuckets(stack)
    default:
      return store satisfies never
  }
}

function openFolders(folder: string): Lab['storageAt'] {
  return name => ({ backend: 'filesystem', path: join(folder, 'stores', name) })
}

async function openBuckets(stack: AsyncDisposableStack): Promise<Lab['storageAt']> {
  const s3 = stack.use(await startS3({ tls: true }))
  const { bucket, endpoint, accessKeyId, secretAccessKey, caCert } = await s3.makeBucket('faults')
  const fixed = { access_key_id: accessKeyId, secret_access_key: secretAccessKey, ca_cert: caCert }
  return prefix => ({ backend: 's3', bucket, endpoint, prefix, ...fixed })
}

async function openGoogleBuckets(stack: AsyncDisposableStack): Promise<Lab['storageAt']> {
  const gcs = await startGcs({ tls: true })
  stack.defer(() => gcs.stop())
  const { bucket, endpoint, anonymous, caCert } = await gcs.makeBucket('faults')
  return prefix => ({ backend: 'gcs', bucket, endpoint, prefix, anonymous, ca_cert: caCert })
}

async function openContainers(stack: AsyncDisposableStack): Promise<Lab['storageAt']> {
  const azure = stack.use(await startAzure({ tls: true }))
  const { container, endpoint, accountKey, caCert } = await azure.makeContainer('faults')
  return prefix => ({ backend: 'azure', container, endpoint, prefix, account_key: accountKey, ca_cert: caCert })
}
