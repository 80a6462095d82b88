import { type AnyController, allControllers, controllers, type Resource } from '../crd/resource.ts'
import { EventRecorder } from '../kube/event-recorder.ts'
import { refOf } from '../kube/object.ts'
import { type QueueObserver, WorkQueue, type WorkResult } from '../queue/work-queue.ts'
import { type Change, formatKey, type ObjectKey, parseKey } from '../watch/store.ts'
import type { ClusterView, ResourceRef, ViewListener } from './cluster-view.ts'
import { fieldManager, type OperatorOptions, type OperatorParts } from './operator-options.ts'
import { pollProgress, type Watched } from './progress-poller.ts'
import { Reconciler } from './reconciler.ts'
import { noteSeen } from './resource-memory.ts'

/** Of a field of events. */
const MAX_INSTANCE_CHARS = 128
const pollLoop = 'the polling of progress'

/** All that works while this process leads. The next term begins with nothing but what the API server has. */
export class Term implements ViewListener {
  readonly #options: OperatorOptions
  readonly #parts: OperatorParts
  readonly #view: ClusterView
  readonly #queues: Record<AnyController, WorkQueue>
  readonly #reconcilers: Record<AnyController, Reconciler>

  constructor(options: OperatorOptions, parts: OperatorParts, view: ClusterView) {
    const { api, clock, random } = parts
    this.#options = options
    this.#parts = parts
    this.#view = view
    const events = new EventRecorder({
      api,
      clock,
      fieldManager,
      instance: options.identity.slice(0, MAX_INSTANCE_CHARS),
    })
    const queueOf = (controller: AnyController) =>
      new WorkQueue({ clock, random, observer: this.#queueObserver(controller) })
    this.#queues = each(queueOf)
    this.#reconcilers = each(controller => new Reconciler(controller, options, parts, view, events))
  }

  /** Until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { observer } = this.#parts
    this.#view.listen(this)
    for (const { controller, resource } of this.#resources()) {
      observer.seen(controller, resource)
      this.needsReconcile({ controller, key: formatKey(resource.metadata) })
    }
    try {
      await Promise.all([...allControllers.map(controller => this.#runQueue(controller, signal)), this.#poll(signal)])
    } finally {
      this.#view.listen(undefined)
      this.#view.starting.clear()
      for (const { controller, resource } of this.#resources()) observer.gone(controller, refOf(resource))
    }
  }

  needsReconcile({ controller, key }: ResourceRef): void {
    this.#queues[controller].add(key)
  }

  changed(controller: AnyController, { key, after }: Change<Resource>): void {
    const { observer } = this.#parts
    const memory = this.#reconcilers[controller].memories.get(key)
    if (memory !== undefined && after !== undefined) noteSeen(memory, after)
    if (after === undefined) observer.gone(controller, parseKey(key))
    else observer.seen(controller, after)
  }

  #runQueue(controller: AnyController, signal: AbortSignal): Promise<void> {
    const { workers } = this.#options
    return this.#queues[controller].run(workers, (key, stop) => this.#work(controller, key, stop), signal)
  }

  async #work(controller: AnyController, key: ObjectKey, signal: AbortSignal): Promise<WorkResult> {
    const { clock, observer, health } = this.#parts
    const ended = health.began(`the work on ${this.#view.kinds[controller].kind} ${key}`)
    const beganMs = clock.monotonic()
    const report = (isFailed: boolean) =>
      observer.reconciled(controller, parseKey(key), clock.monotonic() - beganMs, isFailed)
    try {
      const result = await this.#reconcilers[controller].reconcile(key, signal)
      report(false)
      return result
    } catch (error) {
      if (!signal.aborted) report(true)
      throw error
    } finally {
      ended()
    }
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const { clock, observer, fetchProgress, health } = this.#parts
    const { progressIntervalMs: intervalMs } = this.#options
    const parts = {
      ...{ clock, observer, fetchProgress, intervalMs },
      watched: () => this.#watched(),
      onShown: (watched: Watched) => this.needsReconcile(watched),
      onTurn: () => health.turned(pollLoop, intervalMs + 5 * 60_000),
    }
    await pollProgress(parts, signal).finally(() => health.left(pollLoop))
  }

  *#watched(): Iterable<Watched> {
    for (const controller of controllers) {
      for (const [key, memory] of this.#reconcilers[controller].memories) {
        const resource = this.#view.resources[controller].get(key)
        if (resource !== undefined) yield { controller, key, resource, memory }
      }
    }
  }

  *#resources(): Iterable<{ controller: AnyController; resource: Resource }> {
    for (const controller of allControllers) {
      for (const resource of this.#view.resources[controller].list()) yield { controller, resource }
    }
  }

  #queueObserver(controller: AnyController): QueueObserver {
    const { observer, log } = this.#parts
    const metrics = observer.queue(controller)
    return {
      depth: keys => metrics.depth(keys),
      added: () => metrics.added(),
      worked: (durationMs, isFailed) => metrics.worked(durationMs, isFailed),
      retried: (error, key, delayMs) => {
        metrics.retried(error, key, delayMs)
        const why = error instanceof Error ? error.message : String(error)
        const again_in_seconds = Math.ceil(delayMs / 1000)
        log.write('warn', `reconciliation failed, retrying: ${why}`, { controller, ...parseKey(key), again_in_seconds })
      },
    }
  }
}

function each<T>(make: (controller: AnyController) => T): Record<AnyController, T> {
  return Object.fromEntries(allControllers.map(controller => [controller, make(controller)])) as Record<
    AnyController,
    T
  >
}
