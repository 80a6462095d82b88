import { formatUtc } from '../../lib/clock.ts'

/** A Kubernetes object as JSON. The kinds that the operator knows extend it. */
export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
}

export interface ObjectMeta {
  name: string
  namespace?: string
  uid?: string
  /** Opaque: only good for comparing for equality. */
  resourceVersion?: string
  generation?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
  finalizers?: string[]
  creationTimestamp?: string
  deletionTimestamp?: string
}

export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

/** The name of an object; without a namespace it is cluster-scoped. */
export interface ObjectRef {
  namespace?: string | undefined
  name: string
}

export function refOf({ metadata }: KubeObject): ObjectRef {
  return { namespace: metadata.namespace, name: metadata.name }
}

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

/** As in RBAC roles: `jobs.batch`, `configmaps`. */
export function formatResource({ apiVersion, plural }: ResourceKind): string {
  const [group, version] = apiVersion.split('/')
  return version === undefined ? plural : `${plural}.${group}`
}

/** The API server requires exactly six digits after the second. */
export function formatMicroTime(ms: number): string {
  return formatUtc(ms).replace('Z', '000Z')
}
