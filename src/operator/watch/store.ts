import type { KubeObject, ObjectRef } from '../kube/object.ts'

/** `namespace/name`, or `name` of an object of the cluster. */
export type ObjectKey = string

/** `before` is undefined for a new object, `after` for a removed one; both are set also if it was replaced. */
export interface Change<T extends KubeObject> {
  key: ObjectKey
  before: T | undefined
  after: T | undefined
}

/** Read access for controllers. The objects are shared and must not be changed. */
export interface Store<T extends KubeObject> {
  get(key: ObjectKey): T | undefined
  /** In no order. */
  list(): T[]
  /** Those with an owner reference to the uid. */
  ownedBy(uid: string): T[]
  readonly size: number
}

export function formatKey({ namespace, name }: ObjectRef): ObjectKey {
  return namespace === undefined ? name : `${namespace}/${name}`
}

export function parseKey(key: ObjectKey): ObjectRef {
  const [first = '', second] = key.split('/')
  return second === undefined ? { name: first } : { namespace: first, name: second }
}

export class ObjectStore<T extends KubeObject> implements Store<T> {
  readonly #objects = new Map<ObjectKey, T>()
  readonly #byOwner = new Map<string, Set<ObjectKey>>()
  readonly #onChange: (change: Change<T>) => void

  constructor(onChange: (change: Change<T>) => void) {
    this.#onChange = onChange
  }

  get(key: ObjectKey): T | undefined {
    return this.#objects.get(key)
  }

  list(): T[] {
    return [...this.#objects.values()]
  }

  ownedBy(uid: string): T[] {
    return [...(this.#byOwner.get(uid) ?? [])].flatMap(key => this.#objects.get(key) ?? [])
  }

  get size(): number {
    return this.#objects.size
  }

  /** Replaces the contents: objects that are missing from the list were removed. */
  replaceAll(objects: readonly T[]): void {
    const present = new Set(objects.map(object => formatKey(object.metadata)))
    for (const key of [...this.#objects.keys()]) if (!present.has(key)) this.#set(key, undefined)
    for (const object of objects) this.put(object)
  }

  put(object: T): void {
    this.#set(formatKey(object.metadata), withoutManagers(object))
  }

  remove(object: T): void {
    this.#set(formatKey(object.metadata), undefined)
  }

  #set(key: ObjectKey, after: T | undefined): void {
    const before = this.#objects.get(key)
    if (isSame(before, after)) return
    for (const uid of ownersOf(before)) this.#disown(uid, key)
    if (after === undefined) this.#objects.delete(key)
    else this.#objects.set(key, after)
    for (const uid of ownersOf(after)) this.#byOwner.set(uid, (this.#byOwner.get(uid) ?? new Set()).add(key))
    this.#onChange({ key, before, after })
  }

  #disown(uid: string, key: ObjectKey): void {
    const keys = this.#byOwner.get(uid)
    keys?.delete(key)
    if (keys?.size === 0) this.#byOwner.delete(uid)
  }
}

function isSame(one: KubeObject | undefined, other: KubeObject | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.metadata.uid === other.metadata.uid && one.metadata.resourceVersion === other.metadata.resourceVersion
}

function ownersOf(object: KubeObject | undefined): string[] {
  return (object?.metadata.ownerReferences ?? []).map(({ uid }) => uid)
}

/** `managedFields` is often the largest part of an object, and is not used. */
function withoutManagers<T extends KubeObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata as T['metadata'] & { managedFields?: unknown }
  return { ...object, metadata }
}
