import type { Job } from '../config/load-job.ts'
import { type EncryptedStorage, withEncryption } from '../encryption/encrypted-storage.ts'
import { environmentSources, type KeySource, loadCredentials } from '../encryption/load-credentials.ts'
import { SnapshotVault } from '../encryption/snapshot-vault.ts'
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
  /** Key files in addition to those of the job. */
  keyFiles?: readonly string[]
  /** Called at the end with the backups that were read, where none of them is encrypted although key files were given. */
  onUnusedKey?: (backupIds: readonly string[]) => void
}

/** Of a place, only what says how to open its backups. */
export type PlaceKeys = GivenKeys & Pick<StoragePlace, 'encryption'>

/** What `--key-file` says. */
export type GivenKeys = Pick<StoragePlace, 'keyFiles' | 'onUnusedKey'>

export function keysOf({ encryption, keyFiles = [], onUnusedKey }: PlaceKeys): PlaceKeys {
  const given = keyFiles.length > 0 && { keyFiles, ...(onUnusedKey && { onUnusedKey }) }
  return { ...(encryption && { encryption }), ...given }
}

/**
 * Opens the backups of a place that are encrypted. The keys are those of the job; where it has none, the key files that were
 * given and those of the environment. A job that makes backups does not look at the environment: whether its backup is
 * encrypted is for the job to say.
 */
export function openEncryption(storage: Storage, place: StoragePlace): EncryptedStorage {
  const { encryption, backupId, keyFiles = [], onUnusedKey } = place
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
    ...(keyFiles.length > 0 && onUnusedKey && { onUnused: onUnusedKey }),
    // Key files decrypt existing backups; they are not recipients.
    ...(encryption &&
      backupId !== undefined && {
        own: { backupId, hideNames, loadRecipients: () => loadCredentials(encryption.recipients, process.env) },
      }),
  })
}

/** What encrypts offset snapshots: the keys that open backups there. Those of a job are the recipients of new ones. */
export function openSnapshotVault(storage: Storage, keys: PlaceKeys): SnapshotVault {
  const { encryption } = keys
  const sources = sourcesOf(keys)
  return new SnapshotVault(storage, {
    loadCredentials: () => loadCredentials(sources, process.env),
    loadRecipients: () => loadCredentials(encryption?.recipients ?? sources, process.env),
    hasCredentials: sources.length > 0,
    mayAskKms: encryption === undefined,
    clock: systemClock,
  })
}

function sourcesOf({ encryption, mode, keyFiles = [] }: PlaceKeys & Pick<StoragePlace, 'mode'>): KeySource[] {
  const files = keyFiles.map(keyFile => ({ keyFile }))
  if (encryption) return [...files, ...encryption.recipients]
  return mode === 'backup' ? files : [...files, ...environmentSources(process.env)]
}
