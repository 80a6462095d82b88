import {
  type AnyController,
  allControllers,
  controllers,
  type Resource,
  type ResourceKinds,
  resourceKinds,
} from '../crd/resource.ts'
import { type Job, jobKind, type Pod, podKind } from '../job/kube-job.ts'
import { type StrimziKafka, strimziKafkaKind } from '../job/strimzi.ts'
import type { KubeObject, ResourceKind } from '../kube/object.ts'
import { type Change, formatKey, type ObjectKey, type Store } from '../watch/store.ts'
import { KindWatch, type KindWatchOptions, MIN_WELL_MS, type WatchTrouble } from './kind-watch.ts'
import { type OperatorOptions, type OperatorParts, ownSelector } from './operator-options.ts'
import { hasStorageChanged, usersOf, usersOfCluster } from './referred-objects.ts'
import { readNewestKafkas } from './strimzi-version.ts'

/** The user of the view while this process leads. */
export interface ViewListener {
  /** Queues the resource for reconciliation. */
  needsReconcile(ref: ResourceRef): void
  changed(controller: AnyController, change: Change<Resource>): void
}

type OnWatchFailure = KindWatchOptions<Resource>['onFailure']

/** Whether all that the operator needs of the namespace can be read; undefined stands for all namespaces. */
export type OnReadable = (namespace: string | undefined, isReadable: boolean) => void

interface Serving {
  /** It is, without its storages or clusters of Strimzi. */
  isServed: boolean
}

/** A cache of the resources, their Jobs and their pods. */
export class ClusterView {
  readonly kinds: ResourceKinds
  readonly resources: Record<AnyController, KindWatch<Resource>>
  readonly jobs: KindWatch<Job>
  readonly pods: KindWatch<Pod>
  /** Undefined where they are not read. A failure of this watch blocks only resources with a `clusterRef`. */
  readonly kafkas: KindWatch<StrimziKafka> | undefined
  /** The watched namespaces; undefined means all. */
  readonly namespaces: readonly (string | undefined)[]
  /** Uids of resets and rollbacks whose Job is being created, until `jobs` shows it (see `claimStart`). */
  readonly starting = new Set<string>()
  readonly #onReadable: OnReadable
  readonly #readable = new Map<string | undefined, boolean>()
  /** Namespaces with something that could not be read yet. */
  readonly #serving: Map<string | undefined, Serving>
  readonly #firstServed = Promise.withResolvers<void>()
  #listener: ViewListener | undefined

