import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stringify } from 'yaml'
import { makeGuardedFolder, spawnGuarded } from './guard.ts'
import { findFreePorts } from './ports.ts'
import { prometheusBinaries } from './prometheus-binary.ts'

export interface PrometheusOptions {
  /** In the form of Prometheus, as a ServiceMonitor becomes one. */
  scrapeConfigs: object[]
  ruleFiles?: string[]
  /** Between two evaluations of the rules; a second without it. */
  evaluationInterval?: string
}

/** One sample of an instant query. */
export interface PromSample {
  metric: Record<string, string>
  value: [atSeconds: number, value: string]
}

export interface PromTarget {
  /** The name of its scrape job. */
  scrapePool: string
  scrapeUrl: string
  health: string
  lastError: string
}

export interface PromAlert {
  labels: Record<string, string>
  annotations: Record<string, string>
  state: 'pending' | 'firing'
}

export interface Prometheus {
  url: string
  /** The value of an expression now; an error of Prometheus is thrown with its words. */
  query(expr: string): Promise<PromSample[]>
  alerts(): Promise<PromAlert[]>
  /** Targets by their health: `up`, `down` or `unknown`, with the last error. */
  targets(): Promise<PromTarget[]>
  stop(): Promise<void>
}

const startTimeoutMs = 30_000

/** Starts a real Prometheus on a free port of 127.0.0.1 with an empty store of its own. */
export async function startPrometheus(options: PrometheusOptions): Promise<Prometheus> {
  const { prometheus } = await prometheusBinaries()
  const folder = await makeGuardedFolder('prometheus')
  const config = join(folder.path, 'prometheus.yml')
  await writeFile(config, formatConfig(options))
  const [port = 0] = await findFreePorts(1)
  const logFile = join(folder.path, 'prometheus.log')
  const flags = [`--config.file=${config}`, `--storage.tsdb.path=${join(folder.path, 'data')}`]
  const server = spawnGuarded(prometheus, [...flags, `--web.listen-address=127.0.0.1:${port}`], { logFile })
  const url = `http://127.0.0.1:${port}`
  const deadline = Date.now() + startTimeoutMs
  while (!(await isReady(url))) {
    if (server.hasExited() || Date.now() > deadline) {
      throw new Error(`Prometheus does not become ready on ${port}: ${await readFile(logFile, 'utf8')}`)
    }
    await sleep(50)
  }
  return {
    url,
    query: async expr => {
      const { resultType, result } = await ask<{ resultType: string; result: PromSample[] }>(
        `${url}/api/v1/query?${new URLSearchParams({ query: expr })}`,
      )
      assert.equal(resultType, 'vector', expr)
      return result
    },
    alerts: async () => (await ask<{ alerts: PromAlert[] }>(`${url}/api/v1/alerts`)).alerts,
    targets: async () =>
      (await ask<{ activeTargets: PromTarget[] }>(`${url}/api/v1/targets?state=active`)).activeTargets,
    stop: async () => {
      await server.end('SIGKILL')
      await folder.remove()
    },
  }
}

function formatConfig({ scrapeConfigs, ruleFiles = [], evaluationInterval = '1s' }: PrometheusOptions): string {
  return stringify({
    global: { evaluation_interval: evaluationInterval },
    rule_files: ruleFiles,
    scrape_configs: scrapeConfigs,
  })
}

async function isReady(url: string): Promise<boolean> {
  return await fetch(`${url}/-/ready`).then(
    ({ ok }) => ok,
    () => false,
  )
}

async function ask<Data>(url: string): Promise<Data> {
  const answer = (await (await fetch(url)).json()) as { status: string; error?: string; data: Data }
  if (answer.status !== 'success') throw new Error(`${url}: ${answer.error}`)
  return answer.data
}
