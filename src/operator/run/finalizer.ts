import type { KubeApi } from '../kube/kube-api.ts'
import type { KubeObject } from '../kube/object.ts'
import type { ResourceKind } from '../kube/resource-kind.ts'
import type { Resource } from '../resource/resource.ts'
import { fieldManager } from './operator-options.ts'

export async function addFinalizer(
  api: KubeApi,
  kind: ResourceKind<Resource>,
  resource: Resource,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  await applyFinalizers(api, kind, resource, [name], signal)
}

/** Also where somebody else set it: the resource would never go. */
export async function removeFinalizer(
  api: KubeApi,
  kind: ResourceKind<Resource>,
  resource: Resource,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const left = await applyFinalizers(api, kind, resource, [], signal)
  const finalizers = left.metadata.finalizers ?? []
  if (!finalizers.includes(name)) return
  const others = finalizers.filter(one => one !== name)
  await api.replace<KubeObject>(kind, { ...left, metadata: { ...left.metadata, finalizers: others } }, signal)
}

/** The uid keeps the apply from making anew what has gone. */
function applyFinalizers(
  api: KubeApi,
  kind: ResourceKind<Resource>,
  { metadata }: Resource,
  finalizers: string[],
  signal: AbortSignal,
): Promise<KubeObject> {
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
  return api.apply<KubeObject>(kind, object, { fieldManager, force: true }, signal)
}
