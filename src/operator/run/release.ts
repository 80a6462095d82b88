import { hasCode } from '../../errors.ts'
import type { ResourceKind } from '../kube/resource-kind.ts'
import { finalizerName } from '../plan/facts.ts'
import { describeKept } from '../plan/plan-deletion.ts'
import type { Resource } from '../resource/resource.ts'
import { removeFinalizer } from './finalizer.ts'
import { isNamespaceTerminating, isWaiting } from './namespace.ts'
import type { OperatorParts } from './operator-options.ts'

/** What became of a resource that waits for its finalizer where the operator has lost its other rights. */
export type Release = 'released' | 'waiting' | 'nothing'

/**
 * Kubernetes may delete the operator's RoleBinding in a namespace before the resources there. Then no Job can remove the
 * backup and no status can be written, but a ClusterRole of the chart may still allow to remove the finalizer.
 */
export async function releaseInDeletedNamespace(
  { api, log }: Pick<OperatorParts, 'api' | 'log'>,
  kind: ResourceKind<Resource>,
  resource: Resource,
  signal: AbortSignal,
): Promise<Release> {
  const { namespace, name } = resource.metadata
  if (!isWaiting(kind, resource)) return 'nothing'
  try {
    if (!(await isNamespaceTerminating(api, kind, resource, signal))) return 'waiting'
    await removeFinalizer(api, kind, resource, finalizerName(kind.apiVersion.split('/')[0] ?? ''), signal)
    log.write('warn', describeKept(resource), { namespace, name, reason: 'BackupKept' })
    return 'released'
  } catch (error) {
    if (hasCode(error, 'KUBE_DENIED')) return 'waiting'
    throw error
  }
}

/** Whether work that failed needs no further try: the resource was removed in the middle of it, or could be released. */
export async function isSettled(
  error: unknown,
  parts: Pick<OperatorParts, 'api' | 'log'>,
  kind: ResourceKind<Resource>,
  resource: Resource,
  signal: AbortSignal,
): Promise<boolean> {
  if (hasCode(error, 'KUBE_DENIED')) {
    return (await releaseInDeletedNamespace(parts, kind, resource, signal)) === 'released'
  }
  if (!hasCode(error, 'KUBE_NOT_FOUND', 'KUBE_CONFLICT')) return false
  const { namespace, name, uid } = resource.metadata
  try {
    return (await parts.api.getMetadata(kind, { namespace, name }, signal)).metadata.uid !== uid
  } catch (failure) {
    return hasCode(failure, 'KUBE_NOT_FOUND')
  }
}
