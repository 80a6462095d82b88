import type { RestoreOptions } from './restore-options.ts'

/** A frame or chunk of the archive being sent, and the next one being read. */
const STREAM_BYTES = 8 << 20
/** The same with one more being patched: packed as it was and as it will be, and a few of its batches unpacked. */
const REWRITING_STREAM_BYTES = 24 << 20
/** Three requests of 4 MiB are then under way for each stream. */
const MAX_AHEAD_BYTES = 8 << 20

/** Pure. Partitions that the memory of the job allows to fill at the same time. */
export function countActive(options: Pick<RestoreOptions, 'rewrite' | 'memoryBudgetBytes'>): number {
  return Math.max(1, Math.floor(options.memoryBudgetBytes / streamBytes(options)))
}

/**
 * Pure. Bytes that each of so many streams may request from the store before it needs them, in addition to the next piece: what the memory of
 * the job has left where fewer partitions are filled than it allows. Many partitions keep a store that is far away busy by their number.
 */
export function countAheadBytes(
  options: Pick<RestoreOptions, 'rewrite' | 'memoryBudgetBytes'>,
  streams: number,
): number {
  const active = Math.max(1, Math.min(streams, countActive(options)))
  const left = Math.floor(options.memoryBudgetBytes / active) - streamBytes(options)
  return Math.max(0, Math.min(MAX_AHEAD_BYTES, left))
}

function streamBytes({ rewrite }: Pick<RestoreOptions, 'rewrite'>): number {
  return rewrite ? REWRITING_STREAM_BYTES : STREAM_BYTES
}
