import { backupNotFound, listGenerations } from '../archive/catalog.ts'
import { sealJson } from '../archive/seal.ts'
import type { CopyOptions, CopyReport, Sides } from '../copy/sides.ts'
import type { EncryptedStorage } from '../encryption/encrypted-storage.ts'
import type { OpenKeys } from '../encryption/open-keys.ts'
import { KafkaBackupError } from '../errors.ts'
import { parseJson } from '../lib/json.ts'
import { assertWriteOnceLocation } from '../storage/check-location.ts'
import { formatLocation } from '../storage/location.ts'
import type { StoragePlace } from './encryption.ts'
import { withLeaseAt } from './leases.ts'
import { assertExists, type Hooks, withStorage } from './parts.ts'

export interface CopyPlaces {
  from: StoragePlace
  /** With `encryption` the copy is encrypted so; without it as the source is. */
  to: StoragePlace
  /** The copy of an encrypted backup is not to be encrypted. */
  decrypt?: boolean | undefined
}

/** Both locations, opened. */
export interface Copies {
  from: string
  to: string
  /** Of all backups at the source. */
  listIds(signal: AbortSignal): Promise<string[]>
  copy(backupId: string, options: CopyOptions, signal: AbortSignal): Promise<CopyReport>
}

/** Opens both locations for the time of the work. The source must be there, the target is made where it is not. */
export function withCopies<T>(
  places: CopyPlaces,
  hooks: Hooks,
  signal: AbortSignal,
  work: (copies: Copies) => Promise<T>,
): Promise<T> {
  const { from, to, decrypt = false } = places
  const [here, there] = [formatLocation(from.storage), formatLocation(to.storage)]
  if (here === there) throw new KafkaBackupError('USAGE', `source and target of the copy are both ${here}`)
  if (decrypt && to.encryption) {
    throw new KafkaBackupError('USAGE', 'the job of the target has `encryption`, which --decrypt contradicts')
  }
  return withStorage({ ...from, mode: undefined }, hooks, async source => {
    await assertExists({ options: from.storage, storage: source }, signal)
    const { listBackupIds } = await import('../archive/catalog.ts')
    return work({
      from: source.location,
      to: there,
      listIds: scoped => listBackupIds(source, scoped),
      copy: (backupId, options, scoped) => copyOne(source, places, backupId, options, hooks, scoped),
    })
  })
}

async function copyOne(
  source: EncryptedStorage,
  places: CopyPlaces,
  backupId: string,
  options: CopyOptions,
  hooks: Hooks,
  signal: AbortSignal,
): Promise<CopyReport> {
  const { copyBackup } = await import('../copy/copy-backup.ts')
  if ((await listGenerations(source, backupId, signal)).length === 0) {
    throw await backupNotFound(source, backupId, signal)
  }
  const keys = await source.existingKeys(backupId, signal)
  const place = targetPlace(places, backupId, keys)
  return withStorage(place, hooks, async target => {
    await assertEncryptionFits({ source, target }, places, backupId, keys, signal)
    // A dry run writes nothing: no lease and no keys either.
    if (options.dryRun) return copyBackup({ source, target }, backupId, options, signal)
    await assertWriteOnceLocation({ options: place.storage, storage: target }, signal)
    const reader = { backupId, role: 'reader', kind: 'copy' } as const
    const writer = { ...reader, role: 'writer' } as const
    return withLeaseAt(source, reader, hooks, signal, () =>
      withLeaseAt(target, writer, hooks, signal, async lease => {
        const sides = await openSides({ source, target }, places, backupId, keys, hooks, signal)
        return copyBackup({ ...sides, assertHeld: () => lease?.assertHeld() }, backupId, options, signal)
      }),
    )
  })
}

/** With which keys the target is opened. Names of topics in the keys of objects are copied as they are, hidden or not. */
function targetPlace({ from, to }: CopyPlaces, backupId: string, keys: OpenKeys | undefined): StoragePlace {
  const { storage, encryption, keyFiles = [] } = to
  const hideNames = keys?.section.hide_names ?? false
  if (encryption?.hideNames && !hideNames) {
    throw new KafkaBackupError(
      'ENCRYPTION_MISMATCH',
      `the names of topics are in the keys of the backup \`${backupId}\`, and a copy does not rename objects`,
      { help: 'Remove `encryption.hide_names` from the job of the target, or make a new backup with hidden names.' },
    )
  }
  if (encryption) return { storage, backupId, mode: 'backup', encryption: { ...encryption, hideNames }, keyFiles }
  return { storage, ...(from.encryption && { encryption: from.encryption }), keyFiles: from.keyFiles ?? [] }
}

interface OpenSides {
  source: EncryptedStorage
  target: EncryptedStorage
}

/** Refuses what the target holds, before anything is written. A target with a job of its own tells when it is opened. */
async function assertEncryptionFits(
  sides: OpenSides,
  { to, decrypt = false }: CopyPlaces,
  backupId: string,
  keys: OpenKeys | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (to.encryption) return
  const { assertCarries, isEncrypted } = await import('../encryption/carry-keys.ts')
  if (keys && !decrypt) return assertCarries(sides, backupId, signal)
  if (!(await isEncrypted(sides.target, backupId, signal))) return
  throw decrypt ? stillEncrypted(backupId, sides.target) : onlyThere(backupId, sides.target)
}

async function openSides(
  { source, target }: OpenSides,
  { to, decrypt = false }: CopyPlaces,
  backupId: string,
  keys: OpenKeys | undefined,
  { onProgress }: Hooks,
  signal: AbortSignal,
): Promise<Sides> {
  if (keys && !to.encryption && !decrypt) {
    const { carryKeys } = await import('../encryption/carry-keys.ts')
    const kept = await carryKeys({ source, target }, backupId, signal)
    if (kept) onProgress({ type: 'warning', message: kept })
    return { source, target }
  }
  const own = to.encryption && (await target.keysFor(backupId, signal))
  return keys || own ? { source, target, adaptManifest: bytes => adapt(bytes, own) } : { source, target }
}

/** The manifest with what the target says of encryption; all else stays as it is, in the same order. */
function adapt(bytes: Buffer, own: OpenKeys | undefined): Buffer {
  const fields = Object.entries(parseJson(bytes.toString('utf8')) as object)
  const others = fields.filter(([field]) => field !== 'encryption' && field !== 'checksum')
  return sealJson({ ...Object.fromEntries(others), ...(own && { encryption: own.section }) })
}

function stillEncrypted(backupId: string, { location }: EncryptedStorage): KafkaBackupError {
  const message = `the backup \`${backupId}\` at ${location} is encrypted already, and --decrypt is not to change that`
  return new KafkaBackupError('ENCRYPTION_MISMATCH', message, { help: 'Copy to another location.' })
}

function onlyThere(backupId: string, { location }: EncryptedStorage): KafkaBackupError {
  const message = `the backup \`${backupId}\` at ${location} is encrypted, and the source is not`
  return new KafkaBackupError('ENCRYPTION_MISMATCH', message, {
    help: 'Give its `encryption` by `--to-config`, or copy to another location.',
  })
}
