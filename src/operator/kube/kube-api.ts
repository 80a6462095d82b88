import type { KubeObject, ObjectRef, ResourceKind } from './object.ts'

/**
 * The operator's interface to the API server. Every call rejects with a code `KUBE_…` or, once its signal is aborted, with
 * the signal's reason. Every call has a timeout and then rejects with `KUBE_UNREACHABLE`. A call that the server
 * deferred (429, or 503 with `Retry-After`) is retried after the requested time; no other call is retried if it
 * might act twice.
 */
export interface KubeApi {
  /** `KUBE_NOT_FOUND` if it does not exist. */
  get<T extends KubeObject>(kind: ResourceKind<T>, ref: ObjectRef, signal: AbortSignal): Promise<T>

  /** Metadata only, for example to check that a Secret exists. The server does not send the rest. */
  getMetadata(kind: ResourceKind, ref: ObjectRef, signal: AbortSignal): Promise<KubeObject>

  /** All objects at one point in time, in as many pages as needed. */
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

  /** `KUBE_EXISTS` if the name is taken. */
  create<T extends KubeObject>(kind: ResourceKind<T>, object: NoInfer<T>, signal: AbortSignal): Promise<T>

  /** `KUBE_CONFLICT` unless the object still has the `resourceVersion` given. */
  replace<T extends KubeObject>(kind: ResourceKind<T>, object: NoInfer<T>, signal: AbortSignal): Promise<T>

  /** Server-side apply: creates the object, or sets the given fields and removes those that this manager set before. */
  apply<T extends KubeObject>(kind: ResourceKind<T>, object: T, options: ApplyOptions, signal: AbortSignal): Promise<T>

  /** The same for the status of an existing object. */
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
  /** Where a watch continues. */
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
  /** What happens to the objects that it owns. */
  propagation: 'Background' | 'Foreground' | 'Orphan'
  /** `KUBE_CONFLICT` if the object has another uid. */
  uid?: string
  resourceVersion?: string
}
