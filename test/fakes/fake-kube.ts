import type { Clock } from '../../src/lib/clock.ts'
import type { KubeApi, KubeList, WatchEvent, WatchFrom } from '../../src/operator/kube/kube-api.ts'
import { KubeError } from '../../src/operator/kube/kube-error.ts'
import type { KubeObject, ObjectRef } from '../../src/operator/kube/object.ts'
import type { ResourceKind } from '../../src/operator/kube/resource-kind.ts'
import { formatKey } from '../../src/operator/watch/store.ts'

/** What a watch does instead of going on. */
export type WatchFault = 'close' | 'gone' | 'error' | 'silent' | 'cut'

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
    const call = <T>(verb: string, act: () => T, signal: AbortSignal) =>
      around(verb, async () => structuredClone(act()), signal)
    return {
      get: (kind, ref, signal) => call('get', () => this.#find(kind, ref), signal) as never,
      list: (kind, _, signal) => call('list', () => this.#list(kind), signal) as never,
      watch: (kind, _, from, signal) => this.#watch(kind, from, options, signal) as never,
      create: (kind, object, signal) => call('create', () => this.create(kind, object), signal) as never,
      replace: (kind, object, signal) => call('replace', () => this.replace(kind, object), signal) as never,
      apply: (kind, object, _, signal) => call('apply', () => this.put(kind, object), signal) as never,
      applyStatus: (kind, object, _, signal) => call('applyStatus', () => this.put(kind, object), signal) as never,
      remove: async (kind, ref, _, signal) => call('remove', () => this.remove(kind, ref), signal),
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

  put(kind: ResourceKind, object: KubeObject): KubeObject {
    const key = keyOf(kind, object.metadata)
    const there = this.#objects.get(key)
    const resourceVersion = String(++this.#version)
    const uid = there?.metadata.uid ?? `uid-${++this.uids}`
    const made = structuredClone({ ...object, metadata: { ...object.metadata, uid, resourceVersion } })
    this.#objects.set(key, made)
    this.#tell({ type: there === undefined ? 'ADDED' : 'MODIFIED', object: made })
    return made
  }

  remove(kind: ResourceKind, ref: ObjectRef): void {
    const there = this.#find(kind, ref)
    this.#objects.delete(keyOf(kind, ref))
    const resourceVersion = String(++this.#version)
    this.#tell({ type: 'DELETED', object: { ...there, metadata: { ...there.metadata, resourceVersion } } })
  }

  all(kind: ResourceKind): KubeObject[] {
    return [...this.#objects].filter(([key]) => key.startsWith(`${kind.plural} `)).map(([, object]) => object)
  }

  /** Watches from before now are gone. */
  compact(): void {
    this.#oldest = this.#version
    this.#history = []
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

  #list(kind: ResourceKind): KubeList<KubeObject> {
    this.lists++
    return { items: this.all(kind), resourceVersion: String(this.#version) }
  }

  async *#watch(
    kind: ResourceKind,
    { resourceVersion, timeoutMs }: WatchFrom,
    { watchFault, clock }: FakeClient,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<KubeObject>> {
    this.watches++
    let at = Number(resourceVersion)
    for (;;) {
      signal.throwIfAborted()
      if (at < this.#oldest) throw new KubeError('KUBE_GONE', 'too old')
      const fault = watchFault?.()
      if (fault === 'close') return
      if (fault === 'gone') throw new KubeError('KUBE_GONE', 'too old')
      if (fault === 'silent') await clock?.sleep(timeoutMs + 5000, signal)
      if (fault === 'silent' || fault === 'error' || fault === 'cut')
        throw new KubeError('KUBE_UNREACHABLE', 'the server broke down')
      const next = this.#history.find(({ version }) => version > at)
      if (next !== undefined) {
        at = next.version
        if (next.event.type !== 'BOOKMARK' && next.event.object.kind === kind.kind) yield structuredClone(next.event)
      } else await this.#nextTurn(signal)
    }
  }

  async #nextTurn(signal: AbortSignal): Promise<void> {
    const turn = Promise.withResolvers<void>()
    this.#wakers.add(turn.resolve)
    signal.addEventListener('abort', () => turn.resolve(), { once: true })
    await turn.promise
    this.#wakers.delete(turn.resolve)
  }

  /** Ends what watches wait for, so that they look for faults. */
  nudge(): void {
    for (const wake of [...this.#wakers]) wake()
  }
}

export interface FakeClient {
  around?: <T>(verb: string, act: () => Promise<T>, signal: AbortSignal) => Promise<T>
  /** Of the limit of a watch that is silent. */
  clock?: Clock
  watchFault?: () => WatchFault | undefined
}

function keyOf(kind: ResourceKind, ref: ObjectRef): string {
  return `${kind.plural} ${formatKey(ref)}`
}
