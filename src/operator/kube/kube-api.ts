import type { KubeObject, ObjectRef, ResourceKind } from './object.ts'

/**
 * What the operator asks of the API server. Every call rejects with a code `KUBE_…` or, once its signal is aborted, with
 * the signal's reason. No call lasts for ever: one that is not answered in time is `KUBE_UNREACHABLE`. A call that the server
 * put off (429, or 503 with `Retry-After`) is made again after the time it asked for; no other is repeated where it
 * might act twice.
 */
export interface KubeApi {
  /** `KUBE_NOT_FOUND` where there is none. */
  get<T extends KubeObject>(kind: ResourceKind<T>, ref: ObjectRef, signal: AbortSignal): Promise<T>

  /** The same without what is below the metadata: whether a Secret is there, say. The server does not send the rest. */
  getMetadata(kind: ResourceKind, ref: ObjectRef, signal: AbortSignal): Promise<KubeObject>

  /** All objects as they were at one moment, however many pages it takes. */
  list<T extends KubeObject>(kind: ResourceKind<T>, scope: ListScope, signal: AbortSignal): Promise<KubeList<T>>

  /**
   * What changed after `resourceVersion`, in order. Ends when the server ends it, which it is asked to do after
   * `timeoutMs`; one that is silent beyond that is `KUBE_UNREACHABLE`. `KUBE_GONE` means that the version is too old:
   * list again.
   */
  watch<T extends KubeObject>(
    kind: ResourceKind<T>,
    scope: ListScope,
    from: WatchFrom,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>>

  /** `KUBE_EXISTS` where the name is taken. */
  create<T extends KubeObject>(kind: ResourceKind<T>, object: NoInfer<T>, signal: AbortSignal): Promise<T>

  /** `KUBE_CONFLICT` unless the object still has the `resourceVersion` given. */
  replace<T extends KubeObject>(kind: ResourceKind<T>, object: NoInfer<T>, signal: AbortSignal): Promise<T>

  /** Server-side apply: makes the object, or sets the fields given and removes those that this manager gave before. */
  apply<T extends KubeObject>(kind: ResourceKind<T>, object: T, options: ApplyOptions, signal: AbortSignal): Promise<T>

  /** The same for the status of an object that is there. */
  applyStatus<T extends KubeObject>(
    kind: ResourceKind<T>,
    object: NoInfer<T>,
    options: ApplyOptions,
    signal: AbortSignal,
  ): Promise<T>

  /** Resolves when the server has accepted it; finalizers may keep the object for a while. */
  remove(kind: ResourceKind, ref: ObjectRef, options: RemoveOptions, signal: AbortSignal): Promise<void>
}

export interface ListScope {
  /** All namespaces where it is not given. */
  namespace?: string
  labelSelector?: string
  fieldSelector?: string
}

export interface KubeList<T extends KubeObject> {
  items: T[]
  /** Where a watch goes on. */
  resourceVersion: string
}

export interface WatchFrom {
  resourceVersion: string
  timeoutMs: number
}

export type WatchEvent<T extends KubeObject> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T }
  /** Nothing changed up to here. */
  | { type: 'BOOKMARK'; resourceVersion: string }

export interface ApplyOptions {
  fieldManager: string
  /** Takes over fields that another manager owns; otherwise they are `KUBE_CONFLICT`. */
  force?: boolean
}

export interface RemoveOptions {
  /** What becomes of the objects that it owns. */
  propagation: 'Background' | 'Foreground' | 'Orphan'
  /** `KUBE_CONFLICT` where the object is another one than the caller saw. */
  uid?: string
  resourceVersion?: string
}
