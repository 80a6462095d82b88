import type { Storage } from '../../storage/storage.ts'
import type { DueRollup } from './chain.ts'
import type { Change } from './change.ts'
import { ComposedChange } from './compose-changes.ts'
import type { Commit } from './documents.ts'
import { readOwnCommit, walkCommits, walkDocuments } from './read-commit.ts'

interface RollupReader {
  storage: Storage
  backupId: string
  /** The newest generation, and what its commit is. */
  newest: number
  last: Commit['previous']
}

/** The change of all that a roll-up replaces, as the store has it. */
export async function readRollupSources(reader: RollupReader, due: DueRollup, signal: AbortSignal): Promise<Change> {
  const whole = new ComposedChange()
  for await (const change of walkSources(reader, due, signal)) whole.add(change)
  return whole.change
}

/** A commit that was exchanged must not become part of a roll-up, which would vouch for it. */
async function* walkSources(
  { storage, backupId, newest, last }: RollupReader,
  { from, to, sources }: DueRollup,
  signal: AbortSignal,
): AsyncGenerator<Change> {
  if (sources.length > 0) {
    const documents = sources.flatMap(one => one.documents)
    yield* walkDocuments(storage, backupId, documents, signal)
    return
  }
  const generations = Array.from({ length: to - from + 1 }, (_, i) => from + i)
  const next = to === newest ? last : (await readOwnCommit(storage, backupId, to + 1, signal)).commit.previous
  yield* walkCommits(storage, backupId, generations, next, signal)
}
