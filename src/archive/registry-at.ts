import { hasCode } from '../errors.ts'
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
  const later = next && (await readRegistry(storage, next, signal))
  const { generation } = manifest
  if (!next || !later) return { ...own, addedAt: '', notice: noneLater(own, generation) }
  const added = { addedAt: next.schema_registry?.backup_timestamp ?? '' }
  const joined = joinSnapshots(own, later)
  if (joined) return { ...joined, ...added }
  const other = `the next ones, of generation ${next.generation}, give the same IDs to other schemas and are not used`
  return { ...own, ...added, notice: `${noneLater(own, generation)}; ${other}` }
}

function noneLater({ takenAt }: RegistrySnapshot, generation: number): string {
  return (
    `the schemas of generation ${generation} were read at ${takenAt}, before its last records were copied; ` +
    'schemas that were registered since are missing'
  )
}

/** The first generation whose schemas were read later than those of this one. Carried schemas have the time of their reading. */
export async function findNextSnapshot(
  storage: Storage,
  of: Manifest,
  signal: AbortSignal,
): Promise<Manifest | undefined> {
  const all = await listGenerations(storage, of.backup_id, signal)
  const later = all.filter(generation => generation > of.generation)
  const before = of.schema_registry?.backup_timestamp
  return findFirst(later, async generation => {
    const manifest = await readIfIntact(storage, of.backup_id, generation, signal)
    const takenAt = manifest?.schema_registry?.backup_timestamp
    return takenAt === undefined || takenAt === before ? undefined : manifest
  })
}

/** A later generation that is damaged, or was removed just now, must not keep an intact one from being restored. */
async function readIfIntact(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<Manifest | undefined> {
  try {
    return await readGeneration(storage, backupId, generation, signal)
  } catch (error) {
    if (hasCode(error, 'ARCHIVE_DAMAGED') || hasCode(error, 'STORAGE_NOT_FOUND')) return undefined
    throw error
  }
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
