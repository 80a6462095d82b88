import type { KubeApi } from './kube-api.ts'
import type { KubeObject } from './kube-object.ts'
import type { Pod } from './kubelet-pod-spec.ts'

interface MonitorSpec {
  selector: { matchLabels: Record<string, string> }
  namespaceSelector: { matchNames: string[] }
  endpoints: {
    port: string
    path: string
    interval: string
    honorLabels?: boolean
    relabelings?: { regex: string; action: string }[]
  }[]
}

interface ServiceSpec {
  selector: Record<string, string>
  ports: { name: string; targetPort: string }[]
}

interface Target {
  targets: string[]
  labels: Record<string, string>
}

/**
 * What the Prometheus operator makes of a ServiceMonitor: a scrape job for each endpoint, with the pods behind the
 * services that it selects at this moment.
 */
export async function scrapeConfigsOf(api: KubeApi, monitor: KubeObject): Promise<object[]> {
  const spec = monitor.spec as unknown as MonitorSpec
  const services = await Promise.all(
    spec.namespaceSelector.matchNames.map(namespace =>
      api.list({ apiVersion: 'v1', kind: 'Service', namespace }, select(spec.selector.matchLabels)),
    ),
  )
  return Promise.all(
    spec.endpoints.map(async ({ port, path, interval, honorLabels = false, relabelings = [] }) => ({
      job_name: `serviceMonitor/${monitor.metadata.namespace}/${monitor.metadata.name}/${port}`,
      honor_labels: honorLabels,
      scrape_interval: interval,
      scrape_timeout: interval,
      metrics_path: path,
      relabel_configs: relabelings.map(({ regex, action }) => ({ regex, action })),
      static_configs: (await Promise.all(services.flat().map(service => targetsOf(api, service, port)))).flat(),
    })),
  )
}

async function targetsOf(api: KubeApi, { metadata, spec }: KubeObject, port: string): Promise<Target[]> {
  const { selector, ports } = spec as unknown as ServiceSpec
  const { name: service = '', namespace = '' } = metadata
  const targetPort = ports.find(({ name }) => name === port)?.targetPort
  const pods = await api.list<Pod>({ apiVersion: 'v1', kind: 'Pod', namespace }, select(selector))
  return pods.flatMap(({ metadata: { name: pod = '' }, spec: { containers }, status }) =>
    containers.flatMap(({ name: container, ports: open = [] }) =>
      open
        .filter(({ name }) => name === targetPort)
        .map(({ containerPort }) => ({
          targets: [`${status?.podIP}:${containerPort}`],
          labels: { namespace, service, pod, container, endpoint: port, job: service },
        })),
    ),
  )
}

function select(labels: Record<string, string>): { labelSelector: string } {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`)
  return { labelSelector: pairs.join(',') }
}
