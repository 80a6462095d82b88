import { hasCode, toKafkaBackupError } from '../../errors.ts'
import type { KubeObject } from '../kube/object.ts'
import { formatResource } from '../kube/object.ts'
import { Reflector, type ReflectorOptions } from '../watch/reflector.ts'
import { type ObjectKey, parseKey, type Store } from '../watch/store.ts'

export interface KindWatchOptions<T extends KubeObject> extends Omit<ReflectorOptions<T>, 'scope' | 'onFailure'> {
  namespaces: readonly string[] | undefined
  labelSelector?: string
  onFailure: (watch: string, error: unknown, delayMs: number) => void
  /** A list or a watch answered, or failed: what `troubles` says may have changed. */
  onState?: () => void
}

/** Why a watch does not show what is there. */
export interface WatchTrouble {
  watch: string
  reason: string
  /** Undefined where it is about all namespaces. */
  namespace?: string | undefined
  /** It has failed, rather than not answered yet. */
  isFailing?: boolean
}

/** A watch that fails for no longer than this, as when the API server restarts, still counts as in sync. */
const MAX_FAILING_MS = 60_000
/** What fails again sooner after an answer has not been well between: a list is allowed, say, and its watch is not. */
export const MIN_WELL_MS = 10_000

/** One kind in one namespace, in several, or in all: a reflector each, and one view of them. */
export class KindWatch<T extends KubeObject> implements Store<T> {
  readonly #reflectors: { namespace: string | undefined; watch: string; reflector: Reflector<T> }[]
  readonly #options: KindWatchOptions<T>
  /** `answeredMs` is of the first answer after the last failure. */
  readonly #failing = new Map<string, { error: unknown; sinceMs: number; answeredMs?: number }>()
  readonly #ended = new Set<string>()

  constructor(options: KindWatchOptions<T>) {
    this.#options = options
    const { namespaces = [undefined], labelSelector } = options
    this.#reflectors = namespaces.map(namespace => {
      const watch = `${formatResource(options.kind)}${namespace === undefined ? '' : ` in namespace "${namespace}"`}`
      const scope = { ...(namespace !== undefined && { namespace }), ...(labelSelector && { labelSelector }) }
      const reflector = new Reflector({
        ...options,
        scope,
        onFailure: (error, delayMs) => this.#onFailure(watch, error, delayMs),
        onAnswer: () => this.#onAnswer(watch),
      })
      return { namespace, watch, reflector }
    })
  }

  get(key: ObjectKey): T | undefined {
    const { namespace } = parseKey(key)
    const found = this.#reflectors.find(one => one.namespace === undefined || one.namespace === namespace)
    return found?.reflector.store.get(key)
  }

  list(): T[] {
    return this.#reflectors.flatMap(({ reflector }) => reflector.store.list())
  }

  ownedBy(uid: string): T[] {
    return this.#reflectors.flatMap(({ reflector }) => reflector.store.ownedBy(uid))
  }

  get size(): number {
    return this.#reflectors.reduce((sum, { reflector }) => sum + reflector.store.size, 0)
  }

  /** Until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const each = this.#reflectors.map(async ({ watch, reflector }) => {
      await reflector.run(signal).finally(() => signal.aborted || this.#ended.add(watch))
    })
    await Promise.all(each)
  }

  /** Of one of the namespaces given, or of undefined where there were none. */
  isSynced(namespace: string | undefined): boolean {
    return this.#of(namespace).every(({ reflector }) => reflector.isSynced)
  }

  /** Those that do not show all that is there, or have not for a while; what answers again is well after the time. */
  troubles(minWellMs = 0): WatchTrouble[] {
    const nowMs = this.#options.clock.monotonic()
    return this.#reflectors.flatMap(({ namespace, watch, reflector }) => {
      const failing = this.#failing.get(watch)
      const wellMs = failing?.answeredMs === undefined ? -1 : nowMs - failing.answeredMs
      const isFailing = failing !== undefined && wellMs < minWellMs
      const isLate = isFailing && nowMs - failing.sinceMs > MAX_FAILING_MS
      if (reflector.isSynced && !isLate) return []
      const reason = failing === undefined ? 'it is being listed' : toKafkaBackupError(failing.error).message
      return [{ watch, reason, namespace, isFailing }]
    })
  }

  /** The API server does not serve the kind or denies it, or has failed for a while. */
  isUnreadable(namespace: string | undefined): boolean {
    const nowMs = this.#options.clock.monotonic()
    return this.#of(namespace).some(({ watch }) => {
      const { error, sinceMs = nowMs, answeredMs } = this.#failing.get(watch) ?? {}
      const isCertain = hasCode(error, 'KUBE_NOT_FOUND') || hasCode(error, 'KUBE_DENIED')
      return answeredMs === undefined && (isCertain || nowMs - sinceMs > MAX_FAILING_MS)
    })
  }

  /** Why objects of the namespace may not be known; undefined where all of them are. */
  troubleIn(namespace: string | undefined): string | undefined {
    const troubles = this.troubles()
    return troubles.find(one => one.namespace === undefined || one.namespace === namespace)?.reason
  }

  /** Watches that came to an end, which they do only by a mistake in the program. */
  ended(): string[] {
    return [...this.#ended]
  }

  #onAnswer(watch: string): void {
    const failing = this.#failing.get(watch)
    if (failing !== undefined) failing.answeredMs ??= this.#options.clock.monotonic()
    this.#options.onState?.()
  }

  #onFailure(watch: string, error: unknown, delayMs: number): void {
    const { clock, onFailure } = this.#options
    const nowMs = clock.monotonic()
    const { sinceMs, answeredMs = nowMs } = this.#failing.get(watch) ?? { sinceMs: nowMs }
    this.#failing.set(watch, { error, sinceMs: nowMs - answeredMs > MIN_WELL_MS ? nowMs : sinceMs })
    onFailure(watch, error, delayMs)
    this.#options.onState?.()
  }

  #of(namespace: string | undefined) {
    return this.#reflectors.filter(one => one.namespace === namespace)
  }
}
