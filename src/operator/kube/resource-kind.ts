import type { KubeObject, ObjectRef } from './object.ts'

/** A kind with the name of its resource in paths and in roles. The API server vouches for the shape of its objects. */
export interface ResourceKind<T extends KubeObject = KubeObject> {
  /** `v1`, `batch/v1`. */
  apiVersion: string
  kind: string
  /** `configmaps`. */
  plural: string
  /** Never set: it only carries the type. */
  shape?: T
}

/** Of all namespaces, or of the cluster, where none is given. */
export function formatKindPath({ apiVersion, plural }: ResourceKind, namespace?: string): string {
  const root = apiVersion.includes('/') ? '/apis' : '/api'
  const inside = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${root}/${apiVersion}${inside}/${plural}`
}

export function formatObjectPath(kind: ResourceKind, { namespace, name }: ObjectRef): string {
  return `${formatKindPath(kind, namespace)}/${encodeURIComponent(name)}`
}

/** As roles name it: `jobs.batch`, `configmaps`. */
export function formatResource({ apiVersion, plural }: ResourceKind): string {
  const [group, version] = apiVersion.split('/')
  return version === undefined ? plural : `${plural}.${group}`
}