  constructor(options: OperatorOptions, parts: OperatorParts, onFailure: OnWatchFailure, onReadable: OnReadable) {
    const { api, clock, random } = parts
    const { namespaces } = options
    this.namespaces = namespaces ?? [undefined]
    this.#onReadable = onReadable
    this.#serving = new Map(this.namespaces.map(namespace => [namespace, { isServed: false }]))
    const common = { api, clock, random, namespaces, onFailure, onState: () => this.#onState() }
    const follow = <T extends KubeObject>(
      kind: ResourceKind<T>,
      onChange: (change: Change<T>) => void,
      label?: string,
    ) => new KindWatch<T>({ ...common, kind, onChange, ...(label !== undefined && { labelSelector: label }) })
    const kinds = resourceKinds(options.apiGroup)
    const own = (controller: AnyController) => follow(kinds[controller], change => this.#onResource(controller, change))
    this.kinds = kinds
    this.resources = {
      backup: own('backup'),
      restore: own('restore'),
      offset_reset: own('offset_reset'),
      offset_rollback: own('offset_rollback'),
      storage: own('storage'),
    }
    this.jobs = follow(jobKind, change => this.#onJob(change), ownSelector)
    this.pods = follow(podKind, change => this.#onPod(change), ownSelector)
    const { strimziApi } = options
    this.kafkas = strimziApi === undefined ? undefined : this.#followKafkas(strimziApi, common)
  }

  #followKafkas(version: string, common: Omit<KindWatchOptions<StrimziKafka>, 'kind' | 'onChange'>) {
    const api = version === 'auto' ? readNewestKafkas(common.api) : common.api
    const onChange = (change: Change<StrimziKafka>) => this.#onKafka(change)
    return new KindWatch<StrimziKafka>({ ...common, api, kind: strimziKafkaKind(version), onChange })
  }

  /** Replaces the listener. */
  listen(listener: ViewListener | undefined): void {
    this.#listener = listener
  }

  /** Until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    for (const namespace of this.namespaces) this.#reportReadable(namespace, false)
    await Promise.all([...this.#watches(), ...this.#optionalWatches()].map(watch => watch.run(signal)))
  }

  /** Resolves when one namespace is served; the others are as soon as they can be. */
  async waitServed(signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<never>()
    const onAbort = () => aborted.reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await Promise.race([this.#firstServed.promise, aborted.promise])
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  /**
   * Whether resources, Jobs and pods of the namespace are all known: without one of them no plan can be made. Storages and clusters
   * of Strimzi are waited for, but if they cannot be read, only resources that refer to one are blocked.
   */
  isServed(namespace: string | undefined): boolean {
    const watched = this.namespaces.includes(namespace) ? namespace : undefined
    const isKnown = this.#optionalWatches().every(watch => watch.isSynced(watched) || watch.isUnreadable(watched))
    const isDecided = isKnown || this.#serving.get(watched)?.isServed === true
    return isDecided && this.#watches().every(watch => watch.isSynced(watched))
  }

  troubles(minWellMs?: number): WatchTrouble[] {
    return this.#watches().flatMap(watch => watch.troubles(minWellMs))
  }

  /** Kinds that only some resources need and that cannot be read. */
  optionalTroubles(): WatchTrouble[] {
    return this.#optionalWatches().flatMap(watch => watch.troubles().filter(({ isFailing }) => isFailing))
  }

  ended(): string[] {
    return [...this.#watches(), ...this.#optionalWatches()].flatMap(watch => watch.ended())
  }

  #onState(): void {
    this.#judgeNamespaces()
    for (const [namespace, state] of this.#serving) this.#serve(namespace, state)
  }

  /** Everything is reconciled when the namespace can be served, and again if its storages and clusters become readable later. */
  #serve(namespace: string | undefined, state: Serving): void {
    const isComplete = this.#optionalWatches().every(watch => watch.isSynced(namespace))
    if (!this.isServed(namespace) || (state.isServed && !isComplete)) return
    state.isServed = true
    if (isComplete) this.#serving.delete(namespace)
    this.#reconcileAll(namespace)
    this.#firstServed.resolve()
  }

  #reconcileAll(namespace: string | undefined): void {
    for (const controller of allControllers) {
      for (const { metadata } of this.resources[controller].list()) {
        const isWithin = namespace === undefined || metadata.namespace === namespace
        if (isWithin) this.#listener?.needsReconcile({ controller, key: formatKey(metadata) })
      }
    }
  }

  #judgeNamespaces(): void {
    const troubled = new Set(this.troubles(MIN_WELL_MS).map(({ namespace }) => namespace))
    for (const namespace of this.namespaces) this.#reportReadable(namespace, !troubled.has(namespace))
  }

  #reportReadable(namespace: string | undefined, isReadable: boolean): void {
    if (this.#readable.get(namespace) === isReadable) return
    this.#readable.set(namespace, isReadable)
    this.#onReadable(namespace, isReadable)
  }

  #watches() {
    return [...controllers.map(controller => this.resources[controller]), this.jobs, this.pods]
  }

  #optionalWatches() {
    return [this.resources.storage, ...(this.kafkas ? [this.kafkas] : [])]
  }

  #onResource(controller: AnyController, change: Change<Resource>): void {
    const { key, before, after } = change
    this.#listener?.changed(controller, change)
    if (hasRequestChanged(before, after)) this.#listener?.needsReconcile({ controller, key })
    const changed = after ?? before
    if (changed === undefined) return
    for (const ref of this.#affectedBy(controller, changed, change)) this.#listener?.needsReconcile(ref)
  }

  /** Other resources that depend on the changed one. */
  #affectedBy(controller: AnyController, changed: Resource, { before, after }: Change<Resource>): ResourceRef[] {
    const { resources } = this
    if (controller === 'storage') {
      if (!hasStorageChanged(before, after)) return []
      return usersOf(changed, resources).map(user => ({ ...user, key: formatKey(user.resource.metadata) }))
    }
    const rollbacks = controller === 'offset_reset' ? referrersOf(changed, resources.offset_rollback) : []
    return [...rollbacks, ...storagesOf(before, after)]
  }

  #onKafka({ before, after }: Change<StrimziKafka>): void {
    const kafka = after ?? before
    if (kafka === undefined) return
    for (const { controller, resource } of usersOfCluster(kafka, this.resources)) {
      this.#listener?.needsReconcile({ controller, key: formatKey(resource.metadata) })
    }
  }

