import type { ClusterlessJob, Job } from '../config/load-job.ts'
import { KafkaBackupError } from '../errors.ts'
import type { StoragePlace } from '../jobs/encryption.ts'
import { clusterlessJobOf, type RestoreJobDocument, type SchemaJobInput } from './job.ts'

/** `encryption` of a job file: what opens encrypted backups. Without it the environment may say it, as for commands. */
export type Encryption = NonNullable<RestoreJobDocument['encryption']>

/** A folder, an `s3://bucket/prefix`, `az://container/prefix` or `gs://bucket/prefix`, or where a job keeps its backups. */
export type Place =
  | { location: string; encryption?: Encryption; job?: undefined }
  | { job: SchemaJobInput; location?: undefined; encryption?: undefined }

interface FoundPlace {
  at: StoragePlace
  backupId: string | undefined
  /** Where the place was given as one. */
  job?: ClusterlessJob
}

export async function findPlace({
  location,
  job,
  backupId,
  encryption,
}: Place & { backupId?: string | undefined }): Promise<FoundPlace> {
  if (job !== undefined) {
    const loaded = await clusterlessJobOf(job, undefined)
    return { at: loaded, backupId: backupId ?? loaded.backupId, job: loaded }
  }
  if (typeof location !== 'string') throw new KafkaBackupError('USAGE', 'give a location or a job')
  const { parseLocation } = await import('../storage/location.ts')
  const keys = encryption && { encryption: await encryptionOf(encryption) }
  return { at: { storage: parseLocation(location), ...keys }, backupId }
}

/** The keys of a call, checked as those of a job file. */
export async function encryptionOf(encryption: Encryption): Promise<NonNullable<Job['encryption']>> {
  const { readEncryption } = await import('../config/load-job.ts')
  return readEncryption(encryption, { source: 'the call' })
}
