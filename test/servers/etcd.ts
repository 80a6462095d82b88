import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { etcdBinary } from './etcd-binary.ts'
import { spawnGuarded } from './guard.ts'
import { findFreePorts } from './ports.ts'

export interface Etcd {
  url: string
  pid: number
  stop(): Promise<void>
}

const startTimeoutMs = 20_000

/** Starts etcd on free ports of 127.0.0.1 with its data in the folder. It does not wait for the disk. */
export async function startEtcd(folder: string): Promise<Etcd> {
  const program = await etcdBinary()
  const [clientPort = 0, peerPort = 0] = await findFreePorts(2)
  const url = `http://127.0.0.1:${clientPort}`
  const peerUrl = `http://127.0.0.1:${peerPort}`
  const logFile = join(folder, 'etcd.log')
  const flags = [
    '--name=test',
    `--data-dir=${join(folder, 'etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=test=${peerUrl}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
  ]
  const server = spawnGuarded(program, flags, { cwd: folder, logFile })
  const deadline = Date.now() + startTimeoutMs
  while (!(await isHealthy(url))) {
    if (server.hasExited() || Date.now() > deadline) {
      throw new Error(`etcd does not serve ${url}: ${await readFile(logFile, 'utf8')}`)
    }
    await sleep(20)
  }
  return { url, pid: server.pid, stop: () => server.end('SIGKILL') }
}

/** It answers before it has elected itself, and then says `false`. */
async function isHealthy(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/health`)
    return response.ok && ((await response.json()) as { health: string }).health === 'true'
  } catch {
    return false
  }
}
