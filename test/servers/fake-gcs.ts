import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { GcsOptions } from '../../src/storage/gcs/gcs-options.ts'
import { fakeGcsBinary } from './fake-gcs-binary.ts'
import { makeGuardedFolder, spawnGuarded } from './guard.ts'
import { findFreePorts } from './ports.ts'
import { type Certificates, makeCertificates } from './s3-certificates.ts'

export interface GcsServer {
  endpoint: string
  port: number
  /** A folder for what a test needs beside it. */
  folder: string
  /** Set for a server with TLS. */
  certificates?: Certificates
  /** Makes the bucket and gives the options that open it. */
  makeBucket(name: string): Promise<GcsOptions>
  /** SIGSTOP: connections are still accepted by the system, but nobody answers. */
  freeze(): void
  thaw(): void
  stop(): Promise<void>
}

const startTimeoutMs = 20_000

/**
 * Starts fake-gcs-server, which keeps objects in memory, on a free port of 127.0.0.1. It honours conditions also in races,
 * ranges, pages and declared checksums. It looks at no credentials, and it takes the question for the state of an upload
 * for its end: where answers get lost, `test/fakes/gcs-sessions.ts` stands before it.
 */
export async function startGcs(options: { tls?: boolean } = {}): Promise<GcsServer> {
  const binary = await fakeGcsBinary()
  const folder = await makeGuardedFolder('gcs')
  const certificates = options.tls ? await makeCertificates(folder.path) : undefined
  const [port = 0] = await findFreePorts(1)
  const flags = ['-host', '127.0.0.1', '-port', String(port), '-backend', 'memory', '-log-level', 'error']
  const tls = certificates ? ['-cert-location', certificates.cert, '-private-key-location', certificates.key] : []
  const logFile = join(folder.path, 'fake-gcs.log')
  const server = spawnGuarded(binary, [...flags, '-scheme', certificates ? 'https' : 'http', ...tls], { logFile })
  const stop = async () => {
    await server.end('SIGKILL')
    await folder.remove()
  }
  const endpoint = `${certificates ? 'https' : 'http'}://127.0.0.1:${port}`
  const ca = certificates && (await readFile(certificates.ca))
  const deadline = Date.now() + startTimeoutMs
  while ((await ask(`${endpoint}/_internal/healthcheck`, { ca })) !== 200) {
    if (server.hasExited() || Date.now() > deadline) {
      throw new Error(`fake-gcs-server does not listen on ${port}: ${await readFile(logFile, 'utf8')}`)
    }
    await sleep(20)
  }
  return {
    endpoint,
    port,
    folder: folder.path,
    ...(certificates && { certificates }),
    makeBucket: async name => {
      assert.equal(await ask(`${endpoint}/storage/v1/b`, { ca, body: JSON.stringify({ name }) }), 200)
      return { bucket: name, endpoint, anonymous: true, ...(certificates && { caCert: certificates.ca }) }
    },
    freeze: () => server.signal('SIGSTOP'),
    thaw: () => server.signal('SIGCONT'),
    stop,
  }
}

/** The status of the answer; 0 where nobody listens. */
function ask(url: string, { ca, body }: { ca: Buffer | undefined; body?: string }): Promise<number> {
  const options = { method: body === undefined ? 'GET' : 'POST', headers: { 'content-type': 'application/json' } }
  return new Promise(resolve => {
    const request = url.startsWith('https:')
      ? requestHttps(url, { ...options, ...(ca && { ca }) })
      : requestHttp(url, options)
    request.on('response', response => {
      response.resume()
      response.once('end', () => resolve(response.statusCode ?? 0))
    })
    request.on('error', () => resolve(0))
    request.end(body)
  })
}
