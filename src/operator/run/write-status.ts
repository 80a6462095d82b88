import { isDeepStrictEqual } from 'node:util'
import type { Resource } from '../crd/resource.ts'
import type { ResourceStatus } from '../crd/status.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import type { ResourceKind } from '../kube/object.ts'
import { fieldManager } from './operator-options.ts'
import type { ResourceMemory } from './resource-memory.ts'

/** Writes the status where it differs, and answers with the resource that has it. */
export async function writeStatus(
  api: KubeApi,
  kind: ResourceKind<Resource>,
  resource: Resource,
  status: ResourceStatus,
  memory: ResourceMemory,
  nowMs: number,
  signal: AbortSignal,
): Promise<Resource> {
  const sent = plain(status)
  const isKnown = isDeepStrictEqual(sent, plain(resource.status ?? {}))
  if (isKnown || (memory.written && isDeepStrictEqual(sent, plain(memory.written.sent)))) return resource
  const { name, namespace, uid } = resource.metadata
  // Without the spec, which is not the operator's; with the uid, so that a resource of the same name does not get it.
  const object = {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { name, ...(namespace !== undefined && { namespace }), ...(uid !== undefined && { uid }) },
    status: sent,
  }
  const written = await api.applyStatus(kind, object as unknown as Resource, { fieldManager, force: true }, signal)
  memory.written = { sent, resource: written, sinceMs: nowMs, isSeen: false }
  return written
}

/** As it travels: without fields that are undefined. */
export function plain(status: ResourceStatus): ResourceStatus {
  return JSON.parse(JSON.stringify(status)) as ResourceStatus
}
