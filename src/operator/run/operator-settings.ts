import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { KafkaBackupError } from '../../errors.ts'
import { formatIdentity } from '../leader/run-leader.ts'
import type { OperatorOptions } from './operator-options.ts'

type GivenSettings = Pick<OperatorOptions, 'apiGroup' | 'workers' | 'progressIntervalMs' | 'strimziApi'> & {
  /** Empty means the operator's own. */
  namespaces: readonly string[] | 'all'
  /** Undefined where only one process runs. */
  leaseName: string | undefined
}

/** Who this process is, what it watches and how it leads. */
export function readSettings(
  options: GivenSettings,
  env: Readonly<Record<string, string | undefined>>,
  contextNamespace: string | undefined,
): OperatorOptions {
  const { apiGroup, leaseName, workers, progressIntervalMs, strimziApi } = options
  const own = env.POD_NAMESPACE || contextNamespace
  const named = options.namespaces === 'all' ? undefined : options.namespaces
  const namespaces = named?.length === 0 ? [need(own, '--namespace')] : named
  const lease = leaseName === undefined ? undefined : { namespace: need(own, 'POD_NAMESPACE'), name: leaseName }
  const identity = formatIdentity(env.POD_NAME || hostname(), randomUUID())
  return { apiGroup, namespaces, identity, lease, workers, progressIntervalMs, strimziApi }
}

/** It names the installation, because no two share a Lease. */
export function formatLease({ lease }: OperatorOptions): string {
  return lease === undefined ? '' : `${lease.namespace}/${lease.name}`
}

function need(namespace: string | undefined, how: string): string {
  if (namespace) return namespace
  throw new KafkaBackupError('USAGE', `the namespace of the operator is not known: give ${how}`, {
    help: 'In a pod it is that of the service account; elsewhere set POD_NAMESPACE, or a namespace in the kubeconfig.',
  })
}
