import { readManifest } from '../archive/catalog.ts'
import { problemOf } from '../archive/damage.ts'
import { indexRefsOf, readIndex } from '../archive/indexes.ts'
import { manifestKey } from '../archive/layout.ts'
import { type Manifest, parseManifest } from '../archive/manifest.ts'
import { objectsOf } from '../archive/named-objects.ts'
import type { Problem } from '../archive/verify-objects.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import { formatJson, parseJson } from '../lib/json.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import type { Sides } from './sides.ts'

interface History {
  backupId: string
  /** Ascending, as the next two. */
  source: readonly number[]
  target: readonly number[]
  shared: readonly number[]
}

const CONCURRENCY = 8

/**
 * Refuses a target that holds another backup of the same id, or the same one with additional commits. Run ids are random, so
 * that one generation which is the same on both sides proves those before it; `isThorough` compares all of them. Returns
 * the manifests of the source that are damaged, and could not be compared.
 */
export async function compareHistories(
  sides: Sides,
  history: History,
  isThorough: boolean,
  signal: AbortSignal,
): Promise<Problem[]> {
  const { backupId, source, target, shared } = history
  const [newest, newestThere] = [source.at(-1) ?? 0, target.at(-1)]
  if (newestThere === undefined) return []
  if (newestThere > newest) {
    throw diverged(sides, backupId, `it has generation ${newestThere}, and the newest of the source is ${newest}`)
  }
  const problems: Problem[] = []
  let agrees = false
  for (const generation of shared.toReversed()) {
    const problem = await compareGeneration(sides, backupId, generation, signal)
    if (problem) problems.push(problem)
    else agrees = true
    if (agrees && !isThorough) break
  }
  if (!agrees) await compareLineages(sides, history, newestThere, signal)
  return problems
}

/** Undefined where it is the same; a problem where the source's is damaged. */
async function compareGeneration(
  sides: Sides,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<Problem | undefined> {
  const key = manifestKey(backupId, generation)
  const [ours, theirs] = await Promise.all([
    readOrDamage(sides.source, key, signal),
    readOrDamage(sides.target, key, signal),
  ])
  if (Buffer.isBuffer(ours) && Buffer.isBuffer(theirs) && isSameGeneration(ours, theirs)) return undefined
  const why = damageOf(ours, key)
  if (why !== undefined) return { key, problem: why }
  const whyThere = damageOf(theirs, key)
  if (whyThere === undefined) throw diverged(sides, backupId, `its generation ${generation} is another one`)
  throw new KafkaBackupError('ARCHIVE_DAMAGED', `${key} at ${sides.target.location} is damaged: ${whyThere}`, {
    details: { key, location: sides.target.location, problem: whyThere },
    help: 'Nothing was written. Remove the object at the target and run the same command again.',
  })
}

/** Of an encrypted side, damage shows when it is read. */
async function readOrDamage(storage: Storage, key: string, signal: AbortSignal): Promise<Buffer | KafkaBackupError> {
  try {
    return await storage.read(key, signal)
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
    return error
  }
}

function damageOf(read: Buffer | KafkaBackupError, key: string): string | undefined {
  try {
    if (!Buffer.isBuffer(read)) throw read
    parseManifest(read, key)
    return undefined
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
    return problemOf(error, key)
  }
}

/**
 * Where retention has left no generation on both sides, the lineage decides. Backups without one are compared by their data: the
 * names of objects contain the random id of the run that wrote them.
 */
async function compareLineages(
  sides: Sides,
  { backupId, source: generations }: History,
  newestThere: number,
  signal: AbortSignal,
): Promise<void> {
  const next = generations.find(generation => generation > newestThere) ?? newestThere
  const theirs = await readManifest(sides.target, backupId, newestThere, signal)
  const ours = await readManifest(sides.source, backupId, next, signal)
  if (ours.lineage !== undefined && ours.lineage === theirs.lineage) return
  if (ours.lineage !== theirs.lineage) {
    const [one, other] = [theirs, ours].map(({ lineage = 'none' }) => lineage)
    throw diverged(sides, backupId, `it has the lineage ${one}, and the source has ${other}`)
  }
  const [held, known] = [await dataOf(sides.source, ours, signal), await dataOf(sides.target, theirs, signal)]
  if ([...held].some(([key, blake3]) => known.get(key) === blake3)) return
  throw diverged(sides, backupId, 'no generation and no data of it are those of the source')
}

async function dataOf(storage: Storage, manifest: Manifest, signal: AbortSignal): Promise<Map<string, string>> {
  const indexes = await runPool(indexRefsOf(manifest), CONCURRENCY, ref => readIndex(storage, ref, signal))
  return new Map([...objectsOf(manifest, indexes)].map(({ key, blake3 }) => [key, blake3]))
}

export function diverged({ target }: Sides, backupId: string, why: string): KafkaBackupError {
  const message = `the backup \`${backupId}\` at ${target.location} is not a copy of the source: ${why}`
  return new KafkaBackupError('WRITER_CONFLICT', message, {
    details: { backup_id: backupId, location: target.location },
    help: 'Nothing was written. Copy to another location, or remove the backup at the target first.',
  })
}

/** How a side encrypts is its own affair, and the checksum covers that. */
const ownOfSide = new Set(['encryption', 'checksum'])

/**
 * Pure. The manifests of one generation on two sides say the same. Byte for byte where nothing was changed on the way;
 * where the encryption was, all fields besides that.
 */
export function isSameGeneration(one: Buffer, other: Buffer): boolean {
  if (one.equals(other)) return true
  const [ours, theirs] = [contentOf(one), contentOf(other)]
  return ours !== undefined && ours === theirs
}

function contentOf(bytes: Buffer): string | undefined {
  try {
    const document = parseJson(bytes.toString('utf8'))
    if (typeof document !== 'object' || document === null) return undefined
    return formatJson(Object.fromEntries(Object.entries(document).filter(([field]) => !ownOfSide.has(field))))
  } catch {
    return undefined
  }
}
