import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { listGenerations, readGeneration } from './catalog.ts'
import { joinSnapshots } from './join-snapshots.ts'
import type { Manifest } from './manifest.ts'
import { readRegistry } from './read-registry.ts'
import type { RegistrySnapshot } from './registry-model.ts'
import { hasCarriedSchemas } from './registry-section.ts'

/**
 * The registry as the records of a generation need it; undefined where the backup has none. A record carries the ID of a schema that was registered
 * before it was written, so the first snapshot after the ends of the generation has all of them. Schemas that were
 * removed in between are taken from the snapshot before. With `addedAt` of an earlier reading, schemas that the backup has got
 * since do not count.
 */
export async function readRegistryAt(
  storage: Storage,
  manifest: Manifest,
  signal: AbortSignal,
  addedAt?: string,
): Promise<RegistrySnapshot | undefined> {
  const own = await readRegistry(storage, manifest, signal)
  if (!own || !hasCarriedSchemas(manifest)) return own
  const next = addedAt === '' ? undefined : await findNextSnapshot(storage, manifest, signal)
  const { generation } = manifest
  const none = { ...own, notice: noneLater(own, generation) }
  if (!next) return { ...none, addedAt: '' }
  const added = { addedAt: next.manifest.schema_registry?.backup_timestamp ?? '' }
  const later = await readLater(storage, next.manifest, signal)
  if (!later || later instanceof KafkaBackupError) {
    const why = later
      ? `; the next ones, of generation ${next.manifest.generation}, cannot be read: ${later.message}`
      : ''
    return { ...none, addedAt: '', notice: `${none.notice}${why}` }
  }
  const joined = joinSnapshots(own, later)
  if (joined) return { ...joined, ...added, ...(next.missing && { notice: notTheFirst(next, later) }) }
  const other = `the next ones, of generation ${next.manifest.generation}, give the same IDs to other schemas and are not used`
  return { ...none, ...added, notice: `${none.notice}; ${other}` }
}

/** The same for a restore that may have begun. Other schemas would select other records, and give other IDs to a part of them. */
export async function readRegistryOfRestore(
  storage: Storage,
  manifest: Manifest,
  began: string | undefined,
  signal: AbortSignal,
): Promise<RegistrySnapshot | undefined> {
  const snapshot = await readRegistryAt(storage, manifest, signal, began)
  if (began === undefined || snapshot?.addedAt === undefined || snapshot.addedAt === began) return snapshot
  const gone = `the restore began with the schemas that were read at ${began}, which the backup ${manifest.backup_id} does not have any more`
  throw new KafkaBackupError('RESTORE_REFUSED', gone, {
    help: 'A complete restore needs no other run. To begin an unfinished one again with the schemas that the backup has, delete its topics on the target.',
  })
}

/** The schemas of a generation that is not the one that is restored: damage to them must not stop it. */
async function readLater(storage: Storage, manifest: Manifest, signal: AbortSignal) {
  try {
    return await readRegistry(storage, manifest, signal)
  } catch (error) {
    if (hasCode(error, 'ARCHIVE_DAMAGED')) return error
    throw error
  }
}

function noneLater({ takenAt }: RegistrySnapshot, generation: number): string {
  return (
    `the schemas of generation ${generation} were read at ${takenAt}, before its last records were copied; ` +
    'schemas that were registered since are missing'
  )
}

function notTheFirst({ manifest, missing }: NextSnapshot, { takenAt }: RegistrySnapshot): string {
  const { from, to } = missing ?? { from: 0, to: 0 }
  const which = from === to ? `generation ${from}, which is` : `generations ${from} to ${to}, which are`
  return (
    `the next schemas in the backup are those of generation ${manifest.generation}, read at ${takenAt}; earlier ones may have been in ` +
    `${which} missing or damaged: schemas that were registered and removed in between are missing`
  )
}

/** The generation with the next schemas that the backup has. */
interface NextSnapshot {
  manifest: Manifest
  /** Generations right before it that cannot be read: they may have held schemas that were read earlier. */
  missing?: { from: number; to: number }
}

/** The first generation whose schemas were read later than those of this one. Carried schemas have the time of their reading. */
export async function findNextSnapshot(
  storage: Storage,
  of: Manifest,
  signal: AbortSignal,
): Promise<NextSnapshot | undefined> {
  const all = await listGenerations(storage, of.backup_id, signal)
  const later = all.filter(generation => generation > of.generation)
  const before = of.schema_registry?.backup_timestamp
  /** The newest one that is known to have the schemas of this one. */
  let last = of.generation
  const manifest = await findFirst([...later.keys()], async place => {
    const intact = await readNextIntact(storage, of.backup_id, later.slice(place), signal)
    const takenAt = intact?.schema_registry?.backup_timestamp
    if (takenAt !== undefined && takenAt !== before) return intact
    last = Math.max(last, intact?.generation ?? 0)
    return undefined
  })
  if (!manifest) return undefined
  const missing = { from: last + 1, to: manifest.generation - 1 }
  return { manifest, ...(missing.from <= missing.to && { missing }) }
}

/** The first one that can be read: one that is damaged, or was removed just now, must not keep an intact one from being restored. */
async function readNextIntact(
  storage: Storage,
  backupId: string,
  generations: readonly number[],
  signal: AbortSignal,
): Promise<Manifest | undefined> {
  for (const generation of generations) {
    try {
      return await readGeneration(storage, backupId, generation, signal)
    } catch (error) {
      if (!hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW', 'STORAGE_NOT_FOUND')) throw error
    }
  }
  return undefined
}

/** The first item that `find` answers for, where it answers for all behind it, too: few are asked, most of them near the beginning. */
export async function findFirst<T, R>(
  items: readonly T[],
  find: (item: T) => Promise<R | undefined>,
): Promise<R | undefined> {
  let found: R | undefined
  let low = 0
  let high = items.length
  for (let step = 1; low < high; ) {
    const at = found === undefined ? Math.min(low + step - 1, high - 1) : (low + high) >> 1
    const answer = await find(items[at] as T)
    if (answer === undefined) low = at + 1
    else {
      found = answer
      high = at
    }
    step *= 2
  }
  return found
}
