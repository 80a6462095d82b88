/** An object of the API as JSON. Kinds that the operator knows say more of what is below the metadata. */
export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
}

export interface ObjectMeta {
  name: string
  namespace?: string
  uid?: string
  /** Opaque: equal or not equal, nothing else can be told from it. */
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

/** Where an object is; without a namespace it belongs to the cluster. */
export interface ObjectRef {
  namespace?: string | undefined
  name: string
}

export function refOf({ metadata }: KubeObject): ObjectRef {
  return { namespace: metadata.namespace, name: metadata.name }
}
