import type { ApplyOptions, ListScope, RemoveOptions, WatchFrom } from './kube-api.ts'
import {
  formatKindPath,
  formatObjectPath,
  formatResource,
  type KubeObject,
  type ObjectRef,
  type ResourceKind,
  refOf,
} from './object.ts'
import type { KubeRequest } from './transport.ts'

/** The API server takes JSON for it, as JSON is YAML. */
const applyType = 'application/apply-patch+yaml'

const metadataType = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'

export interface Page {
  limit?: number
  continue?: string
}

export function planList(kind: ResourceKind, scope: ListScope, page: Page): KubeRequest {
  const query = formatQuery({ ...selectorsOf(scope), ...page })
  return {
    method: 'GET',
    path: `${formatKindPath(kind, scope.namespace)}?${query}`,
    where: describe('list', kind, scope),
  }
}

export function planWatch(kind: ResourceKind, scope: ListScope, from: WatchFrom): KubeRequest {
  const { resourceVersion, timeoutMs } = from
  const asked = { watch: true, allowWatchBookmarks: true, resourceVersion }
  const query = formatQuery({ ...selectorsOf(scope), ...asked, timeoutSeconds: Math.ceil(timeoutMs / 1000) })
  const path = `${formatKindPath(kind, scope.namespace)}?${query}`
  return { method: 'GET', path, where: describe('watch', kind, scope) }
}

export function planCreate(kind: ResourceKind, object: KubeObject): KubeRequest {
  const { namespace, name } = object.metadata
  const where = describe('create', kind, { namespace, name })
  return { method: 'POST', path: formatKindPath(kind, namespace), where, body: object }
}

export function planRemove(kind: ResourceKind, ref: ObjectRef, how: RemoveOptions): KubeRequest {
  return { ...planObject('DELETE', 'delete', kind, ref), body: formatDeleteOptions(how) }
}

export function planObject(method: string, verb: string, kind: ResourceKind, ref: ObjectRef, query = ''): KubeRequest {
  return { method, path: `${formatObjectPath(kind, ref)}${query}`, where: describe(verb, kind, ref) }
}

/** The log of one container of a pod. */
export function planLog(
  pod: ObjectRef,
  { container, follow, tailLines }: { container: string; follow: boolean; tailLines?: number },
): KubeRequest {
  const query = formatQuery({ container, follow, ...(tailLines !== undefined && { tailLines }) })
  return { ...planObject('GET', 'get the log of', pods, pod, `/log?${query}`), accept: '*/*' }
}

const pods: ResourceKind = { apiVersion: 'v1', kind: 'Pod', plural: 'pods' }

export function planMetadata(kind: ResourceKind, ref: ObjectRef): KubeRequest {
  return { ...planObject('GET', 'get', kind, ref), accept: metadataType }
}

export function planApply(kind: ResourceKind, object: KubeObject, how: ApplyOptions, subresource: string): KubeRequest {
  const { fieldManager, force = false } = how
  const query = `${subresource}?${formatQuery({ fieldManager, force })}`
  // The server refuses an apply that states which managers there are, which objects that were read do.
  const { managedFields: _, ...metadata } = object.metadata as KubeObject['metadata'] & { managedFields?: unknown }
  const body = { ...object, apiVersion: kind.apiVersion, kind: kind.kind, metadata }
  const request = planObject('PATCH', `patch${subresource === '' ? '' : ' the status of'}`, kind, refOf(object), query)
  return { ...request, body, contentType: applyType }
}

function formatDeleteOptions({ propagation, uid, resourceVersion }: RemoveOptions): object {
  const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
  const guarded = Object.keys(preconditions).length > 0
  return {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    propagationPolicy: propagation,
    ...(guarded && { preconditions }),
  }
}

/** With the words of a role: verb, resource, namespace. */
function describe(verb: string, kind: ResourceKind, at: { namespace?: string | undefined; name?: string }): string {
  const name = at.name === undefined ? '' : ` "${at.name}"`
  const everywhere = at.name === undefined ? ' in all namespaces' : ''
  const place = at.namespace === undefined ? everywhere : ` in namespace "${at.namespace}"`
  return `${verb} ${formatResource(kind)}${name}${place}`
}

function selectorsOf({ labelSelector, fieldSelector }: ListScope): Record<string, string> {
  return { ...(labelSelector && { labelSelector }), ...(fieldSelector && { fieldSelector }) }
}

function formatQuery(fields: Record<string, string | number | boolean>): string {
  return new URLSearchParams(
    Object.entries(fields).map(([name, value]): [string, string] => [name, `${value}`]),
  ).toString()
}
