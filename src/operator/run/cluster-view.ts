import { type Job, jobKind, type Pod, podKind } from '../job/kube-job.ts'
import type { KubeObject } from '../kube/object.ts'
import type { ResourceKind } from '../kube/resource-kind.ts'
import { type Controller, controllers, type Resource, type ResourceKinds, resourceKinds } from '../resource/resource.ts'
import { type Change, formatKey } from '../watch/store.ts'
import { KindWatch, type KindWatchOptions, MIN_WELL_MS, type WatchTrouble } from './kind-watch.ts'
import { type OperatorOptions, type OperatorParts, ownSelector } from './operator-options.ts'
import { isChangeOfWish, ownerOf, ownerOfPod, referrersOf, type Touch } from './owners.ts'

/** Who works with the view while this process leads. */
export interface ViewListener {
  /** The resource is to be looked at. */
  touched(touch: Touch): void
  changed(controller: Controller, change: Change<Resource>): void
}

export type OnWatchFailure = KindWatchOptions<Resource>['onFailure']

/** Whether all that the operator needs of the namespace can be read; undefined stands for all namespaces. */
export type OnReadable = (namespace: string | undefined, isReadable: boolean) => void

/** What is there of the four kinds, of their Jobs and of the pods of these, kept up to date. */
export class ClusterView {
  readonly kinds: ResourceKinds
  readonly resources: Record<Controller, KindWatch<Resource>>
  readonly jobs: KindWatch<Job>
  readonly pods: KindWatch<Pod>
  /** Those that are watched; one that is undefined stands for all. */
  readonly namespaces: readonly (string | undefined)[]
  readonly #onReadable: OnReadable
  readonly #readable = new Map<string | undefined, boolean>()
  #listener: ViewListener | undefined

  constructor(options: OperatorOptions, parts: OperatorParts, onFailure: OnWatchFailure, onReadable: OnReadable) {
    const { api, clock, random } = parts
    const { namespaces } = options
    this.namespaces = namespaces ?? [undefined]
    this.#onReadable = onReadable
    const common = { api, clock, random, namespaces, onFailure, onState: () => this.#judgeNamespaces() }
    const follow = <T extends KubeObject>(
      kind: ResourceKind<T>,
      onChange: (change: Change<T>) => void,
      label?: string,
    ) => new KindWatch<T>({ ...common, kind, onChange, ...(label !== undefined && { labelSelector: label }) })
    const kinds = resourceKinds(options.apiGroup)
    const own = (controller: Controller) => follow(kinds[controller], change => this.#onResource(controller, change))
    this.kinds = kinds
    this.resources = {
      backup: own('backup'),
      restore: own('restore'),
      offset_reset: own('offset_reset'),
      offset_rollback: own('offset_rollback'),
    }
    this.jobs = follow(jobKind, change => this.#onJob(change), ownSelector)
    this.pods = follow(podKind, change => this.#onPod(change), ownSelector)
  }

  /** Replaces the listener of before. */
  listen(listener: ViewListener | undefined): void {
    this.#listener = listener
  }

  /** Until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    for (const namespace of this.namespaces) this.#tellReadable(namespace, false)
    const serving = this.namespaces.map(namespace =>
      this.#waitSynced(namespace, signal).then(
        () => this.#touchAll(namespace),
        () => undefined,
      ),
    )
    await Promise.all([...this.#watches().map(watch => watch.run(signal)), ...serving])
  }

  /** Until one namespace is in sync; the others are served as soon as they are. */
  async waitServed(signal: AbortSignal): Promise<void> {
    await Promise.any(this.namespaces.map(namespace => this.#waitSynced(namespace, signal))).catch(() => {
      throw signal.reason
    })
  }

  /** Whether resources, Jobs and pods of the namespace are all known: without one of them no plan can be made. */
  isServed(namespace: string | undefined): boolean {
    const watched = this.namespaces.includes(namespace) ? namespace : undefined
    return this.#watches().every(watch => watch.isSynced(watched))
  }

  troubles(minWellMs?: number): WatchTrouble[] {
    return this.#watches().flatMap(watch => watch.troubles(minWellMs))
  }

  ended(): string[] {
    return this.#watches().flatMap(watch => watch.ended())
  }

  async #waitSynced(namespace: string | undefined, signal: AbortSignal): Promise<void> {
    await Promise.all(this.#watches().map(watch => watch.waitSynced(namespace, signal)))
  }

  #touchAll(namespace: string | undefined): void {
    for (const controller of controllers) {
      for (const { metadata } of this.resources[controller].list()) {
        const isWithin = namespace === undefined || metadata.namespace === namespace
        if (isWithin) this.#listener?.touched({ controller, key: formatKey(metadata) })
      }
    }
  }

  #judgeNamespaces(): void {
    const troubled = new Set(this.troubles(MIN_WELL_MS).map(({ namespace }) => namespace))
    for (const namespace of this.namespaces) this.#tellReadable(namespace, !troubled.has(namespace))
  }

  #tellReadable(namespace: string | undefined, isReadable: boolean): void {
    if (this.#readable.get(namespace) === isReadable) return
    this.#readable.set(namespace, isReadable)
    this.#onReadable(namespace, isReadable)
  }

  #watches() {
    return [...controllers.map(controller => this.resources[controller]), this.jobs, this.pods]
  }

  #onResource(controller: Controller, change: Change<Resource>): void {
    const { key, before, after } = change
    this.#listener?.changed(controller, change)
    if (isChangeOfWish(before, after)) this.#listener?.touched({ controller, key })
    const reset = after ?? before
    if (controller !== 'offset_reset' || reset === undefined) return
    for (const touch of referrersOf(reset, this.resources.offset_rollback)) this.#listener?.touched(touch)
  }

  #onJob({ before, after }: Change<Job>): void {
    this.#touch(ownerOf(after ?? before, this.kinds))
  }

  #onPod({ before, after }: Change<Pod>): void {
    this.#touch(ownerOfPod(after ?? before, this.jobs, this.kinds))
  }

  #touch(touch: Touch | undefined): void {
    if (touch !== undefined) this.#listener?.touched(touch)
  }
}
