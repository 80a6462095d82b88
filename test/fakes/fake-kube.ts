import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../src/lib/clock.ts'
import type {
  KubeApi,
  KubeList,
  ListScope,
  RemoveOptions,
  WatchEvent,
  WatchFrom,
} from '../../src/operator/kube/kube-api.ts'
import { KubeError } from '../../src/operator/kube/kube-error.ts'
import type { KubeObject, ObjectRef, ResourceKind } from '../../src/operator/kube/object.ts'
import { formatKey } from '../../src/operator/watch/store.ts'

/** What a watch does instead of going on. */
export type WatchFault = 'close' | 'gone' | 'error' | 'silent' | 'cut'

/** A call as faults see it. */
export interface FakeCall {
  verb: string
  kind: string
  ref: ObjectRef
}

/** An API server in memory with versions, conflicts and a history that can be compacted. It takes no time by itself. */
export class FakeKube {
  readonly #objects = new Map<string, KubeObject>()
  #history: { version: number; event: WatchEvent<KubeObject> }[] = []
  #version = 1
  #oldest = 1
  readonly #wakers = new Set<() => void>()
  uids = 0
  lists = 0
  watches = 0

  /** As one client sees it: each call waits for `around`, which may delay it or make it fail before or after it acts. */
  api(options: FakeClient = {}): KubeApi {
    const { around = (_, act) => act() } = options
    const call = <T>(verb: string, kind: ResourceKind, ref: Partial<ObjectRef>, act: () => T, signal: AbortSignal) => {
      const target = { verb, kind: kind.kind, ref: { namespace: ref.namespace, name: ref.name ?? '' } }
      return around(verb, async () => structuredClone(act()), signal, target)
    }
    return {
      get: (kind, ref, signal) => call('get', kind, ref, () => this.#find(kind, ref), signal) as never,
      getMetadata: (kind, ref, signal) =>
        call('getMetadata', kind, ref, () => metadataOf(this.#find(kind, ref)), signal) as never,
      list: (kind, scope, signal) => call('list', kind, scope, () => this.#list(kind, scope), signal) as never,
      watch: (kind, scope, from, signal) => this.#watch(kind, scope, from, options, signal) as never,
      create: (kind, object, signal) =>
        call('create', kind, object.metadata, () => this.create(kind, object), signal) as never,
      replace: (kind, object, signal) =>
        call('replace', kind, object.metadata, () => this.replace(kind, object), signal) as never,
      apply: (kind, object, _, signal) =>
        call('apply', kind, object.metadata, () => this.apply(kind, object), signal) as never,
      applyStatus: (kind, object, _, signal) =>
        call('applyStatus', kind, object.metadata, () => this.applyStatus(kind, object), signal) as never,
      remove: async (kind, ref, how, signal) =>
        call('remove', kind, ref, () => this.remove(kind, ref, how), signal) as never,
    }
  }

  create(kind: ResourceKind, object: KubeObject): KubeObject {
    if (this.#objects.has(keyOf(kind, object.metadata))) throw new KubeError('KUBE_EXISTS', 'it is there')
    return this.put(kind, object)
  }

  replace(kind: ResourceKind, object: KubeObject): KubeObject {
    const there = this.#find(kind, object.metadata)
    if (there.metadata.resourceVersion !== object.metadata.resourceVersion) {
      throw new KubeError('KUBE_CONFLICT', 'it has changed')
    }
    return this.put(kind, object)
  }

  /** Of the metadata what is given, of the rest all that is given; finalizers are those of this one manager. */
  apply(kind: ResourceKind, object: KubeObject): KubeObject {
    const there = this.#objects.get(keyOf(kind, object.metadata))
    assertSame(there, object)
    if (there === undefined) return this.put(kind, object)
    const { finalizers: _, ...kept } = there.metadata
    const spec = { ...(there as { spec?: object }).spec, ...(object as { spec?: object }).spec }
    const merged = 'spec' in there || 'spec' in object ? { spec } : {}
    return this.#change(kind, there, { ...there, ...object, ...merged, metadata: { ...kept, ...object.metadata } })
  }

  applyStatus(kind: ResourceKind, object: KubeObject): KubeObject {
    const there = this.#find(kind, object.metadata)
    assertSame(there, object)
    return this.#change(kind, there, { ...there, status: (object as { status?: unknown }).status } as KubeObject)
  }

  /** An apply that makes no difference is no change. */
  #change(kind: ResourceKind, there: KubeObject, next: KubeObject): KubeObject {
    return isDeepStrictEqual(structuredClone(next), there) ? there : this.put(kind, next)
  }

  /** A spec that differs is a new generation. */
  put(kind: ResourceKind, object: KubeObject): KubeObject {
    const key = keyOf(kind, object.metadata)
    const there = this.#objects.get(key)
    const uid = there?.metadata.uid ?? object.metadata.uid ?? `uid-${++this.uids}`
    const { resourceVersion: _, ...metadata } = { ...object.metadata, uid, ...generationOf(there, object) }
    const made = structuredClone({ ...object, metadata })
    const versioned = { ...made, metadata: { ...made.metadata, resourceVersion: String(++this.#version) } }
    this.#objects.set(key, versioned)
    this.#tell({ type: there === undefined ? 'ADDED' : 'MODIFIED', object: versioned })
    this.#endIfFree(kind, versioned)
    return versioned
  }

  /** What it owned goes with it, as the garbage collector does; one with finalizers waits for their end. */
  remove(kind: ResourceKind, ref: ObjectRef, { uid }: Partial<RemoveOptions> = {}): void {
    const there = this.#find(kind, ref)
    if (uid !== undefined && uid !== there.metadata.uid) throw new KubeError('KUBE_CONFLICT', 'it is another one')
    if ((there.metadata.finalizers ?? []).length === 0) this.#delete(kind, there)
    else this.put(kind, { ...there, metadata: { ...there.metadata, deletionTimestamp: '2026-01-02T03:04:05Z' } })
  }

  all<T extends KubeObject>(kind: ResourceKind<T>): T[] {
    const found = [...this.#objects].filter(([key]) => key.startsWith(`${kind.plural} `))
    return found.map(([, object]) => object as T)
  }

  /** Watches from before now are gone. */
  compact(): void {
    this.#oldest = this.#version
    this.#history = []
  }

  #endIfFree(kind: ResourceKind, object: KubeObject): void {
    const { deletionTimestamp, finalizers = [] } = object.metadata
    if (deletionTimestamp !== undefined && finalizers.length === 0) this.#delete(kind, object)
  }

  #delete(kind: ResourceKind, there: KubeObject): void {
    this.#objects.delete(keyOf(kind, there.metadata))
    const resourceVersion = String(++this.#version)
    this.#tell({ type: 'DELETED', object: { ...there, metadata: { ...there.metadata, resourceVersion } } })
    for (const [key, object] of [...this.#objects]) {
      const isOwned = (object.metadata.ownerReferences ?? []).some(({ uid }) => uid === there.metadata.uid)
      if (isOwned) this.remove({ ...object, plural: key.split(' ')[0] ?? '' }, object.metadata)
    }
  }

  #tell(event: WatchEvent<KubeObject>): void {
    this.#history.push({ version: this.#version, event })
    for (const wake of [...this.#wakers]) wake()
  }

  #find(kind: ResourceKind, ref: ObjectRef): KubeObject {
    const there = this.#objects.get(keyOf(kind, ref))
    if (there === undefined) throw new KubeError('KUBE_NOT_FOUND', 'it is not there')
    return there
  }

  #list(kind: ResourceKind, scope: ListScope): KubeList<KubeObject> {
    this.lists++
    const items = this.all(kind).filter(object => isWithin(object, scope))
    return { items, resourceVersion: String(this.#version) }
  }

  async *#watch(
    kind: ResourceKind,
    scope: ListScope,
    { resourceVersion, timeoutMs }: WatchFrom,
    { watchFault, isHeld = () => false, clock }: FakeClient,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<KubeObject>> {
    this.watches++
    let at = Number(resourceVersion)
    for (;;) {
      signal.throwIfAborted()
      if (at < this.#oldest) throw new KubeError('KUBE_GONE', 'too old')
      const fault = watchFault?.(kind)
      if (fault === 'close') return
      if (fault === 'gone') throw new KubeError('KUBE_GONE', 'too old')
      if (fault === 'silent') await clock?.sleep(timeoutMs + 5000, signal)
      if (fault === 'silent' || fault === 'error' || fault === 'cut')
        throw new KubeError('KUBE_UNREACHABLE', 'the server broke down')
      const next = isHeld(kind) ? undefined : this.#next(at)
      if (next !== undefined) {
        at = next.version
        if (next.event.type === 'BOOKMARK' || next.event.object.kind !== kind.kind) continue
        if (isWithin(next.event.object, scope)) yield structuredClone(next.event)
      } else await this.#nextTurn(signal)
    }
  }

  /** The first one after the version; versions grow. */
  #next(at: number): { version: number; event: WatchEvent<KubeObject> } | undefined {
    let [low, high] = [0, this.#history.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#history[middle]?.version ?? 0) > at) high = middle
      else low = middle + 1
    }
    return this.#history[low]
  }

  async #nextTurn(signal: AbortSignal): Promise<void> {
    const turn = Promise.withResolvers<void>()
    const onAbort = () => turn.resolve()
    this.#wakers.add(turn.resolve)
    signal.addEventListener('abort', onAbort, { once: true })
    await turn.promise
    signal.removeEventListener('abort', onAbort)
    this.#wakers.delete(turn.resolve)
  }

  /** Ends what watches wait for, so that they look for faults. */
  nudge(): void {
    for (const wake of [...this.#wakers]) wake()
  }
}

export interface FakeClient {
  around?: <T>(verb: string, act: () => Promise<T>, signal: AbortSignal, call: FakeCall) => Promise<T>
  /** Of the limit of a watch that is silent. */
  clock?: Clock
  /** While it says so, watches of the kind tell nothing; `nudge` makes them go on. */
  isHeld?: (kind: ResourceKind) => boolean
  watchFault?: (kind: ResourceKind) => WatchFault | undefined
}

function keyOf(kind: ResourceKind, ref: ObjectRef): string {
  return `${kind.plural} ${formatKey(ref)}`
}

function isWithin({ metadata }: KubeObject, { namespace, labelSelector }: ListScope): boolean {
  if (namespace !== undefined && metadata.namespace !== namespace) return false
  const wanted = (labelSelector ?? '').split(',').map(one => one.split('='))
  return wanted.every(([name = '', value]) => name === '' || metadata.labels?.[name] === value)
}

function metadataOf({ metadata }: KubeObject): KubeObject {
  return { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata }
}

function assertSame(there: KubeObject | undefined, { metadata: { uid, resourceVersion } }: KubeObject): void {
  if (uid !== undefined && uid !== there?.metadata.uid) throw new KubeError('KUBE_CONFLICT', 'it is another one')
  if (resourceVersion !== undefined && resourceVersion !== there?.metadata.resourceVersion) {
    throw new KubeError('KUBE_CONFLICT', 'it has changed')
  }
}

function generationOf(there: KubeObject | undefined, object: KubeObject): { generation?: number } {
  if (!('spec' in object)) return {}
  const generation = there?.metadata.generation ?? 0
  const isSame = there !== undefined && isDeepStrictEqual((there as { spec?: unknown }).spec, object.spec)
  return { generation: isSame ? generation : generation + 1 }
}
