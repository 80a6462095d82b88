import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeGuardedFolder, spawnGuarded } from './guard.ts'
import type { KubeCredentials } from './kube-connection.ts'
import { formatKubeconfig } from './kube-identities.ts'
import { findSample, parseSamples, type Sample } from './metric-samples.ts'
import { findFreePorts } from './ports.ts'

export interface OperatorOptions {
  /** Of its service account, perhaps through a proxy. */
  credentials: KubeCredentials
  namespace: string
  /** Of its container, as the chart has them; addresses are those of this process. */
  args: readonly string[]
  podName?: string
}

export interface Operator {
  pid: number
  /** Resolves when `/readyz` says so. A replica that does not lead is ready as well. */
  waitReady(): Promise<void>
  /** The JSON of `/healthz` or `/readyz`, with its status. */
  probe(path: string): Promise<{ status: number; body: unknown }>
  /** `host:port` of `/metrics`. */
  metricsAddress: string
  /** The text of `/metrics`. */
  metrics(): Promise<string>
  /** The value of a series, by those of its labels that are given; undefined where there is none. */
  sample(name: string, labels?: Record<string, string>): Promise<number | undefined>
  /** Waits for the value: a run is counted a moment after its end can be read. */
  untilSample(name: string, labels: Record<string, string>, value: number): Promise<void>
  samples(): Promise<Sample[]>
  /** All that it has printed. */
  log(): Promise<string>
  hasExited(): boolean
  kill(): Promise<void>
  /** SIGTERM, and the code that it ends with. */
  stop(): Promise<number | null>
  [Symbol.asyncDispose](): Promise<void>
}

const root = resolve(import.meta.dirname, '../..')
const startTimeoutMs = 60_000
const sampleTimeoutMs = 10_000

/** The operator as a process of this machine, as it was built, on free ports. It returns before it is ready. */
export async function startOperator(options: OperatorOptions): Promise<Operator> {
  const folder = await makeGuardedFolder('operator')
  const [metricsPort = 0, healthPort = 0] = await findFreePorts(2)
  const kubeconfig = join(folder.path, 'kubeconfig')
  await writeFile(kubeconfig, formatKubeconfig(options.credentials), { mode: 0o600 })
  const logFile = join(folder.path, 'operator.log')
  const { PATH = '', HOME = '', TMPDIR } = process.env
  const env = {
    PATH,
    HOME,
    ...(TMPDIR && { TMPDIR }),
    POD_NAME: options.podName ?? 'operator-0',
    POD_NAMESPACE: options.namespace,
  }
  const args = [join(root, 'bin/kafka-backup.js'), ...formatFlags(options, kubeconfig, metricsPort, healthPort)]
  const server = spawnGuarded(process.execPath, args, { cwd: folder.path, env, logFile })
  const log = () => readFile(logFile, 'utf8')
  const get = (port: number, path: string) => fetch(`http://127.0.0.1:${port}${path}`)
  const metrics = async () => (await get(metricsPort, '/metrics')).text()
  const samples = async () => parseSamples(await metrics())
  const end = async (signal: NodeJS.Signals) => {
    await server.end(signal)
    return (await server.exited).code
  }
  return {
    pid: server.pid,
    waitReady: async () => {
      const deadline = Date.now() + startTimeoutMs
      while (!(await isOk(() => get(healthPort, '/readyz')))) {
        if (server.hasExited() || Date.now() > deadline) throw new Error(`the operator is not ready: ${await log()}`)
        await sleep(20)
      }
    },
    probe: async path => {
      const answer = await get(healthPort, path)
      return { status: answer.status, body: await answer.json() }
    },
    metricsAddress: `127.0.0.1:${metricsPort}`,
    metrics,
    samples,
    sample: async (name, labels = {}) => findSample(await samples(), name, labels),
    untilSample: async (name, labels, value) => {
      const deadline = Date.now() + sampleTimeoutMs
      for (;;) {
        const found = findSample(await samples(), name, labels)
        if (found === value) return
        if (Date.now() > deadline) throw new Error(`${name} ${JSON.stringify(labels)} is ${found}, not ${value}`)
        await sleep(50)
      }
    },
    log,
    hasExited: () => server.hasExited(),
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
    [Symbol.asyncDispose]: async () => {
      await end('SIGKILL')
      await folder.remove()
    },
  }
}

function formatFlags({ args }: OperatorOptions, kubeconfig: string, metricsPort: number, healthPort: number): string[] {
  return [
    ...args.filter(arg => !/^--(metrics|health)-address=/.test(arg)),
    `--kubeconfig=${kubeconfig}`,
    `--metrics-address=127.0.0.1:${metricsPort}`,
    `--health-address=127.0.0.1:${healthPort}`,
  ]
}

async function isOk(ask: () => Promise<Response>): Promise<boolean> {
  const answer = await ask().catch(() => undefined)
  await answer?.body?.cancel()
  return answer?.status === 200
}
