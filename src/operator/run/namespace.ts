import { hasCode } from '../../errors.ts'
import type { Resource } from '../crd/resource.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import { KubeError } from '../kube/kube-error.ts'
import type { ResourceKind } from '../kube/object.ts'
import { finalizerName } from '../plan/facts.ts'

const namespaceKind: ResourceKind = { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces' }

/**
 * Whether the namespace of a resource that waits for its finalizer is being deleted as well. Without permission to read
 * namespaces, the rejection of a Job shows it.
 */
export async function isNamespaceTerminating(
  api: KubeApi,
  kind: ResourceKind,
  resource: Resource,
  signal: AbortSignal,
): Promise<boolean> {
  const { namespace } = resource.metadata
  if (namespace === undefined || !isWaiting(kind, resource)) return false
  try {
    const found = await api.getMetadata(namespaceKind, { name: namespace }, signal)
    return found.metadata.deletionTimestamp !== undefined
  } catch (error) {
    if (hasCode(error, 'KUBE_DENIED', 'KUBE_NOT_FOUND')) return false
    throw error
  }
}

/** Whether the resource is being deleted and waits for the operator to remove its finalizer. */
export function isWaiting({ apiVersion }: ResourceKind, { metadata }: Resource): boolean {
  const { deletionTimestamp, finalizers = [] } = metadata
  return deletionTimestamp !== undefined && finalizers.includes(finalizerName(apiVersion.split('/')[0] ?? ''))
}

/** The API server refused to create an object because the namespace is being deleted. */
export function isRefusedByTermination(error: unknown): boolean {
  return error instanceof KubeError && error.causes.some(({ reason }) => reason === 'NamespaceTerminating')
}
