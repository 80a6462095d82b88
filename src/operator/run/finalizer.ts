import { hasCode } from '../../errors.ts'
import type { Resource } from '../crd/resource.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import type { KubeObject, ResourceKind } from '../kube/object.ts'
import { finalizerName } from '../plan/facts.ts'
import { describeKept } from '../plan/plan-deletion.ts'
import { isNamespaceTerminating, isWaiting } from './namespace.ts'
import { fieldManager, type OperatorParts } from './operator-options.ts'

export async function addFinalizer(
  api: KubeApi,
  kind: ResourceKind<Resource>,
  resource: Resource,
  name: string,
  signal: AbortSignal,
): Promise<Resource> {
  return applyFinalizers(api, kind, resource, [name], signal)
}

/** Also if another field manager set it: otherwise the resource would never be deleted. */
export async function removeFinalizer(
  api: KubeApi,
  kind: ResourceKind<Resource>,
  resource: Resource,
  name: string,
  signal: AbortSignal,
): Promise<Resource> {
  const left = await applyFinalizers(api, kind, resource, [], signal)
  const finalizers = left.metadata.finalizers ?? []
  if (!finalizers.includes(name)) return left
  const others = finalizers.filter(one => one !== name)
  return api.replace(kind, { ...left, metadata: { ...left.metadata, finalizers: others } }, signal)
}

/** The uid prevents the apply from creating a deleted resource again. */
function applyFinalizers(
  api: KubeApi,
  kind: ResourceKind<Resource>,
  { metadata }: Resource,
  finalizers: string[],
  signal: AbortSignal,
): Promise<Resource> {
  const { name, namespace, uid } = metadata
  const object: KubeObject = {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(finalizers.length > 0 && { finalizers }),
    },
  }
  return api.apply<Resource>(kind, object as Resource, { fieldManager, force: true }, signal)
}

/** The result for a resource that waits for its finalizer after the operator lost its other rights. */
type Release = 'released' | 'waiting' | 'nothing'

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

/** Whether failed work needs no retry: the resource was deleted meanwhile, or was released. */
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
