import { detailsField, type ErrorCode, type ErrorDetails, hasCode, type KafkaBackupError } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import { backupNotFound, readManifest, scanGenerations } from './catalog.ts'
import type { AvoidedDamage } from './damage.ts'
import { type HoldFacts, listHolds, readHold } from './holds.ts'
import type { State } from './log/change.ts'
import { hasCommit } from './log/list-commits.ts'
import { walkGenerations } from './log/walk-generations.ts'
import type { Manifest } from './manifest.ts'
import { avoidedWarnings } from './record-warnings.ts'
import { type Totals, totalsOf } from './summary.ts'

type GenerationContent = { generation: number } & (
  | { error: string; code: ErrorCode; details?: ErrorDetails }
  | ({ complete: boolean; created_at: string; started_at: string } & Totals)
)

/** One committed state of a backup. */
export type GenerationSummary = GenerationContent & {
  /** Null where it is not held. */
  hold: HoldFacts | null
}

export interface GenerationListing {
  location: string
  backup_id: string
  /** Newest first; those that are held are listed also if they are older than the rest. */
  generations: GenerationSummary[]
  /** There are older ones, which are not listed. */
  more: boolean
  /** Damaged objects that were read around. */
  warnings: string[]
}

/** A manifest may have megabytes, of which only the sums are kept. */
const MANIFESTS_AT_ONCE = 4

/** The newest generations, of either version, and all that are held. One that cannot be read is a row with its `error`. */
export async function listGenerationsOf(
  storage: Storage,
  backupId: string,
  { limit }: { limit: number },
  signal: AbortSignal,
): Promise<GenerationListing> {
  const { manifests, commits } = await scanGenerations(storage, backupId, signal, limit + 1)
  if (manifests.length + commits.length === 0) throw await backupNotFound(storage, backupId, signal)
  const held = await listHolds(storage, backupId, signal)
  const newestCommits = commits.slice(-limit)
  const left = limit - newestCommits.length
  const newestManifests = left > 0 ? manifests.slice(-left) : []
  const heldManifests = manifests.slice(0, manifests.length - newestManifests.length).filter(one => held.has(one))
  const heldCommits = await findHeldCommits(storage, backupId, held, { manifests, newestCommits }, signal)
  const older = await runPool([...heldManifests, ...newestManifests], MANIFESTS_AT_ONCE, one =>
    summarizeManifest(storage, backupId, one, signal),
  )
  const listedCommits = [...heldCommits, ...newestCommits]
  const { rows, avoided } = await summarizeCommits(storage, backupId, listedCommits, signal)
  const contents = [...older.flat(), ...rows]
  return {
    location: storage.location,
    backup_id: backupId,
    generations: await withHolds(storage, backupId, held, contents.reverse(), signal),
    more: manifests.length + commits.length > older.length + listedCommits.length,
    warnings: [...new Set(avoidedWarnings({ avoided }))],
  }
}

/** Held commits that are older than the newest ones: a hold that is not listed would be forgotten. */
async function findHeldCommits(
  storage: Storage,
  backupId: string,
  held: ReadonlySet<number>,
  { manifests, newestCommits }: { manifests: readonly number[]; newestCommits: readonly number[] },
  signal: AbortSignal,
): Promise<number[]> {
  const [oldest] = newestCommits
  if (oldest === undefined) return []
  const older = [...held].filter(one => one < oldest && !manifests.includes(one))
  const found = await runPool(older, MANIFESTS_AT_ONCE, one => hasCommit(storage, backupId, one, signal))
  return older.filter((_, i) => found[i])
}

async function withHolds(
  storage: Storage,
  backupId: string,
  held: ReadonlySet<number>,
  contents: readonly GenerationContent[],
  signal: AbortSignal,
): Promise<GenerationSummary[]> {
  return runPool(contents, MANIFESTS_AT_ONCE, async one => {
    const hold = held.has(one.generation) ? await readHold(storage, backupId, one.generation, signal) : undefined
    return { ...one, hold: hold ?? null }
  })
}

/** Empty where a prune has removed it since it was listed. */
async function summarizeManifest(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<GenerationContent[]> {
  try {
    const manifest = await readManifest(storage, backupId, generation, signal)
    return [{ generation, ...factsOf(manifest), ...totalsOf(manifest.topics) }]
  } catch (error) {
    if (hasCode(error, 'STORAGE_NOT_FOUND')) return []
    if (!hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW')) throw error
    return [{ generation, ...problemOf(error) }]
  }
}

async function summarizeCommits(
  storage: Storage,
  backupId: string,
  generations: readonly number[],
  signal: AbortSignal,
): Promise<{ rows: GenerationContent[]; avoided: AvoidedDamage[] }> {
  const rows: GenerationContent[] = []
  const avoided: AvoidedDamage[] = []
  for await (const one of walkGenerations(storage, backupId, generations, signal)) {
    const { generation } = one
    if ('avoided' in one) avoided.push(...one.avoided)
    rows.push(
      'error' in one
        ? { generation, ...problemOf(one.error) }
        : { generation, ...factsOf(one.commit), ...totalsOfState(one.state) },
    )
  }
  return { rows, avoided }
}

function factsOf({ complete, created_at, started_at }: Pick<Manifest, 'complete' | 'created_at' | 'started_at'>) {
  return { complete, created_at, started_at }
}

/** Lists that are being read again do not count, as in a manifest. */
function totalsOfState({ topics, lists }: State): Totals {
  const rows = [...lists].filter(([key]) => key.split('/').length === 2).map(([, row]) => row)
  return { ...totalsOf([{ partitions: rows }]), topics: topics.size }
}

function problemOf(error: KafkaBackupError) {
  return { error: error.message, code: error.code, ...detailsField(error) }
}
