import type { Job, JobDocuments } from '../config/load-job.ts'
import { type EncryptedStorage, withEncryption } from '../encryption/encrypted-storage.ts'
import { environmentSources, type KeySource, loadCredentials } from '../encryption/load-credentials.ts'
import { KafkaBackupError } from '../errors.ts'
import { systemClock } from '../lib/clock.ts'
import type { StorageOptions } from '../storage/location.ts'
import type { Storage } from '../storage/storage.ts'

/** A store, and the keys to what is in it. Every job is one. */
export interface StoragePlace {
  storage: StorageOptions
  /** Of what writes; undefined for what only reads. */
  mode?: Job['mode'] | undefined
  backupId?: string
  encryption?: NonNullable<Job['encryption']>
  /** Key files beside those of the job. */
  keyFiles?: readonly string[]
}

/** Of a place, only what says how to open its backups. */
export type PlaceKeys = Pick<StoragePlace, 'encryption' | 'keyFiles'>

export function keysOf({ encryption, keyFiles = [] }: PlaceKeys): PlaceKeys {
  return { ...(encryption && { encryption }), ...(keyFiles.length > 0 && { keyFiles }) }
}

/**
 * Opens the backups of a place that are encrypted. The keys are those of the job; where it has none, the key files that were
 * given and those of the environment. A job that makes backups does not look at the environment: whether its backup is
 * encrypted is for the job to say.
 */
export function openEncryption(storage: Storage, place: StoragePlace): EncryptedStorage {
  const { encryption, backupId } = place
  const sources = sourcesOf(place)
  const isOfBackup = place.mode === 'backup'
  const hideNames = isOfBackup ? encryption?.hideNames : undefined
  let loading: ReturnType<typeof loadCredentials> | undefined
  return withEncryption(storage, {
    loadCredentials: () => {
      loading ??= loadCredentials(sources, process.env)
      return loading
    },
    hasCredentials: sources.length > 0,
    mayAskKms: !isOfBackup && encryption === undefined,
    clock: systemClock,
    // Key files that were given open what is there; they are no recipients.
    ...(encryption &&
      backupId !== undefined && {
        own: { backupId, hideNames, loadRecipients: () => loadCredentials(encryption.recipients, process.env) },
      }),
  })
}

function sourcesOf({ encryption, mode, keyFiles = [] }: StoragePlace): KeySource[] {
  const files = keyFiles.map(keyFile => ({ keyFile }))
  if (encryption) return [...files, ...encryption.recipients]
  return mode === 'backup' ? files : [...files, ...environmentSources(process.env)]
}

/** The section of a job, without a job around it. */
export async function parseEncryption(
  encryption: NonNullable<JobDocuments['restore']['encryption']>,
): Promise<NonNullable<Job['encryption']>> {
  const { readJob } = await import('../config/load-job.ts')
  const target = { bootstrap_servers: ['localhost:9092'] }
  const document = {
    mode: 'restore',
    backup_id: 'any',
    target,
    storage: { backend: 'filesystem', path: '.' },
    encryption,
  }
  const job = readJob<'restore'>(document as JobDocuments['restore'], { mode: 'restore', source: 'the call' })
  if (!job.encryption) throw new KafkaBackupError('INTERNAL', 'a section of a job was lost')
  return job.encryption
}
