import { hasCode, type KafkaBackupError } from '../errors.ts'
import type { Storage, StoredObject } from '../storage/storage.ts'
import { damaged } from './damage.ts'
import { manifestKey } from './layout.ts'
import { LOG_VERSION } from './log/document.ts'
import { findNewestCommit, listCommits } from './log/list-commits.ts'
import { isLogMarker, logMarker, MAX_MARKER_BYTES } from './log/marker.ts'
import { readCommit } from './log/read-commit.ts'
import { createMarker } from './log/start-log.ts'
import { parseManifest } from './manifest.ts'

/** What lies in `manifests/`, by generation, oldest first. */
type Manifests = ReadonlyMap<number, StoredObject>

/** Commits of version 2 are there, and the marker that says so is not, or cannot be read. */
export interface LostMarker {
  /** Where it was, or where it can be written again: the numbers of version 1 are lower, those of commits are not. */
  generation: number
  key: string
  /** The newest commit. */
  newest: number
  /** Completes the sentence that the key begins. */
  predicate: string
  /** A damaged object is in its place. */
  isThere: boolean
  /** False where the numbers of manifests and commits overlap: then nothing shows which of them continue the backup. */
  isRepairable: boolean
  /** For a caller that needs the marker. */
  error: KafkaBackupError
}

/** Nothing may be added to such a backup: a writer would begin a second line of generations. `known` is the newest commit, where it was read. */
export async function findLostMarker(
  storage: Storage,
  backupId: string,
  manifests: Manifests,
  signal: AbortSignal,
  known?: { commit: number | undefined },
): Promise<LostMarker | undefined> {
  if ((await kindOfNewest(storage, manifests, signal)) === 'marker') return undefined
  const newest = known ? known.commit : await findNewestCommit(storage, backupId, signal)
  if (newest === undefined) return undefined
  const last = [...manifests.keys()].at(-1) ?? 0
  const kind = await kindOfNewest(storage, manifests, signal, { readsLarge: true })
  // A writer of a newer version begins behind the commits of version 2.
  const isChanged = kind === 'newer' && newest >= last && (await isOfVersion2(storage, backupId, newest, signal))
  if (kind === 'newer' && !isChanged) return undefined
  const [oldest = newest] = await listCommits(storage, backupId, signal)
  const isThere = kind === 'damaged' || isChanged
  const generation = isThere ? last : Math.max(oldest, last)
  const isRepairable = isThere ? last <= oldest || isOfMarker(manifests, oldest) : last < oldest
  const state = isRepairable ? (isThere ? 'is damaged' : 'is missing') : 'is not the marker of format version 2'
  const predicate = `${state}: it has to say that the generations up to ${newest} are commits of format version 2`
  const key = manifestKey(backupId, generation)
  const error = errorOf(key, predicate, isRepairable)
  return { generation, key, newest, predicate, isThere, isRepairable, error }
}

/**
 * Whether the newest object, which is damaged, was the marker although commits have lower numbers: a copy that was killed leaves one for a
 * generation that a later copy may not bring. Manifests of version 1 are larger, and one of them would follow others.
 */
function isOfMarker(manifests: Manifests, oldest: number): boolean {
  const [newest, before] = [...manifests].reverse()
  return newest !== undefined && newest[1].size <= MAX_MARKER_BYTES && (before?.[0] ?? 0) < oldest
}

async function isOfVersion2(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await readCommit(storage, backupId, generation, signal)
    return true
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW')) throw error
    return false
  }
}

function errorOf(key: string, predicate: string, isRepairable: boolean): KafkaBackupError {
  const help = isRepairable
    ? '`kafka-backup repair` writes it again. Until then, --generation and --as-of open the generations. If the backup was to be deleted, `kafka-backup delete` removes the rest.'
    : 'Restore the object from a copy of the backup, or from an earlier version of the object in the bucket.'
  return damaged(key, predicate, { help })
}

/** Writes the marker again. An object that is not one, in its place, is replaced: no program can read it. */
export async function rewriteMarker(
  storage: Storage,
  backupId: string,
  lost: LostMarker,
  signal: AbortSignal,
): Promise<void> {
  if (!lost.isRepairable) throw lost.error
  if (lost.isThere) await storage.replace(lost.key, logMarker, signal)
  else await createMarker(storage, backupId, lost.generation, signal)
}

/**
 * What the newest object in `manifests/` is. A damaged one must not hide the generations before it, nor commits behind it. What is larger than a
 * marker is taken for a manifest without reading it, unless the caller knows of commits.
 */
export async function kindOfNewest(
  storage: Storage,
  manifests: Manifests,
  signal: AbortSignal,
  { readsLarge = false }: { readsLarge?: boolean } = {},
): Promise<'marker' | 'manifest' | 'damaged' | 'newer'> {
  const newest = [...manifests.values()].at(-1)
  if (!newest || (newest.size > MAX_MARKER_BYTES && !readsLarge)) return 'manifest'
  let bytes: Buffer | undefined
  try {
    bytes = await storage.read(newest.key, signal)
    if (isLogMarker(bytes)) return 'marker'
    parseManifest(bytes, newest.key)
    return 'manifest'
  } catch (error) {
    if (hasCode(error, 'ARCHIVE_DAMAGED', 'STORAGE_NOT_FOUND')) return 'damaged'
    if (hasCode(error, 'ARCHIVE_TOO_NEW')) return !bytes || isNewer(bytes) ? 'newer' : 'damaged'
    throw error
  }
}

/** Of a version that this program does not know; a damaged marker of version 2 is not. It is JSON. */
function isNewer(bytes: Buffer): boolean {
  const { format, format_version } = JSON.parse(bytes.toString('utf8'))
  return format === 'kafka-backup' && format_version > LOG_VERSION
}
