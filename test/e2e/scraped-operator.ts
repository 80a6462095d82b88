import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../src/lib/clock.ts'
import type { KubeApi } from '../../src/operator/kube/kube-api.ts'
import type { OperatorMetrics } from '../../src/operator/metrics/operator-metrics.ts'
import { Health } from '../../src/operator/run/health.ts'
import { openListeners } from '../../src/operator/run/listeners.ts'
import { openMetricsAccess } from '../../src/operator/run/metrics-access.ts'
import { makeIdentity } from '../servers/certificates.ts'
import { makeGuardedFolder } from '../servers/guard.ts'
import type { PromSample } from '../servers/prometheus.ts'

/** As a ServiceMonitor with `honorLabels` becomes one, but for the interval. */
export function scrapeConfig(address: string): object {
  return {
    job_name: 'kafka-backup-operator',
    honor_labels: true,
    scrape_interval: '1s',
    metrics_path: '/metrics',
    static_configs: [{ targets: [address], labels: { namespace: 'operators', pod: 'operator-0' } }],
  }
}

/** With the values that Grafana puts in for its variables. */
export function fillVariables(expr: string): string {
  return expr.replaceAll('$__rate_interval', '1m').replaceAll('$namespace', '.*').replaceAll('$backup', '.*')
}

export function isNumber({ value: [, value] }: PromSample): boolean {
  return !Number.isNaN(Number(value))
}

export interface SecuredOperator {
  /** One that works, and others that lack something. */
  scrapeConfigs: object[]
  /** Why requests were refused, each reason once. */
  readonly refused: string[]
  close(): Promise<void>
}

const serverName = 'kafka-backup-operator.ops.svc'
const token = 'token-of-prometheus'

/**
 * Metrics as the chart serves them with `metrics.tls` and `metrics.auth`, and scrapes as its ServiceMonitor describes them. The answers of the API
 * server about tokens are made here; operator-kubernetes-client.test.ts has them from a real one.
 */
export async function openSecuredOperator(metrics: OperatorMetrics): Promise<SecuredOperator> {
  const folder = await makeGuardedFolder('metrics-tls')
  const ca = await makeIdentity(folder.path, 'ca')
  const { cert, key } = await makeIdentity(folder.path, 'server', { signedBy: ca, names: `DNS:${serverName}` })
  const credentials_file = join(folder.path, 'token')
  await writeFile(credentials_file, token)
  const refused = new Set<string>()
  const guard = openMetricsAccess(reviewer, systemClock, '/metrics', reason => refused.add(reason))
  const address = { host: '127.0.0.1', port: 0 }
  const listeners = await openListeners(
    { health: address, metrics: { ...address, path: '/metrics', tls: { cert, key }, needsToken: true } },
    new Health(systemClock),
    metrics,
    { guard, clock: systemClock, onFailure: fail },
  )
  const job = (job_name: string, tls: object, authorization: object = { credentials_file }) => ({
    ...scrapeConfig(listeners[1]?.address ?? ''),
    ...{ job_name, scheme: 'https', tls_config: tls, authorization },
  })
  const trusted = { ca_file: ca.cert, server_name: serverName }
  return {
    scrapeConfigs: [
      job('kafka-backup-operator', trusted),
      job('another-name', { ...trusted, server_name: 'other.ops.svc' }),
      job('without-authority', { server_name: serverName }),
      job('another-token', trusted, { credentials: 'token-of-another' }),
    ],
    get refused() {
      return [...refused]
    },
    close: async () => {
      await Promise.all(listeners.map(listener => listener.close()))
      await folder.remove()
    },
  }
}

const reviewer = {
  create: async (_kind: unknown, review: { kind?: string; spec: { token?: string } }) => {
    if (review.kind !== 'TokenReview') return { status: { allowed: true } }
    const isKnown = review.spec.token === token
    return { status: isKnown ? { authenticated: true, user: { username: 'prometheus' } } : { authenticated: false } }
  },
} as unknown as KubeApi

function fail(error: unknown): never {
  throw error
}
