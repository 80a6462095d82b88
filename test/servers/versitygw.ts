import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { S3Options } from '../../src/storage/s3/s3-options.ts'
import { type GuardedProcess, makeGuardedFolder, spawnGuarded } from './guard.ts'
import { accepts, findFreePorts } from './ports.ts'
import { type Certificates, makeCertificates } from './s3-certificates.ts'
import { versitygwBinary } from './versitygw-binary.ts'

export interface S3ServerOptions {
  /** Behind a certificate of a CA that nobody else knows. */
  tls?: boolean
  /** Buckets that the API makes may keep versions and lock objects. */
  versioning?: boolean
}

export interface S3Server {
  endpoint: string
  port: number
  credentials: { accessKeyId: string; secretAccessKey: string }
  /** Set for a server with TLS. */
  certificates?: Certificates
  /** Makes the bucket and gives the options that open it. */
  makeBucket(name: string): Promise<S3Options>
  /** The folder that holds the buckets as folders. */
  dataDir: string
  /** SIGSTOP: connections are still accepted by the system, but nobody answers. */
  freeze(): void
  thaw(): void
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const credentials = { accessKeyId: 'test-access-key', secretAccessKey: 'test-secret-key-0123456789' }
const startTimeoutMs = 20_000

/** Starts a real S3 server on a free port of 127.0.0.1; its objects are files, so a test can look at them. */
export async function startS3(options: S3ServerOptions = {}): Promise<S3Server> {
  const binary = await versitygwBinary()
  const folder = await makeGuardedFolder('s3')
  const dataDir = join(folder.path, 'data')
  await mkdir(dataDir)
  const certificates = options.tls ? await makeCertificates(folder.path) : undefined
  const tlsFlags = certificates ? ['--cert', certificates.cert, '--key', certificates.key] : []
  const [port = 0] = await findFreePorts(1)
  const logFile = join(folder.path, 'versitygw.log')
  const flags = ['--port', `127.0.0.1:${port}`, '--quiet', '--keep-alive', ...tlsFlags]
  const versions = join(folder.path, 'versions')
  if (options.versioning) await mkdir(versions)
  const posixFlags = options.versioning ? ['--versioning-dir', versions] : []
  const server = spawnGuarded(binary, [...flags, 'posix', ...posixFlags, dataDir], {
    logFile,
    env: {
      ...process.env,
      ROOT_ACCESS_KEY_ID: credentials.accessKeyId,
      ROOT_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    },
  })
  const stop = async () => {
    await server.end('SIGKILL')
    await folder.remove()
  }
  await waitForPort(port, server, logFile)
  const endpoint = `${certificates ? 'https' : 'http'}://127.0.0.1:${port}`
  return {
    endpoint,
    port,
    credentials,
    dataDir,
    ...(certificates && { certificates }),
    makeBucket: async name => {
      await mkdir(join(dataDir, name))
      return { bucket: name, endpoint, ...credentials, ...(certificates && { caCert: certificates.ca }) }
    },
    freeze: () => server.signal('SIGSTOP'),
    thaw: () => server.signal('SIGCONT'),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

async function waitForPort(port: number, server: GuardedProcess, logFile: string): Promise<void> {
  const deadline = Date.now() + startTimeoutMs
  while (!(await accepts(port))) {
    if (server.hasExited() || Date.now() > deadline) {
      throw new Error(`versitygw does not listen on ${port}: ${await readFile(logFile, 'utf8')}`)
    }
    await sleep(20)
  }
}
