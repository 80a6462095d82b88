import type { Job, RestoreJob } from '../config/load-job.ts'
import { createIdMap } from '../registry/ids/id-map.ts'
import { indexSchemas } from '../registry/ids/known-schemas.ts'
import type { RestoreOptions } from '../restore/options.ts'
import type { SchemaTarget } from '../restore/schema-step.ts'
import type { Storage } from '../storage/storage.ts'
import type { StoragePlace } from './encryption.ts'
import { openJournal } from './journal.ts'
import type { Hooks } from './parts.ts'
import { registryOf, schemaOptions, withRegistry } from './registry.ts'

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
    openJournal(job, registry, { client, beside: storage, hooks }, signal, (journal, hold) =>
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
