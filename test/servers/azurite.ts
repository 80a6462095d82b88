import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AzureOptions } from '../../src/storage/azure/azure-options.ts'
import { openContainer } from '../../src/storage/azure/client.ts'
import { azuriteScript } from './azurite-package.ts'
import { type GuardedProcess, makeGuardedFolder, spawnGuarded } from './guard.ts'
import { accepts, findFreePorts } from './ports.ts'
import { type Certificates, makeCertificates } from './s3-certificates.ts'

export interface AzureServerOptions {
  /** Behind a certificate of a CA that nobody else knows, and with identities of Entra beside keys: it looks at the claims of a token. */
  tls?: boolean
}

export interface AzureServer {
  account: string
  accountKey: string
  /** Of the blob service, with the account in its path. */
  endpoint: string
  port: number
  /** Set for a server with TLS. */
  certificates?: Certificates
  /** Makes the container and gives the options that open it with the account's key. */
  makeContainer(name: string): Promise<AzureOptions>
  /** SIGSTOP: connections are still accepted by the system, but nobody answers. */
  freeze(): void
  thaw(): void
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const account = 'testaccount'
const accountKey = Buffer.from('a key that is only for tests, 32+').toString('base64')
const startTimeoutMs = 60_000

/** Starts Azurite's blob service on a free port of 127.0.0.1. */
export async function startAzure(options: AzureServerOptions = {}): Promise<AzureServer> {
  const script = await azuriteScript()
  const folder = await makeGuardedFolder('azure')
  const certificates = options.tls ? await makeCertificates(folder.path) : undefined
  const tlsFlags = certificates ? ['--cert', certificates.cert, '--key', certificates.key, '--oauth', 'basic'] : []
  const [port = 0] = await findFreePorts(1)
  const logFile = join(folder.path, 'azurite.log')
  const place = ['--blobHost', '127.0.0.1', '--blobPort', String(port)]
  const flags = ['--silent', '--disableTelemetry', '--inMemoryPersistence', '--skipApiVersionCheck']
  const server = spawnGuarded(process.execPath, [script, ...place, ...flags, ...tlsFlags], {
    logFile,
    cwd: folder.path,
    env: { ...process.env, AZURITE_ACCOUNTS: `${account}:${accountKey}` },
  })
  const stop = async () => {
    await server.end('SIGKILL')
    await folder.remove()
  }
  await waitForPort(port, server, logFile)
  const endpoint = `${certificates ? 'https' : 'http'}://127.0.0.1:${port}/${account}`
  return {
    account,
    accountKey,
    endpoint,
    port,
    ...(certificates && { certificates }),
    makeContainer: async container => {
      const at = { container, account, accountKey, endpoint, ...(certificates && { caCert: certificates.ca }) }
      const { client, close } = await openContainer(at)
      await client.create()
      close()
      return at
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
      throw new Error(`Azurite does not listen on ${port}: ${await readFile(logFile, 'utf8')}`)
    }
    await sleep(50)
  }
}
