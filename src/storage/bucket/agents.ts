import { readFile } from 'node:fs/promises'
import type { Agent as HttpAgent } from 'node:http'
import type { Agent as HttpsAgent } from 'node:https'
import { KafkaBackupError } from '../../errors.ts'
import { nodeHttp, nodeHttps } from '../../lib/node-http.ts'

/** Connection options of all backends. */
interface AgentOptions {
  /** A file of CA certificates that are trusted instead of the public ones. */
  caCert?: string
  proxy?: string
}

/** Options that all stores of objects have. */
export interface BucketOptions extends AgentOptions {
  partSizeBytes?: number
  /** Parts uploaded at the same time; each keeps its memory until it has arrived. */
  uploads?: number
  connectTimeoutMs?: number
  /** How long a connection may be silent while a response is due. */
  idleTimeoutMs?: number
}

export const bucketDefaults = {
  /** The minimum of S3, and the memory of one open segment. 10,000 parts of S3 make 48 GiB, 50,000 blocks of Azure 244 GiB. */
  partSizeBytes: 5 * 2 ** 20,
  /** Fewer leave a store that is far away idle while answers travel; each needs the memory of a part. */
  uploads: 9,
  connectTimeoutMs: 10_000,
  idleTimeoutMs: 60_000,
} as const

/** Variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

export interface StoreAgents {
  httpAgent: HttpAgent
  httpsAgent: HttpsAgent
}

/** Keep connections open. Callers limit the number of requests, so the agents do not. */
export async function openAgents(options: AgentOptions): Promise<StoreAgents> {
  if (options.proxy !== undefined) assertProxySupport()
  const shared = { keepAlive: true, proxyEnv: proxySettings(options.proxy) }
  const ca = options.caCert === undefined ? {} : { ca: await readCertificates(options.caCert) }
  return { httpAgent: new nodeHttp.Agent(shared), httpsAgent: new nodeHttps.Agent({ ...shared, ...ca }) }
}

/** A configured proxy serves every host; otherwise the environment applies, including NO_PROXY. */
function proxySettings(proxy: string | undefined): NodeJS.ProcessEnv {
  return proxy === undefined ? process.env : { HTTP_PROXY: proxy, HTTPS_PROXY: proxy }
}

/** An older Node.js would ignore the setting and connect to the store directly. */
function assertProxySupport(): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 24 || (major === 24 && minor >= 5)) return
  throw new KafkaBackupError('LOCATION_INVALID', `a proxy needs Node.js 24.5 or later; this is ${process.version}`, {
    help: 'Use a newer Node.js, or reach the store without `storage.proxy`.',
  })
}

async function readCertificates(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new KafkaBackupError('LOCATION_INVALID', `the CA certificates ${path} cannot be read`, {
      cause,
      help: 'Correct `storage.ca_cert`: it is a file of certificates in PEM form.',
    })
  })
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  throw new KafkaBackupError('LOCATION_INVALID', `${path} contains no certificate`, {
    help: 'Give `storage.ca_cert` a file of certificates in PEM form (`-----BEGIN CERTIFICATE-----`).',
  })
}

/** Whether traffic to the host stays on this machine. `hostname` is that of a URL. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}
