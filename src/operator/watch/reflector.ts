import { hasCode } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { backoffMs, type RetryPolicy } from '../../lib/retry.ts'
import type { KubeApi, ListScope, WatchEvent } from '../kube/kube-api.ts'
import type { KubeObject, ResourceKind } from '../kube/object.ts'
import { type Change, ObjectStore, type Store } from './store.ts'

export interface ReflectorOptions<T extends KubeObject> {
  api: KubeApi
  clock: Clock
  random: () => number
  kind: ResourceKind<T>
  scope: ListScope
  /** Called for each object that differs from what was known. */
  onChange: (change: Change<T>) => void
  /** A list or watch failed; it is made again after the delay. */
  onFailure?: (error: unknown, delayMs: number) => void
  /** The server answered: with a list, with an event, or by ending a watch normally. */
  onAnswer?: () => void
  timing?: Partial<ReflectorTiming>
}

export interface ReflectorTiming {
  /** A watch lasts between this and twice as long, which also limits how long a silent connection that TCP keeps alive goes unnoticed. */
  watchMs: number
  /** Lists again after this and up to twice as long, in case events were lost. */
  relistMs: number
  /** A watch that ended sooner is made again after a delay only. */
  settledMs: number
  retry: RetryPolicy
}

const reflectorTiming: ReflectorTiming = {
  watchMs: 5 * 60_000,
  relistMs: 15 * 60_000,
  settledMs: 5000,
  retry: { attempts: Number.POSITIVE_INFINITY, baseDelayMs: 500, maxDelayMs: 30_000 },
}

/** Keeps a store in sync with the API server: a list, then watches from its version. */
export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>
  readonly #timing: ReflectorTiming
  readonly #store: ObjectStore<T>
  readonly #synced = Promise.withResolvers<void>()
  #isSynced = false
  /** Where the next watch begins; undefined means to list first. */
  #version: string | undefined
  #relistAt = 0
  /** Whether the current watch delivered an event. */
  #hasEvents = false
  #failures = 0

  constructor(options: ReflectorOptions<T>) {
    this.#options = options
    this.#timing = { ...reflectorTiming, ...options.timing }
    this.#store = new ObjectStore(options.onChange)
  }

  get store(): Store<T> {
    return this.#store
  }

  /** Whether the store has held all objects once. */
  get isSynced(): boolean {
    return this.#isSynced
  }

  async waitSynced(signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<never>()
    const onAbort = () => aborted.reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await Promise.race([this.#synced.promise, aborted.promise])
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** Runs until the signal; failures are retried. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    while (!signal.aborted) {
      const began = clock.monotonic()
      this.#hasEvents = false
      let failure: unknown
      try {
        await this.#listIfDue(signal)
        await this.#watchOnce(signal)
        this.#options.onAnswer?.()
      } catch (error) {
        failure = error
      }
      if (signal.aborted) return
      const isShort = clock.monotonic() - began < this.#timing.settledMs
      const isBad = isShort || failure !== undefined
      // A watch that fails without any event may never deliver what was missed.
      if (hasCode(failure, 'KUBE_GONE') || (isBad && !this.#hasEvents)) this.#version = undefined
      if (!isBad) this.#failures = 0
      else await this.#pause(failure, isShort, signal)
    }
  }

  async #pause(failure: unknown, isShort: boolean, signal: AbortSignal): Promise<void> {
    const { clock, random, onFailure } = this.#options
    this.#failures = isShort ? this.#failures + 1 : 1
    const delayMs = backoffMs(this.#failures, this.#timing.retry, random())
    if (failure !== undefined) onFailure?.(failure, delayMs)
    await clock.sleep(delayMs, signal).catch(() => undefined)
  }

  async #listIfDue(signal: AbortSignal): Promise<void> {
    const { api, clock, kind, scope } = this.#options
    if (this.#version !== undefined && clock.monotonic() < this.#relistAt) return
    const { items, resourceVersion } = await api.list(kind, scope, signal)
    signal.throwIfAborted()
    this.#store.replaceAll(items)
    this.#version = resourceVersion
    this.#relistAt = clock.monotonic() + this.#spread(this.#timing.relistMs)
    this.#isSynced = true
    this.#options.onAnswer?.()
    this.#synced.resolve()
  }

  async #watchOnce(signal: AbortSignal): Promise<void> {
    const { api, kind, scope } = this.#options
    const from = { resourceVersion: this.#version ?? '', timeoutMs: this.#spread(this.#timing.watchMs) }
    for await (const event of api.watch(kind, scope, from, signal)) {
      if (signal.aborted) return
      this.#take(event)
    }
  }

  #take(event: WatchEvent<T>): void {
    this.#hasEvents = true
    this.#options.onAnswer?.()
    if (event.type === 'BOOKMARK') {
      this.#version = event.resourceVersion
      return
    }
    if (event.type === 'DELETED') this.#store.remove(event.object)
    else this.#store.put(event.object)
    this.#version = event.object.metadata.resourceVersion
  }

  /** Spreads the requests of the kinds over time. */
  #spread(ms: number): number {
    return Math.round(ms * (1 + this.#options.random()))
  }
}
