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
