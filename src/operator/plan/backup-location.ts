import type { Decision } from './decision.ts'
import { workingRuns } from './decision.ts'
import type { Facts } from './facts.ts'

/**
 * Where the last run stored the backup, if that comes from a KafkaBackupStorage. The API server keeps the location of a spec
 * and of a storage, but not that of a storage which was deleted and created again.
 */
export function storedAt(facts: Facts, decision: Decision): string | undefined {
  const { controller, before } = facts
  const current = controller === 'backup' ? currentLocation(facts) : undefined
  const isStarted = decision.starts.some(({ live }) => live.purpose === 'main')
  const isFirst =
    before.storageLocation === undefined && workingRuns(decision).some(({ purpose }) => purpose === 'main')
  return current !== undefined && (isStarted || isFirst) ? current : before.storageLocation
}

/** Why the backup is not where the storage of the spec leads to; undefined if it may be. */
export function movedMessage(facts: Facts): string | undefined {
  const { before, storage } = facts
  const current = currentLocation(facts)
  if (before.storageLocation === undefined || current === undefined) return undefined
  if (withoutAddress(current) === withoutAddress(before.storageLocation)) return undefined
  return `The backup is in ${before.storageLocation}, but KafkaBackupStorage ${storage?.name} is ${current} now. Create the storage with the previous location again.`
}

/** The address may lead to another store now, where a deletion finds nothing and succeeds. An earlier release recorded no address. */
export function addressMessage(facts: Facts): string | undefined {
  const { storageLocation } = facts.before
  const current = currentLocation(facts)
  if (storageLocation === undefined || current === undefined || current === storageLocation) return undefined
  if (withoutAddress(storageLocation) === storageLocation) return undefined
  return `The backup is being deleted in ${current}, but the last run stored it in ${storageLocation}. If that is another store, delete it there as well.`
}

function currentLocation({ storage }: Facts): string | undefined {
  if (storage?.section === undefined) return undefined
  const { backend, account, bucket, container, pvc, prefix, endpoint } = storage.section.value
  const { claimName, subPath } = (pvc ?? {}) as { claimName?: unknown; subPath?: unknown }
  const parts = [backend, account, bucket, container, claimName, subPath, prefix]
  const location = parts.filter(part => typeof part === 'string' && part !== '').join(' ')
  return typeof endpoint === 'string' && endpoint !== '' ? `${location} at ${endpoint}` : location
}

/** The same store may get another address, which the API server lets a user change. */
function withoutAddress(location: string): string {
  return location.replace(/ at \w+:\/\/\S+$/, '')
}
