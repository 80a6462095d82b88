/** An object of the API as JSON. What a test looks at below the metadata it knows the shape of. */
export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: Metadata
  spec?: unknown
  status?: unknown
  [field: string]: unknown
}

export interface Metadata {
  name?: string
  generateName?: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string; controller?: boolean }[]
  finalizers?: string[]
  creationTimestamp?: string
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
}

/** A kind, in one namespace or in all. */
export interface KindRef {
  apiVersion: string
  kind: string
  namespace?: string | undefined
}

export interface ObjectRef extends KindRef {
  name: string
}

export interface Condition {
  type: string
  status: string
  reason?: string
  message?: string
  lastTransitionTime?: string
}

export function refOf({ apiVersion, kind, metadata }: KubeObject): ObjectRef {
  return { apiVersion, kind, name: metadata.name ?? '', namespace: metadata.namespace }
}

/** The condition of the type if its status is True. */
export function trueCondition(object: KubeObject, type: string): Condition | undefined {
  // A definition that was just made has `null` there.
  const { conditions } = (object.status ?? {}) as { conditions?: Condition[] | null }
  return conditions?.find(condition => condition.type === type && condition.status === 'True')
}
