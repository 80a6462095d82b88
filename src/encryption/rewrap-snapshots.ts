import { hasCode, KafkaBackupError } from '../errors.ts'
import { type Clock, formatUtc } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import type { Credential } from './credential.ts'
import { readKeysFile } from './key-book.ts'
import { type KeysFile, keysKey } from './keys-file.ts'
import { openKeys } from './open-keys.ts'
import { describeRecipient, recipientId } from './recipients.ts'
import {
  createSnapshotKeys,
  isFor,
  listSnapshotKeys,
  opensWithEach,
  readSnapshotKeys,
  SNAPSHOTS,
} from './snapshot-keys.ts'

interface SnapshotRewrapOptions {
  /** The keys file of the backup before the rewrap. */
  former: KeysFile
  recipients: readonly Credential[]
  present: readonly Credential[]
}

export interface SnapshotRewrap {
  /** Keys files whose snapshots the new recipients can decrypt now. */
  rewrapped: number
  /** Keys files that former recipients can still open, and why. */
  kept: { key: string; reason: string }[]
}

const TRIES = 5

/**
 * Wraps the data keys of offset snapshots that were taken for the former recipients of a backup, or for some of them, for its new
 * recipients. A file that another backup at the location needs stays as well. No snapshot is touched.
 */
export async function rewrapSnapshots(
  storage: Storage,
  options: SnapshotRewrapOptions,
  clock: Clock,
  signal: AbortSignal,
): Promise<SnapshotRewrap> {
  const { former, recipients } = options
  const done: SnapshotRewrap = { rewrapped: 0, kept: [] }
  const names = namesOf(former)
  for await (const file of readSnapshotKeys(storage, await listSnapshotKeys(storage, signal), signal)) {
    if (!file.recipients.every(one => names.has(nameOf(one)))) continue
    if (isFor(file, recipients) && (await opensWithEach(file, recipients, signal))) continue
    const reason = await rewrapFile(storage, file, options, clock, signal)
    if (reason === undefined || reason.isWrapped) done.rewrapped++
    if (reason) done.kept.push({ key: keysKey(SNAPSHOTS, file.version), reason: reason.text })
  }
  return done
}

/** Why the older file is still there; undefined where it is not. */
async function rewrapFile(
  storage: Storage,
  file: KeysFile,
  { former, recipients, present }: SnapshotRewrapOptions,
  clock: Clock,
  signal: AbortSignal,
): Promise<{ isWrapped: boolean; text: string } | undefined> {
  let opened: Awaited<ReturnType<typeof openKeys>>
  try {
    // Not whatever KMS key the file names: what it unwraps is to be trusted from now on.
    opened = await openKeys(file, { credentials: [...present, ...recipients], mayAskKms: false }, signal)
  } catch (error) {
    if (!hasCode(error, 'ENCRYPTION_KEY')) throw error
    return { isWrapped: false, text: `no key that was given opens it: ${error.message}` }
  }
  const [stored] = file.data_keys
  const createdAt = stored?.created_at ?? file.created_at
  await createFor(storage, { recipients, dataKey: { ...opened.current, createdAt } }, clock, signal)
  const user = await findOtherUser(storage, file, { former, recipients }, signal)
  if (user !== undefined) return { isWrapped: true, text: user }
  try {
    await storage.remove(keysKey(SNAPSHOTS, file.version), signal)
    return undefined
  } catch (error) {
    if (!hasCode(error, 'STORAGE_DENIED', 'STORAGE_RETAINED')) throw error
    return { isWrapped: true, text: `it cannot be removed: ${error.message}` }
  }
}

/** Reads the file back: the older one goes only when each of the recipients opens the new one. */
async function createFor(
  storage: Storage,
  wanted: Pick<Parameters<typeof createSnapshotKeys>[1], 'recipients' | 'dataKey'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const versions = await listSnapshotKeys(storage, signal)
    try {
      const created = { ...wanted, createdAt: formatUtc(clock.now()) }
      const { version } = await createSnapshotKeys(storage, created, versions, signal)
      for await (const file of readSnapshotKeys(storage, [version], signal)) {
        if (await opensWithEach(file, wanted.recipients, signal)) return
      }
      throw new KafkaBackupError('INTERNAL', 'the keys that were written are not those that were read back')
    } catch (error) {
      if (!hasCode(error, 'STORAGE_EXISTS') || attempt === TRIES) throw error
    }
  }
}

/** Another backup at the location that has a recipient of the file which this one has no more. */
async function findOtherUser(
  storage: Storage,
  file: KeysFile,
  { former, recipients }: Pick<SnapshotRewrapOptions, 'former' | 'recipients'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const still = new Set(recipients.map(one => `${one.kind} ${recipientId(one)}`))
  // Passphrases have the name that a job gives them, and may differ under one name.
  const gone = file.recipients.filter(one => one.kind === 'passphrase' || !still.has(nameOf(one)))
  for await (const folder of storage.listFolders('', signal)) {
    if (folder === former.backup_id || folder === SNAPSHOTS) continue
    const names = await namesAt(storage, folder, signal)
    const user = gone.find(one => names.has(nameOf(one)))
    if (user) return `backup \`${folder}\` still opens with ${describeRecipient(user)}`
  }
  return undefined
}

async function namesAt(storage: Storage, backupId: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
  try {
    const file = await readKeysFile(storage, backupId, signal)
    return file ? namesOf(file) : new Set()
  } catch (error) {
    // A damaged file opens nothing.
    if (!hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW')) throw error
    return new Set()
  }
}

function namesOf({ recipients }: KeysFile): ReadonlySet<string> {
  return new Set(recipients.map(nameOf))
}

function nameOf({ kind, id }: KeysFile['recipients'][number]): string {
  return `${kind} ${id}`
}
