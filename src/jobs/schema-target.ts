import { holdRegistry, type RegistryHold } from '../archive/registry-lease.ts'
import type { Job, RestoreJob } from '../config/load-job.ts'
import { systemClock } from '../lib/clock.ts'
import type { RegistryClient } from '../registry/client/client.ts'
import { createIdMap } from '../registry/ids/id-map.ts'
import { indexSchemas } from '../registry/ids/known-schemas.ts'
import { JournalBook } from '../registry/restore/journal.ts'
import type { RestoreOptions } from '../restore/restore-options.ts'
import type { SchemaTarget } from '../restore/schema-step.ts'
import { parseLocation } from '../storage/location.ts'
import { openStorage } from '../storage/open-storage.ts'
import type { Storage } from '../storage/storage.ts'
import { openEncryption, type StoragePlace } from './encryption.ts'
import { leaseParts } from './leases.ts'
import { type Hooks, newRun } from './parts.ts'
import { type RegistryJob, registryOf, schemaOptions, withRegistry } from './registry.ts'

/** A restore from any location, not only from one that a job file describes. */
export type LocatedRestoreJob = Omit<RestoreJob, 'storage'> & StoragePlace & { backupId: string }

/** Opens the registry of the target and the journal; `work` gets undefined where the job takes no schemas from the backup. */
export async function withSchemaTarget<T>(
  job: LocatedRestoreJob,
  storage: Storage,
  hooks: Hooks,
  signal: AbortSignal,
  work: (schemas: SchemaTarget | undefined) => Promise<T>,
): Promise<T> {
  const registry = registryOf(job)
  if (!registry || !(registry.restore.enabled || registry.restore.idMapping)) return work(undefined)
  const options = await schemaOptions(registry)
  return withRegistry(registry, client =>
    openJournal(job, registry, { client, backupStorage: storage, hooks }, signal, (journal, hold) =>
      work({ options, client, journal, hold }),
    ),
  )
}

/** What a job asks of the schema IDs in records. The IDs are known when the registry of the target was read. */
export function rewriteRequest(job: Pick<Job, 'enterprise'>): Pick<RestoreOptions, 'rewrite' | 'restoresSchemas'> {
  const restore = registryOf(job)?.restore
  if (!restore || !(restore.enabled || restore.idMapping)) return {}
  if (!restore.idMapping) return { restoresSchemas: restore.enabled }
  const rewrite = {
    ...{ idMap: createIdMap([]), schemas: indexSchemas([]), reasons: new Map() },
    writes: restore.rewriteIds,
    checkIds: restore.checkIds,
    unknownIds: restore.unknownIds,
    topics: restore.rewriteTopics,
    parts: restore.rewriteParts,
    topicParts: new Map(),
    topicContexts: restore.topicContexts,
  }
  return { restoresSchemas: restore.enabled, rewrite }
}

interface JournalParts {
  client: RegistryClient
  /** Of the backup. */
  backupStorage: Storage
  hooks: Hooks
}

/**
 * Next to the backup, or where the job says. A run that writes to the registry holds it meanwhile, until `release`; a run
 * that only reads does not.
 */
export async function openJournal<T>(
  job: StoragePlace & { backupId: string },
  { restore, urls = [] }: RegistryJob,
  { client, backupStorage, hooks }: JournalParts,
  signal: AbortSignal,
  work: (journal: JournalBook, hold: RegistryHold) => Promise<T>,
): Promise<T> {
  const { backupId } = job
  const storage = restore.journal === undefined ? undefined : parseLocation(restore.journal)
  const own = storage && openEncryption(openStorage(storage), { ...job, storage })
  let hold: RegistryHold = { assertHeld: () => undefined, release: async () => undefined }
  try {
    const parts = { storage: own ?? backupStorage, clock: systemClock, newRun }
    if (!hooks.isReadOnly && restore.enabled) {
      const claim = { urls, kind: `restore of backup ${backupId}` }
      hold = await holdRegistry(leaseParts(parts.storage, hooks), claim, signal)
    }
    return await work(new JournalBook(parts, { backupId, registry: client.name }), hold)
  } finally {
    await hold.release()
    await own?.close()
  }
}