  #onJob({ before, after }: Change<Job>): void {
    this.#requestReconcile(ownerOf(after ?? before, this.kinds))
  }

  #onPod({ before, after }: Change<Pod>): void {
    this.#requestReconcile(ownerOfPod(after ?? before, this.jobs, this.kinds))
  }

  #requestReconcile(ref: ResourceRef | undefined): void {
    if (ref !== undefined) this.#listener?.needsReconcile(ref)
  }
}

/** A resource to reconcile. */
export interface ResourceRef {
  controller: AnyController
  key: ObjectKey
}

/** The resource that an object belongs to by its owner reference. */
function ownerOf(object: KubeObject | undefined, kinds: ResourceKinds): ResourceRef | undefined {
  const owner = object?.metadata.ownerReferences?.find(({ controller }) => controller === true)
  const controller = allControllers.find(
    one => kinds[one].kind === owner?.kind && groupOf(kinds[one].apiVersion) === groupOf(owner.apiVersion),
  )
  if (object === undefined || owner === undefined || controller === undefined) return undefined
  return { controller, key: formatKey({ namespace: object.metadata.namespace, name: owner.name }) }
}

/** Another release may have created the Job for another version of the same resource. */
function groupOf(apiVersion: string): string | undefined {
  return apiVersion.split('/')[0]
}

/** A pod belongs to a Job. Where the Job is not known yet, its own arrival touches the resource. */
function ownerOfPod(pod: Pod | undefined, jobs: Store<Job>, kinds: ResourceKinds): ResourceRef | undefined {
  const owner = pod?.metadata.ownerReferences?.find(({ kind }) => kind === 'Job')
  if (pod === undefined || owner === undefined) return undefined
  return ownerOf(jobs.get(formatKey({ namespace: pod.metadata.namespace, name: owner.name })), kinds)
}

/** Rollbacks that refer to the reset. */
function referrersOf(reset: Resource, rollbacks: Store<Resource>): ResourceRef[] {
  const { name, namespace } = reset.metadata
  return rollbacks
    .list()
    .filter(({ metadata, spec }) => metadata.namespace === namespace && spec.resetRef?.name === name)
    .map(({ metadata }) => ({ controller: 'offset_rollback', key: formatKey(metadata) }))
}

/** Storages that a resource refers to, or no longer refers to: they count it. */
function storagesOf(before: Resource | undefined, after: Resource | undefined): ResourceRef[] {
  const [from, to] = [before, after].map(resource => resource?.spec?.storageRef?.name)
  const { namespace } = (after ?? before)?.metadata ?? {}
  const names = from === to ? [] : [from, to].filter(name => name !== undefined)
  return names.map(name => ({ controller: 'storage', key: formatKey({ namespace, name }) }))
}

/** Only the operator writes the status, so a change of the status alone needs no reconciliation. */
function hasRequestChanged(before: Resource | undefined, after: Resource | undefined): boolean {
  if (before === undefined || after === undefined) return true
  return JSON.stringify(requestOf(before)) !== JSON.stringify(requestOf(after))
}

function requestOf({ metadata }: Resource): unknown[] {
  const { uid, generation, annotations, labels, finalizers, deletionTimestamp } = metadata
  return [uid, generation, annotations, labels, finalizers, deletionTimestamp]
}
