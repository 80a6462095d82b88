import { type Controller, controllers, type Resource, type ResourceSpec } from '../crd/resource.ts'
import { type ReferenceState, type References, storageSection } from '../job/references.ts'
import { resolveCluster, type StrimziKafka } from '../job/strimzi.ts'
import type { KubeObject } from '../kube/object.ts'
import type { Situation } from '../plan/plan.ts'
import { formatKey, type Store } from '../watch/store.ts'

type Referred = Pick<Situation, 'storage' | 'cluster'>

/** Where the objects are that resources refer to. */
export interface ReferredStores {
  resources: Record<'storage', Watched<Resource>>
  kafkas: KafkaView
}

/** The objects that the resource refers to. */
export function findReferred(resource: Resource, { resources, kafkas }: ReferredStores): Referred {
  return { storage: findStorage(resource, resources.storage), cluster: findCluster(resource, kafkas) }
}

/** A store, and why it may not have all objects of a namespace. */
type Watched<T extends KubeObject> = Store<T> & { troubleIn(namespace: string | undefined): string | undefined }

/** The Kafka resources of Strimzi; undefined where the operator does not read them. */
type KafkaView = Watched<StrimziKafka> | undefined

function findCluster({ metadata, spec }: Resource, kafkas: KafkaView): ReferenceState | undefined {
  const name = spec?.clusterRef?.name
  if (name === undefined) return undefined
  if (kafkas === undefined) {
    const message =
      'The operator does not read Kafka resources of Strimzi: install its chart with strimzi.enabled, or use spec.kafkaCluster.'
    return { name, status: 'False', reason: 'StrimziDisabled', message }
  }
  const trouble = kafkas.troubleIn(metadata.namespace)
  const found = kafkas.get(formatKey({ namespace: metadata.namespace, name }))
  if (found === undefined && trouble !== undefined) {
    const help =
      'If this lasts, check that Strimzi is installed, and that it serves the version in the chart value strimzi.apiVersion.'
    const message = `The Kafka resources of Strimzi cannot be read: ${trouble}. ${help}`
    return { name, status: 'Unknown', reason: 'ClusterUnknown', message }
  }
  return resolveCluster(spec, found)
}

/** Whether a spec can be judged: what it refers to exists. */
export function areReferencesFound({ storage, cluster }: Referred): boolean {
  return [storage, cluster].every(one => one === undefined || one.section !== undefined)
}

/** The storage that the resource refers to, if it refers to one, and whether it can be used. */
export function findStorage({ metadata, spec }: Resource, storages: Watched<Resource>): ReferenceState | undefined {
  const name = spec?.storageRef?.name
  if (name === undefined) return undefined
  const storage = storages.get(formatKey({ namespace: metadata.namespace, name }))
  const trouble = storage === undefined ? storages.troubleIn(metadata.namespace) : undefined
  if (trouble !== undefined) {
    const help =
      'Install the CustomResourceDefinition of KafkaBackupStorage and allow the operator to list and watch it, as its chart does, or use spec.storage.'
    const message = `KafkaBackupStorage resources cannot be read: ${trouble}. ${help}`
    return { name, status: 'Unknown', reason: 'StorageUnknown', message }
  }
  if (storage === undefined) {
    const message = `KafkaBackupStorage ${name} does not exist in the namespace of the resource. Create it, or correct spec.storageRef.`
    return { name, status: 'False', reason: 'StorageMissing', message }
  }
  return { name, ...judge(name, storage), section: storageSection(name, storage.spec ?? {}) }
}

/** A result counts for the spec that was validated. */
function judge(name: string, { metadata, status }: Resource): Pick<ReferenceState, 'status' | 'reason' | 'message'> {
  const found = status?.conditions?.find(({ type }) => type === 'Available')
  const isCurrent = found !== undefined && found.observedGeneration === (metadata.generation ?? 0)
  if (isCurrent && found.status === 'True') {
    return { status: 'True', reason: 'StorageAvailable', message: `KafkaBackupStorage ${name} is available.` }
  }
  if (isCurrent && found.status === 'False') {
    const message = `KafkaBackupStorage ${name} is not available: ${found.message}`
    return { status: 'False', reason: 'StorageUnavailable', message }
  }
  const why = isCurrent ? `is not available yet: ${found.message}` : 'has not been validated yet.'
  const message = `KafkaBackupStorage ${name} ${why} The run starts when it is available.`
  return { status: 'Unknown', reason: 'StorageNotValidated', message }
}

export function referencesOf({ storage, cluster }: Referred): References {
  return {
    ...(storage?.section && { storage: storage.section }),
    ...(cluster?.section && { kafkaCluster: cluster.section }),
  }
}

/** The resources of the namespace that refer to the Kafka cluster. */
export function usersOfCluster(
  { metadata }: StrimziKafka,
  resources: Record<Controller, Store<Resource>>,
): { controller: Controller; resource: Resource }[] {
  return referrers(resources, metadata.namespace, ({ clusterRef }) => clusterRef?.name === metadata.name)
}

/** Whether those that refer to the storage have to be reconciled. */
export function hasStorageChanged(before: Resource | undefined, after: Resource | undefined): boolean {
  return JSON.stringify(usedOf(before)) !== JSON.stringify(usedOf(after))
}

function usedOf(storage: Resource | undefined): unknown {
  if (storage === undefined) return undefined
  const available = storage.status?.conditions?.find(({ type }) => type === 'Available')
  return [storage.metadata.uid, storage.spec, available?.status, available?.message, available?.observedGeneration]
}

/** The resources of the namespace that refer to the storage. */
export function usersOf(
  { metadata }: Resource,
  resources: Record<Controller, Store<Resource>>,
): { controller: Controller; resource: Resource }[] {
  return referrers(resources, metadata.namespace, ({ storageRef }) => storageRef?.name === metadata.name)
}

function referrers(
  resources: Record<Controller, Store<Resource>>,
  namespace: string | undefined,
  refers: (spec: ResourceSpec) => boolean,
): { controller: Controller; resource: Resource }[] {
  return controllers.flatMap(controller =>
    resources[controller]
      .list()
      .filter(one => one.metadata.namespace === namespace && refers(one.spec ?? {}))
      .map(resource => ({ controller, resource })),
  )
}
