import { isDeepStrictEqual } from 'node:util'
import { hasCode } from '../../errors.ts'
import type { Resource } from '../crd/resource.ts'
import type { ResourceStatus } from '../crd/status.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import { type ResourceKind, refOf } from '../kube/object.ts'
import { noteRead } from './catch-up.ts'
import { fieldManager } from './operator-options.ts'
import { type ResourceMemory, withLatestStatus } from './resource-memory.ts'

/** The resource has changed since the plan was made, so its status was not written. */
export class StatusOutdated extends Error {
  constructor(cause: unknown) {
    super('the resource has changed', { cause })
    this.name = 'StatusOutdated'
  }
}

/** Writes the status where it differs, and returns the resource that has it. Throws StatusOutdated if it has changed. */
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
  // A finalizer that was just set has changed the version.
  const { resourceVersion } = withLatestStatus(resource, memory).metadata
  const { name, namespace, uid } = resource.metadata
  // Without the spec, which is not the operator's. With the uid, so that a resource of the same name does not get it, and
  // with the version that the plan is based on, so that it does not overwrite a newer status of another leader.
  const object = {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
    status: sent,
  }
  const written = await api
    .applyStatus(kind, object as unknown as Resource, { fieldManager, force: true }, signal)
    .catch(error => readAfter(error, api, kind, resource, memory, nowMs, signal))
  memory.written = { sent, resource: written, sinceMs: nowMs, isSeen: false }
  return written
}

/** After a conflict the next plan is based on the resource as it is now: its user or another leader has changed it. */
async function readAfter(
  error: unknown,
  api: KubeApi,
  kind: ResourceKind<Resource>,
  resource: Resource,
  memory: ResourceMemory,
  nowMs: number,
  signal: AbortSignal,
): Promise<never> {
  if (!hasCode(error, 'KUBE_CONFLICT')) throw error
  const fresh = await api.get(kind, refOf(resource), signal)
  if (fresh.metadata.uid !== memory.uid) throw error
  noteRead(memory, fresh, resource, nowMs)
  throw new StatusOutdated(error)
}

/**
 * Remembers the resource after a change of its finalizers, which gives it another version. Throws StatusOutdated if its status
 * or spec is not what the plan is based on, because the status of the plan would be accepted for that version.
 */
export function noteFinalizers(changed: Resource, resource: Resource, memory: ResourceMemory, nowMs: number): void {
  noteRead(memory, changed, resource, nowMs)
  const isSameSpec = changed.metadata.generation === resource.metadata.generation
  const isSameStatus = isDeepStrictEqual(plain(changed.status ?? {}), plain(resource.status ?? {}))
  const isGoing = resource.metadata.deletionTimestamp !== undefined
  if (!isGoing && !(isSameSpec && isSameStatus)) throw new StatusOutdated(undefined)
}

/** As it travels: without fields that are undefined. */
export function plain(status: ResourceStatus): ResourceStatus {
  return JSON.parse(JSON.stringify(status)) as ResourceStatus
}
