import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeGuardedFolder, spawnGuarded } from './guard.ts'
import { kfakeBinary } from './kfake-binary.ts'

export interface KfakeOptions {
  brokers?: number
  /** Offers the request versions of this release of Kafka, such as `2.1`. */
  release?: string
}

export interface KfakeServer extends AsyncDisposable {
  bootstrapServers: string[]
  stop(): Promise<void>
}

const startTimeoutMs = 20_000

/** Starts franz-go's implementation of Kafka's protocol on free ports of 127.0.0.1; it keeps its records in memory. */
export async function startKfake({ brokers = 1, release }: KfakeOptions = {}): Promise<KfakeServer> {
  const binary = await kfakeBinary()
  const folder = await makeGuardedFolder('kfake')
  const logFile = join(folder.path, 'kfake.log')
  const flags = ['-brokers', String(brokers), ...(release === undefined ? [] : ['-release', release])]
  const server = spawnGuarded(binary, flags, { logFile })
  const stop = async () => {
    await server.end('SIGKILL')
    await folder.remove()
  }
  const deadline = Date.now() + startTimeoutMs
  for (;;) {
    const log = await readFile(logFile, 'utf8')
    const bootstrapServers = log.match(/^127\.0\.0\.1:\d+$/gm) ?? []
    if (bootstrapServers.length === brokers) return { bootstrapServers, stop, [Symbol.asyncDispose]: stop }
    if (server.hasExited() || Date.now() > deadline) {
      await stop()
      throw new Error(`kfake does not listen: ${log}`)
    }
    await sleep(20)
  }
}
