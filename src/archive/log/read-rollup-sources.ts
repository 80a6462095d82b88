import { runPool } from '../../lib/pool.ts'
import type { Storage } from '../../storage/storage.ts'
import type { DueRollup } from './chain.ts'
import type { Change } from './change.ts'
import { composeAll } from './compose-changes.ts'
import type { Commit } from './documents.ts'
import { assertSequence, readChange, readCommit, readParts } from './open-generation.ts'

const CONCURRENCY = 4

export interface RollupReader {
  storage: Storage
  backupId: string
  /** The newest generation, and what its commit is. */
  newest: number
  last: Commit['previous']
}

/** The change of all that a roll-up replaces, as the store has it. */
export async function readRollupSources(
  reader: RollupReader,
  { from, to, sources }: DueRollup,
  signal: AbortSignal,
): Promise<Change> {
  const { storage, backupId } = reader
  if (sources.length === 0) return composeAll(await readCommits(reader, from, to, signal))
  const read = await runPool(sources, CONCURRENCY, ({ documents }) => readParts(storage, backupId, documents, signal))
  return composeAll(read.flat())
}

/** A commit that was exchanged must not become part of a roll-up, which would vouch for it. */
async function readCommits(
  { storage, backupId, newest, last }: RollupReader,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<Change[]> {
  const read = (generation: number) => readCommit(storage, backupId, generation, signal)
  const generations = Array.from({ length: to - from + 1 }, (_, i) => from + i)
  const reads = await runPool(generations, CONCURRENCY, read)
  assertSequence(reads, to === newest ? last : (await read(to + 1)).commit.previous)
  return runPool(reads, CONCURRENCY, one => readChange(storage, one, signal))
}
