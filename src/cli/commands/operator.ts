import { usageError } from '../../errors.ts'
import { parseDurationMs } from '../../lib/units.ts'
import type { ServeOptions } from '../../operator/run/serve-operator.ts'
import { version } from '../../version.ts'
import { readPodOptions } from '../job-pod-options.ts'
import type { CommandOptions } from '../option-specs.ts'
import type { Session } from '../session.ts'

/** Works until it is stopped, which is its normal end. */
export async function run(session: Session): Promise<number> {
  const { actions, signal, log, clock, env } = session
  const options = readOptions(session.options, env)
  try {
    await actions.serveOperator(options, { clock, log, env, version }, signal)
  } catch (error) {
    if (!signal.aborted) throw error
  }
  return 0
}

export function readApiGroup({ apiGroup = '' }: CommandOptions): string {
  const isName = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/.test(apiGroup)
  if (isName && apiGroup.length <= 200) return apiGroup
  throw usageError(
    `--api-group: ${JSON.stringify(apiGroup)} is not a valid API group name: use a domain name in lower case, such as kafka-backup.dev`,
  )
}

function readOptions(options: CommandOptions, env: Session['env']): ServeOptions {
  const { metricsPath = '', leaseName = '' } = options
  const image = options.jobImage ?? env.KAFKA_BACKUP_IMAGE ?? ''
  if (image.trim() === '') {
    throw usageError('--job-image is missing: name the image that the Jobs run, or set KAFKA_BACKUP_IMAGE')
  }
  if (!/^\/[\w./-]*$/.test(metricsPath))
    throw usageError(`--metrics-path ${metricsPath} is not a path: use one such as /metrics`)
  const address = readAddress('--metrics-address', options.metricsAddress)
  const metrics = { ...address, path: metricsPath, ...readMetricsSecurity(options) }
  return {
    apiGroup: readApiGroup(options),
    namespaces: readNamespaces(options),
    leaseName: options.leaderElect ? readName('--lease-name', leaseName) : undefined,
    workers: readWorkers(options.workers),
    strimziApi: options.strimziApi,
    progressIntervalMs: readInterval(options.progressInterval),
    metricsHoldMs: readHold(options.metricsHold),
    kubeconfig: options.kubeconfig,
    health: readAddress('--health-address', options.healthAddress),
    metrics: options.metrics ? metrics : undefined,
    job: {
      image,
      serviceAccountName: readName('--job-service-account', options.jobServiceAccount ?? ''),
      fsGroup: readGroup(options.jobFsGroup),
      ...readPodOptions(options),
      ...(options.jobImagePullSecret.length > 0 && {
        imagePullSecrets: options.jobImagePullSecret.map(name => ({ name: readName('--job-image-pull-secret', name) })),
      }),
    },
  }
}

function readMetricsSecurity(options: CommandOptions): Partial<NonNullable<ServeOptions['metrics']>> {
  const { metricsTlsCert: cert, metricsTlsKey: key, metricsAuth } = options
  if ((cert === undefined) !== (key === undefined)) {
    throw usageError('--metrics-tls-cert and --metrics-tls-key belong together: pass both')
  }
  if (cert === undefined || key === undefined) {
    if (!metricsAuth) return {}
    throw usageError(
      '--metrics-auth needs --metrics-tls-cert and --metrics-tls-key, because tokens must not travel in plain text',
    )
  }
  return { tls: { cert, key }, needsToken: metricsAuth }
}

function readNamespaces({ namespaces, allNamespaces }: CommandOptions): ServeOptions['namespaces'] {
  if (!allNamespaces) return [...new Set(namespaces.map(readNamespace))]
  if (namespaces.length === 0) return 'all'
  throw usageError('--namespace and --all-namespaces exclude each other')
}

/** Checks names here, because the API server returns an empty list for an invalid namespace. */
function readNamespace(name: string): string {
  if (/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(name) && name.length <= 63) return name
  throw usageError(`--namespace ${name} is not a valid namespace name: up to 63 lower case letters, digits and "-"`)
}

/** The name format of most Kubernetes objects. */
function readName(option: string, name: string): string {
  if (/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(name) && name.length <= 253) return name
  throw usageError(`${option} ${name} is not a valid Kubernetes name: lower case letters, digits, "-" and "."`)
}

function readAddress(option: string, text = ''): { host: string; port: number } {
  const [, bracketed, plain, digits = ''] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  const port = Number(digits)
  if (host !== undefined && port <= 65_535) return { host, port }
  throw usageError(`${option} ${text} is not an address: use host:port, such as 0.0.0.0:8080`)
}

function readGroup(text = ''): number | null {
  if (text === 'none') return null
  const group = Number(text)
  if (/^\d+$/.test(text) && group <= 2_147_483_647) return group
  throw usageError(`--job-fs-group ${text} is not a group: use a number, or none`)
}

function readWorkers(text = ''): number {
  const workers = Number(text)
  if (/^\d+$/.test(text) && workers >= 1 && workers <= 100) return workers
  throw usageError(`--workers ${text} is not a number from 1 to 100`)
}

function readInterval(text = ''): number {
  const ms = parseDurationMs(text)
  if (ms !== undefined && ms >= 1000 && ms <= 3_600_000) return ms
  throw usageError(`--progress-interval ${text} is not a duration from 1s to 1h: use one such as 5s`)
}

function readHold(text = ''): number {
  const ms = parseDurationMs(text)
  if (ms !== undefined && ms <= 3_600_000) return ms
  throw usageError(`--metrics-hold ${text} is not a duration up to 1h: use one such as 45s`)
}
