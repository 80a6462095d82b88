import type { BackupSummary, Description } from '../archive/describe.ts'
import type { VerifyReport } from '../archive/verify.ts'
import { camelKeys } from '../config/camel-keys.ts'
import { KafkaBackupError } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import type { SchemaJobInput } from './job.ts'
import { type Encryption, findPlace, type Place } from './place.ts'
import { type RunOptions, runWatched } from './run.ts'

/** A backup at a place; that of the job where no other is named. */
export type BackupPlace =
  | { location: string; backupId: string; encryption?: Encryption; job?: undefined }
  | { job: SchemaJobInput; backupId?: string | undefined; location?: undefined; encryption?: undefined }

export type ListedBackup = ReturnType<typeof listed>
export type BackupDescription = ReturnType<typeof described>
export type VerifiedBackup = ReturnType<typeof verified>

type Options = Pick<RunOptions, 'signal'>

/** One row for each backup at a place. One that cannot be read is a row with its `error`. */
export async function list({ signal, ...place }: Place & Options): Promise<ListedBackup[]> {
  return withStorage(place, { signal }, async (storage, { scoped }) => {
    const { listBackups } = await import('../archive/describe.ts')
    return (await listBackups(storage, scoped)).map(listed)
  })
}

/** What the newest state of a backup holds. */
export async function describe({ signal, ...place }: BackupPlace & Options): Promise<BackupDescription> {
  return withStorage(place, { signal }, async (storage, { backupId, scoped }) => {
    const { describeBackup } = await import('../archive/describe.ts')
    return described(await describeBackup(storage, named(backupId), scoped))
  })
}

/**
 * Checks that the newest state of a backup is whole: objects, sizes and offsets, and every byte with `deep`. Damage is a
 * result, not an error, as long as the manifest can be read.
 */
export async function verify({
  signal,
  onProgress,
  deep = false,
  ...place
}: BackupPlace & RunOptions & { deep?: boolean }): Promise<VerifiedBackup> {
  return withStorage(place, { signal, onProgress }, async (storage, { backupId, scoped, tell }) => {
    const { verifyAt } = await import('../jobs/verify.ts')
    return verified(await verifyAt(storage, named(backupId), { deep, onProgress: tell }, scoped))
  })
}

interface Opened {
  backupId: string | undefined
  scoped: AbortSignal
  tell: NonNullable<RunOptions['onProgress']>
}

async function withStorage<T>(
  place: Place & { backupId?: string | undefined },
  options: RunOptions,
  work: (storage: Storage, opened: Opened) => Promise<T>,
): Promise<T> {
  return runWatched(options, 'Nothing was changed.', async (tell, scoped) => {
    const { at, backupId } = await findPlace(place)
    const { openExistingStorage } = await import('../jobs/parts.ts')
    const storage = await openExistingStorage(at, scoped)
    try {
      return await work(storage, { backupId, scoped, tell })
    } finally {
      await storage.close()
    }
  })
}

function named(backupId: string | undefined): string {
  if (backupId !== undefined) return backupId
  throw new KafkaBackupError('USAGE', 'say which backup, with backupId or a job')
}

function listed(row: BackupSummary) {
  if ('error' in row) return { backupId: row.backup_id, error: row.error, code: row.code }
  return camelKeys(row)
}

function described(description: Description) {
  return {
    ...camelKeys(description),
    totals: camelKeys(description.totals),
    topics: description.topics.map(topic => ({
      ...camelKeys(topic),
      gaps: topic.gaps.map(gap => camelKeys(gap)),
      partitions: topic.partitions.map(partition => ({
        ...camelKeys(partition),
        gaps: partition.gaps.map(gap => camelKeys(gap)),
        openAborted: partition.open_aborted.map(one => camelKeys(one)),
      })),
    })),
    consumerGroups: camelKeys(description.consumer_groups),
    access: camelKeys(description.access),
    schemaRegistry: {
      ...camelKeys(description.schema_registry),
      subjects: description.schema_registry.subjects.map(subject => camelKeys(subject)),
    },
  }
}

function verified(report: VerifyReport) {
  return { ...camelKeys(report), gaps: report.gaps.map(gap => camelKeys(gap)) }
}
