import type { KeysFile } from '../encryption/keys-file.ts'
import { environmentSources, type KeySource, loadCredentials } from '../encryption/load-credentials.ts'
import type { SnapshotRewrap } from '../encryption/rewrap-snapshots.ts'
import { systemClock } from '../lib/clock.ts'
import { openStorage } from '../storage/open-storage.ts'
import type { Storage } from '../storage/storage.ts'
import type { StoragePlace } from './encryption.ts'
import { assertExists } from './parts.ts'

/** An encrypted backup. */
export interface KeyPlace extends StoragePlace {
  backupId: string
}

/** Who opens a backup, in words and without any secret. */
export interface KeyListing {
  backupId: string
  location: string
  /** Of the keys file. */
  version: number
  createdAt: string
  hideNames: boolean
  /** The last one is what is written with now. */
  dataKeys: { id: string; createdAt: string }[]
  recipients: { kind: string; id: string; name: string | null }[]
}

export interface RewrapRequest {
  /** In place of the recipients of the job. */
  recipientFiles: readonly string[]
  isDataKeyNew: boolean
  /** Keys of AWS KMS that open the backup today. */
  kmsKeys: readonly string[]
}

export interface RewrapReport extends KeyListing {
  /** Older keys files of the backup. */
  removed: number
  snapshots: SnapshotRewrap
}

/** Needs no key: what it shows is what the store holds in the clear. */
export async function listKeysJob(place: KeyPlace, signal: AbortSignal): Promise<KeyListing> {
  return withRawStorage(place, signal, async storage => {
    const { requireKeysFile } = await import('../encryption/rewrap.ts')
    return listingOf(await requireKeysFile(storage, place.backupId, signal), storage)
  })
}

/** Makes the recipients of a job, or those that are given, the only ones that open its backup. */
export async function rewrapKeysJob(
  place: KeyPlace,
  { recipientFiles, isDataKeyNew, kmsKeys }: RewrapRequest,
  signal: AbortSignal,
): Promise<RewrapReport> {
  const { encryption, keyFiles = [], backupId } = place
  const wanted: readonly KeySource[] =
    recipientFiles.length > 0 ? recipientFiles.map(keyFile => ({ keyFile })) : (encryption?.recipients ?? [])
  const own = recipientFiles.length > 0 ? (encryption?.recipients ?? []) : []
  const given = [...keyFiles.map(keyFile => ({ keyFile })), ...kmsKeys.map(keyId => ({ awsKms: { keyId } }))]
  const held = [...given, ...own, ...environmentSources(process.env)]
  const recipients = await loadCredentials(wanted, process.env)
  const present = await loadCredentials(held, process.env)
  return withRawStorage(place, signal, async storage => {
    const { rewrapKeys } = await import('../encryption/rewrap.ts')
    const request = { backupId, recipients, present, isDataKeyNew }
    const { file, removed, snapshots } = await rewrapKeys(storage, request, systemClock, signal)
    return { ...listingOf(file, storage), removed, snapshots }
  })
}

/** A new key: in a file, or as its text where no file is wanted. */
export async function newKeyJob(out: string | undefined): Promise<{ id: string; file?: string; text?: string }> {
  const { newKey, writeKeyFile } = await import('../encryption/load-credentials.ts')
  const key = newKey()
  if (out === undefined) return key
  await writeKeyFile(out, key)
  return { id: key.id, file: out }
}

async function withRawStorage<T>(
  { storage: options }: StoragePlace,
  signal: AbortSignal,
  work: (storage: Storage) => Promise<T>,
): Promise<T> {
  const storage = openStorage(options)
  try {
    await assertExists({ options, storage }, signal)
    return await work(storage)
  } finally {
    await storage.close()
  }
}

function listingOf(file: KeysFile, { location }: Storage): KeyListing {
  return {
    backupId: file.backup_id,
    location,
    version: file.version,
    createdAt: file.created_at,
    hideNames: file.hide_names,
    dataKeys: file.data_keys.map(({ id, created_at }) => ({ id, createdAt: created_at })),
    recipients: file.recipients.map(one => ({
      kind: one.kind,
      id: one.id,
      name: 'name' in one && one.name !== undefined ? one.name : null,
    })),
  }
}
