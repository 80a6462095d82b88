import { type Controller, controllers, type Resource } from '../crd/resource.ts'
import { type References, storageSection } from '../job/references.ts'
import type { StorageState } from '../plan/plan.ts'
import { formatKey, type Store } from '../watch/store.ts'

/** The storage that the resource refers to, if it refers to one, and whether it can be used. */
export function findStorage({ metadata, spec }: Resource, storages: Store<Resource>): StorageState | undefined {
  const name = spec?.storageRef?.name
  if (name === undefined) return undefined
  const storage = storages.get(formatKey({ namespace: metadata.namespace, name }))
  if (storage === undefined) {
    const message = `KafkaBackupStorage ${name} does not exist in the namespace of the resource. Create it, or correct spec.storageRef.`
    return { name, status: 'False', reason: 'StorageMissing', message }
  }
  return { name, ...judge(name, storage), section: storageSection(name, storage.spec ?? {}) }
}

/** A result counts for the spec that was validated. */
function judge(name: string, { metadata, status }: Resource): Pick<StorageState, 'status' | 'reason' | 'message'> {
  const found = status?.conditions?.find(({ type }) => type === 'Available')
  const isCurrent = found !== undefined && found.observedGeneration === (metadata.generation ?? 0)
  if (isCurrent && found.status === 'True') {
    return { status: 'True', reason: 'StorageAvailable', message: `KafkaBackupStorage ${name} is available.` }
  }
  if (isCurrent && found.status === 'False') {
    const message = `KafkaBackupStorage ${name} is not available: ${found.message}`
    return { status: 'False', reason: 'StorageUnavailable', message }
  }
  const message = `KafkaBackupStorage ${name} has not been validated yet. The run starts when it is available.`
  return { status: 'Unknown', reason: 'StorageNotValidated', message }
}

export function referencesOf(storage: StorageState | undefined): References {
  return storage?.section === undefined ? {} : { storage: storage.section }
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
  return controllers.flatMap(controller =>
    resources[controller]
      .list()
      .filter(one => one.metadata.namespace === metadata.namespace && one.spec?.storageRef?.name === metadata.name)
      .map(resource => ({ controller, resource })),
  )
}
