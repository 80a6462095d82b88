import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../observe/log.ts'
import type { JobSettings } from '../job/build-pod.ts'
import { openKubeClient } from '../kube/client.ts'
import { findCredentials } from '../kube/credentials.ts'
import { OperatorMetrics } from '../metrics/operator-metrics.ts'
import { Health } from './health.ts'
import { type ListenerOptions, openListeners } from './listeners.ts'
import { openLoggedAccess } from './metrics-access.ts'
import { formatLease, readSettings } from './operator-settings.ts'
import { createPlanner } from './planner.ts'
import { openFetchProgress } from './progress-poller.ts'
import { runOperator } from './run-operator.ts'

export interface ServeOptions extends ListenerOptions {
  apiGroup: string
  /** Empty means the operator's own. */
  namespaces: readonly string[] | 'all'
  /** Undefined where only one process runs. */
  leaseName: string | undefined
  workers: number
  /** The API version of Strimzi's Kafka resources, or `auto`; undefined to not read them. */
  strimziApi?: string | undefined
  progressIntervalMs: number
  /** How long a new counter shows zero. */
  metricsHoldMs: number
  kubeconfig: string | undefined
  job: JobSettings
}

export interface ServeParts {
  clock: Clock
  log: Log
  env: Readonly<Record<string, string | undefined>>
  version: string
}

/** The operator with all that it has around it, until the signal. */
export async function serveOperator(options: ServeOptions, parts: ServeParts, signal: AbortSignal): Promise<void> {
  const { clock, log, env, version } = parts
  const access = await findCredentials(options.kubeconfig, env)
  const settings = readSettings(options, env, access.namespace)
  const api = openKubeClient(access, { clock })
  const health = new Health(clock)
  const observer = new OperatorMetrics({ version, lease: formatLease(settings), clock, holdMs: options.metricsHoldMs })
  const planner = createPlanner(options.apiGroup, options.job)
  const fetchProgress = openFetchProgress(clock)
  try {
    const guard = openLoggedAccess(api, clock, options.metrics?.path ?? '', log)
    const onFailure = (error: unknown) =>
      log.write('warn', `metrics: ${error instanceof Error ? error.message : error}`)
    const listeners = await openListeners(options, health, observer, { guard, clock, onFailure })
    try {
      const served = listeners.map(({ address }) => address)
      const { identity, namespaces = 'all' } = settings
      log.write('info', `kafka-backup operator ${version}`, { api: access.server, served, identity, namespaces })
      await runOperator(
        settings,
        { api, clock, random: Math.random, observer, log, planner, fetchProgress, health },
        signal,
      )
      log.write('info', 'stopped')
    } finally {
      await Promise.all(listeners.map(listener => listener.close()))
    }
  } finally {
    api.close()
  }
}
