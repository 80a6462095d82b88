import { hasCode, KafkaBackupError } from '../../errors.ts'
import { mapAhead } from '../../lib/read-ahead.ts'
import type { Storage } from '../../storage/storage.ts'
import type { AvoidedDamage } from '../damage.ts'
import { assertRow } from './as-manifest.ts'
import { avoidedBy } from './avoided-damage.ts'
import { applyChange, type Change, type State } from './change.ts'
import type { Commit } from './documents.ts'
import { openGeneration } from './open-generation.ts'
import { type ReadCommit, readChange, readCommit } from './read-commit.ts'

/** A generation with its state, or why it cannot be read. */
export type WalkedGeneration = { generation: number } & (
  | { commit: Commit; state: State; avoided: AvoidedDamage[] }
  | { error: KafkaBackupError }
)

const COMMITS_AHEAD = 4

/**
 * The states of generations, which ascend. The first one is opened; each that follows the one before it costs its commit alone.
 * One that is damaged is reported, and the next is opened again. Holds one state and a few changes in memory.
 */
export async function* walkGenerations(
  storage: Storage,
  backupId: string,
  generations: readonly number[],
  signal: AbortSignal,
): AsyncGenerator<WalkedGeneration> {
  let before: (ReadCommit & { state: State; avoided: AvoidedDamage[] }) | undefined
  const reading = mapAhead(inOrder(generations), COMMITS_AHEAD, generation =>
    readOne(storage, backupId, generation, generations[0] === generation, signal),
  )
  for await (const { generation, read, change, error } of reading) {
    try {
      if (error) throw error
      before =
        read && change && before && read.commit.previous?.blake3 === before.ref.blake3
          ? { ...read, state: applyChange(before.state, change), avoided: [] }
          : await openOne(storage, backupId, generation, signal)
      for (const [list, row] of before.state.lists) assertRow(row, list, before.ref.key)
      yield { generation, commit: before.commit, state: before.state, avoided: before.avoided }
    } catch (cause) {
      if (!hasCode(cause, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW')) throw cause
      before = undefined
      yield { generation, error: cause }
    }
  }
}

async function openOne(storage: Storage, backupId: string, generation: number, signal: AbortSignal) {
  const opened = await openGeneration(storage, backupId, generation, signal)
  const { commit, ref, state } = opened
  return { commit, ref, state, avoided: avoidedBy(opened) }
}

interface ReadAhead {
  generation: number
  read?: ReadCommit
  change?: Change
  error?: KafkaBackupError
}

async function readOne(
  storage: Storage,
  backupId: string,
  generation: number,
  isFirst: boolean,
  signal: AbortSignal,
): Promise<ReadAhead> {
  if (isFirst) return { generation }
  try {
    const read = await readCommit(storage, backupId, generation, signal)
    return { generation, read, change: await readChange(storage, read, signal) }
  } catch (error) {
    if (!(error instanceof KafkaBackupError) || signal.aborted) throw error
    return { generation, error }
  }
}

async function* inOrder<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items
}
