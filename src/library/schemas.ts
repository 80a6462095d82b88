import { KafkaBackupError } from '../errors.ts'
import type { ChosenSide } from '../jobs/schema-sides.ts'
import type { SchemaRestoreDryRun, SchemaRestoreReport } from '../jobs/schemas.ts'
import type { SchemaBackupReport } from '../registry/backup-schemas.ts'
import type { SchemaDiff, SchemaListing } from '../registry/schema-listing.ts'
import { clusterlessJobOf, type SchemaJobInput } from './job.ts'
import { type Encryption, encryptionOf } from './place.ts'
import { type RunOptions, runWatched } from './run.ts'

/** What holds schemas: a backup at a location, the backup or the registry of a job, or a registry without a login. */
export type SchemaPlace =
  | {
      location: string
      backupId: string
      encryption?: Encryption
      generation?: number | undefined
      job?: undefined
      registry?: undefined
    }
  | {
      job: SchemaJobInput
      from?: 'backup' | undefined
      backupId?: string | undefined
      generation?: number | undefined
      location?: undefined
      registry?: undefined
    }
  | { job: SchemaJobInput; from: 'registry'; location?: undefined; registry?: undefined }
  | { registry: string; job?: undefined; location?: undefined }

const leavesNothing = 'Nothing was changed.'

/**
 * Commits the schema registry of a job as a new generation of its backup, with the topics as they were. Kafka is not
 * contacted. A registry that has not changed makes no generation (`isChanged`).
 */
export async function backupSchemas(
  job: SchemaJobInput<'backup'>,
  options: RunOptions = {},
): Promise<SchemaBackupReport> {
  return runWatched(options, leavesNothing, async (onProgress, signal) => {
    const [{ backupSchemasJob }, loaded] = await Promise.all([
      import('../jobs/schemas.ts'),
      clusterlessJobOf(job, 'backup'),
    ])
    return backupSchemasJob(loaded, { onProgress }, signal)
  })
}

/**
 * Brings the schemas of a backup to the registry of a job, and nothing else. Kafka is not contacted. Blockers
 * is a RestoreRefusal before the first write; a dry run has it as its result.
 */
export async function restoreSchemas(
  job: SchemaJobInput<'restore'>,
  options: RunOptions & { dryRun: true },
): Promise<SchemaRestoreDryRun>
export async function restoreSchemas(
  job: SchemaJobInput<'restore'>,
  options?: RunOptions & { dryRun?: false },
): Promise<SchemaRestoreReport>
export async function restoreSchemas(
  job: SchemaJobInput<'restore'>,
  { dryRun, ...options }: RunOptions & { dryRun?: boolean } = {},
): Promise<SchemaRestoreReport | SchemaRestoreDryRun> {
  const leaves = dryRun ? leavesNothing : 'What is registered stays; restore with the same job to continue.'
  return runWatched(options, leaves, async (onProgress, signal) => {
    const [jobs, loaded] = await Promise.all([import('../jobs/schemas.ts'), clusterlessJobOf(job, 'restore')])
    return dryRun
      ? jobs.dryRunSchemasJob(loaded, { onProgress }, signal)
      : jobs.restoreSchemasJob(loaded, { onProgress }, signal)
  })
}

/** The subjects of a backup or of a registry. */
export async function listSchemas({ signal, onProgress, ...place }: SchemaPlace & RunOptions): Promise<SchemaListing> {
  return runWatched({ signal, onProgress }, leavesNothing, async (onProgress, scoped) => {
    const { listSchemasJob } = await import('../jobs/schemas.ts')
    return listSchemasJob((await sideOf(place)).side, { onProgress }, scoped)
  })
}

/**
 * Compares two places, each a backup or a registry. A difference is a result, not an error. Where the right one is the
 * registry of a restore job, the left one is compared as that job restores it. With `ids`, IDs have to be the same.
 */
export async function diffSchemas(
  left: SchemaPlace,
  right: SchemaPlace,
  { ids = false, ...options }: RunOptions & { ids?: boolean } = {},
): Promise<SchemaDiff> {
  return runWatched(options, leavesNothing, async (onProgress, signal) => {
    const [{ diffSchemasJob }, { restoredBy }] = await Promise.all([
      import('../jobs/schemas.ts'),
      import('../jobs/schema-sides.ts'),
    ])
    const [ours, theirs] = [await sideOf(left), await sideOf(right)]
    const compared = { wantsIds: ids, ...restoredBy(ours, theirs) }
    return diffSchemasJob(ours.side, theirs.side, compared, { onProgress }, signal)
  })
}

async function sideOf(place: SchemaPlace): Promise<ChosenSide> {
  const sides = await import('../jobs/schema-sides.ts')
  if (place.registry !== undefined) return { side: sides.urlSide(place.registry) }
  if (place.location !== undefined) {
    if (place.backupId === undefined) throw new KafkaBackupError('USAGE', 'say which backup, with backupId or a job')
    const side = sides.locatedSide(place.location, place.backupId, place.generation)
    if (place.encryption === undefined) return { side }
    return { side: { ...side, encryption: await encryptionOf(place.encryption) } as typeof side }
  }
  if (place.job === undefined) throw new KafkaBackupError('USAGE', 'give a location, a job or a registry')
  const job = await clusterlessJobOf(place.job, undefined)
  if (place.from === 'registry') return { job, side: sides.jobRegistrySide(job) }
  return { job, side: sides.jobBackupSide(job, place.backupId, place.generation) }
}
