import { unlessDamaged } from '../archive/damage.ts'
import { readRecorded } from '../archive/log/document.ts'
import type { CheckpointRef } from '../archive/log/documents.ts'
import { readCheckpoint, readOwnCommit } from '../archive/log/read-commit.ts'
import type { NamedObject } from '../archive/manifest.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'

const CONCURRENCY = 8

/** The documents of generations before the cut that a generation from the cut on is opened with. */
interface OlderDocuments {
  /** The same for generations that name the same ones. */
  id: string
  checkpoint: CheckpointRef | undefined
  rollups: NamedObject[]
}

/**
 * Fails where a generation from the cut on names a damaged checkpoint or roll-up that begins before it: the commits that it was made of, which are
 * to go, may be all that is left of it.
 */
export async function assertCut(
  storage: Storage,
  backupId: string,
  { cut, commits }: { cut: number; commits: readonly number[] },
  signal: AbortSignal,
): Promise<void> {
  if (!commits.some(one => one < cut)) return
  const left = commits.filter(one => one >= cut)
  const read = (at: number) => readOlder(storage, backupId, left[at] ?? cut, cut, signal)
  const checkpoints = new Map<string, CheckpointRef>()
  const documents = new Map<string, NamedObject>()
  for (const { checkpoint, rollups } of await findDifferent(left.length, read)) {
    if (checkpoint) checkpoints.set(checkpoint.key, checkpoint)
    for (const one of rollups) documents.set(one.key, one)
  }
  for (const one of checkpoints.values()) {
    for (const page of (await readCheckpoint(storage, backupId, one, signal)).checkpoint.pages)
      documents.set(page.key, page)
  }
  await runPool(documents.values(), CONCURRENCY, one => readRecorded(storage, one, signal))
}

/** Undefined where the commit is damaged. The one in `kept/` names documents that no other generation does. */
async function readOlder(
  storage: Storage,
  backupId: string,
  generation: number,
  cut: number,
  signal: AbortSignal,
): Promise<OlderDocuments | undefined> {
  const read = await unlessDamaged(readOwnCommit(storage, backupId, generation, signal))
  if (!read) return undefined
  const { checkpoint } = read.commit
  const isOlder = (checkpoint?.generation ?? 0) < cut
  const rollups = isOlder ? read.commit.rollups.filter(({ from }) => from < cut).flatMap(one => one.documents) : []
  const id = isOlder ? [checkpoint, ...rollups].map(one => one?.key).join(' ') : ''
  return { id, checkpoint: (isOlder && checkpoint) || undefined, rollups }
}

/**
 * All that differ. A later generation names fewer and larger roll-ups, or a newer checkpoint, and never an earlier one again: if two name the same
 * ones, so do those in between, which are not read.
 */
async function findDifferent(
  count: number,
  read: (at: number) => Promise<OlderDocuments | undefined>,
): Promise<OlderDocuments[]> {
  const known = new Map<number, OlderDocuments | undefined>()
  const isReadable = async (at: number) => {
    if (!known.has(at)) known.set(at, await read(at))
    return known.get(at) !== undefined
  }
  const findIn = async (places: Iterable<number>) => {
    for (const at of places) if (await isReadable(at)) return at
    return undefined
  }
  const low = await findIn(upTo(0, count))
  const high = await findIn(downTo(count - 1, 0))
  const ranges = low === undefined || high === undefined ? [] : [{ low, high }]
  for (let range = ranges.pop(); range; range = ranges.pop()) {
    const { low, high } = range
    if (known.get(low)?.id === known.get(high)?.id) continue
    const half = (low + high + 1) >> 1
    const middle = (await findIn(upTo(half, high))) ?? (await findIn(downTo(half - 1, low + 1)))
    if (middle !== undefined) ranges.push({ low, high: middle }, { low: middle, high })
  }
  return [...known.values()].filter(one => one !== undefined)
}

function* upTo(first: number, end: number): Generator<number> {
  for (let number = first; number < end; number++) yield number
}

function* downTo(last: number, first: number): Generator<number> {
  for (let number = last; number >= first; number--) yield number
}
