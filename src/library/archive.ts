import type { Description } from '../archive/describe.ts'
import type { LastDrills } from '../archive/drill-record.ts'
import type { GenerationListing } from '../archive/generations.ts'
import type { BackupSummary } from '../archive/list-backups.ts'
import type { GenerationChoice } from '../archive/select-generation.ts'
import type { LastVerifications } from '../archive/verification.ts'
import { camelKeys } from '../config/camel-keys.ts'
import { KafkaBackupError } from '../errors.ts'
import type { RecordedReport } from '../jobs/verify.ts'
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
export type ListedGenerations = ReturnType<typeof listedGenerations>
export type VerifiedBackup = ReturnType<typeof verified>

type Options = Pick<RunOptions, 'signal'>

/** One row for each backup at a place. One that cannot be read is a row with its `error`. */
export async function list({ signal, ...place }: Place & Options): Promise<ListedBackup[]> {
  return withStorage(place, { signal }, async (storage, { scoped }) => {
    const { listBackups } = await import('../archive/list-backups.ts')
    return (await listBackups(storage, scoped)).map(listed)
  })
}

/** The newest generations of a backup, newest first. One that cannot be read is a row with its `error`. */
export async function listGenerations({
  signal,
  limit = 20,
  ...place
}: BackupPlace & Options & { limit?: number }): Promise<ListedGenerations> {
  return withStorage(place, { signal }, async (storage, { backupId, scoped }) => {
    if (!Number.isSafeInteger(limit) || limit < 1) {
      throw new KafkaBackupError('USAGE', `the limit of listGenerations cannot be ${limit}`)
    }
    const { listGenerationsOf } = await import('../archive/generations.ts')
    return listedGenerations(await listGenerationsOf(storage, named(backupId), { limit }, scoped))
  })
}

/** Which state of a backup is meant; without either, the newest. */
export interface StateChoice {
  generation?: number | undefined
  /** The newest complete generation that was committed by then; text as in a job file. */
  asOf?: Date | string | undefined
}

/** What the newest state of a backup, or the chosen one, holds. */
export async function describe({
  signal,
  generation,
  asOf,
  ...place
}: BackupPlace & StateChoice & Options): Promise<BackupDescription> {
  return withStorage(place, { signal }, async (storage, { backupId, scoped }) => {
    const { describeBackup } = await import('../archive/describe.ts')
    return described(await describeBackup(storage, named(backupId), await choiceOf({ generation, asOf }), scoped))
  })
}

/**
 * Checks that the newest state of a backup, or the chosen one, is whole: objects, sizes and offsets, and every byte with `deep`. Damage is a
 * result, not an error, as long as the manifest can be read. The result is stored with the backup, unless `record` is false or the store refuses it.
 */
export async function verify({
  signal,
  onProgress,
  deep = false,
  record = true,
  generation,
  asOf,
  ...place
}: BackupPlace & StateChoice & RunOptions & { deep?: boolean; record?: boolean }): Promise<VerifiedBackup> {
  return withStorage(place, { signal, onProgress }, async (storage, { backupId, scoped, tell }) => {
    const { verifyAt } = await import('../jobs/verify.ts')
    const options = { deep, record, onProgress: tell, ...(await choiceOf({ generation, asOf })) }
    return verified(await verifyAt(storage, named(backupId), options, scoped))
  })
}

interface Opened {
  backupId: string | undefined
  scoped: AbortSignal
  tell: NonNullable<RunOptions['onProgress']>
}

export async function withStorage<T>(
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

export function named(backupId: string | undefined): string {
  if (backupId !== undefined) return backupId
  throw new KafkaBackupError('USAGE', 'say which backup, with backupId or a job')
}

function listed(row: BackupSummary) {
  if ('error' in row) return { backupId: row.backup_id, error: row.error, code: row.code }
  return { ...camelKeys(row), ...verifications(row), ...drills(row) }
}

function listedGenerations({ generations, ...listing }: GenerationListing) {
  return {
    ...camelKeys(listing),
    generations: generations.map(one =>
      'error' in one
        ? { generation: one.generation, error: one.error, code: one.code, hold: holdOf(one) }
        : { ...camelKeys(one), hold: holdOf(one) },
    ),
  }
}

function holdOf({ hold }: GenerationListing['generations'][number]) {
  return hold && camelKeys(hold)
}

async function choiceOf({ generation, asOf }: StateChoice): Promise<GenerationChoice> {
  if (generation !== undefined && asOf !== undefined) {
    throw new KafkaBackupError('USAGE', 'give either generation or asOf, not both')
  }
  if (generation !== undefined && !(Number.isSafeInteger(generation) && generation > 0)) {
    throw new KafkaBackupError('USAGE', `there is no generation ${generation}`)
  }
  if (asOf === undefined) return { generation }
  const { parseTime } = await import('../lib/point-in-time.ts')
  const asOfMs = parseTime(asOf instanceof Date ? asOf.getTime() : asOf)
  if (typeof asOfMs === 'bigint') return { asOfMs }
  throw new KafkaBackupError('USAGE', `asOf ${asOfMs.wrong}`)
}

function described(description: Description) {
  return {
    ...camelKeys(description),
    ...verifications(description),
    ...drills(description),
    totals: camelKeys(description.totals),
    topics: description.topics.map(topic => ({
      ...camelKeys(topic),
      gaps: topic.gaps.map(gap => camelKeys(gap)),
      recoveryWindow: topic.recovery_window && {
        oldest: camelKeys(topic.recovery_window.oldest),
        newest: camelKeys(topic.recovery_window.newest),
      },
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

function verifications(read: LastVerifications) {
  const { last_verification: last, last_deep_verification: lastDeep, last_damage: lastDamage } = read
  return {
    lastVerification: last && camelKeys(last),
    lastDeepVerification: lastDeep && camelKeys(lastDeep),
    lastDamage: lastDamage && camelKeys(lastDamage),
  }
}

function drills({ last_drill: last, last_proven_drill: lastProven, last_failed_drill: lastFailed }: LastDrills) {
  return {
    lastDrill: last && camelKeys(last),
    lastProvenDrill: lastProven && camelKeys(lastProven),
    lastFailedDrill: lastFailed && camelKeys(lastFailed),
  }
}

function verified(report: RecordedReport) {
  return { ...camelKeys(report), gaps: report.gaps.map(gap => camelKeys(gap)), record: camelKeys(report.record) }
}
