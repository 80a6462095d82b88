import type { LastBatch } from '../archive/manifest.ts'
import { type BatchHeader, magicAt, PREFIX_BYTES } from '../batch/header.ts'
import type { Fetched } from '../kafka/fetcher.ts'
import { type AbortedStart, abortedFrom, type Chunk, judgeTail, markOf } from './chunk.ts'
import { mayBeCompacted } from './named-topics.ts'
import type { PartitionCopy } from './partition-copy.ts'

export type AnswerPart = Fetched['partitions'][number]

/** What an answer has for a partition, with the batches in it. */
export interface Answer {
  part: AnswerPart
  headers: readonly BatchHeader[]
}

/** How far a partition was asked for. */
export interface FetchPosition {
  /** Where the next fetch begins: ahead of what is stored by the answer in hand. */
  offset: bigint
  /** Where what is stored ends: below the offset by a hole. */
  start: bigint
  epoch: number
  /** The batch before `start`, which the next answer has to show first. */
  tail: LastBatch | undefined
  /** Consecutive empty responses without a known reason. */
  emptyAnswers: number
  /** The last answer showed the tail and nothing behind it: the next one begins at `start`, and the tail is asked for after it. */
  isTailAlone?: true
}

/** What a fetch of the position asks for: by name from the tail on, unless the segment of the broker's log ends with it. */
export function offsetToFetch({ offset, start, isTailAlone }: FetchPosition): bigint {
  return isTailAlone ? start : offset
}

/** Whether the answer ends with the tail. A broker answers from one segment of its log: what follows is in the next one. */
export function endsWithTail({ start }: FetchPosition, { part, headers }: Answer): boolean {
  const last = headers.at(-1)
  return last?.lastOffset === start - 1n && last.position + last.sizeBytes === part.end
}

/**
 * Whether the source still has what is stored last; undefined where there is nothing to compare, or nothing came yet.
 * `same, alone` has nothing else of use to a fetch by ID: aborted transactions of the answer may have ended in what is
 * stored, so that what follows is asked for again from its own beginning.
 */
export function compareTail(
  copy: PartitionCopy,
  { tail, start }: FetchPosition,
  { part, headers }: Answer,
  { bytes, isByName }: Fetched,
): 'same' | 'same, alone' | 'other' | undefined {
  if (!tail) return undefined
  const last = headers.at(-1)
  if (!last) return undefined
  const isLenient = !isByName || mayBeCompacted(copy.settings)
  if (judgeTail(bytes, headers, tail, start, isLenient) === 'other') return 'other'
  const isAlone = last.lastOffset < start || part.abortedTransactions.length > 0
  return isAlone ? 'same, alone' : 'same'
}

/** Where the next fetch begins. By name it begins with the last batch of this answer, which its answer has to show. */
export function behind(
  { headers, nextOffset: start, lastEpoch: epoch }: Chunk,
  { bytes, isByName }: Fetched,
): FetchPosition {
  const next = { start, epoch, emptyAnswers: 0 }
  if (!isByName) return { ...next, offset: start, tail: undefined }
  return { ...next, offset: start - 1n, tail: markOf(bytes, headers.at(-1)) }
}

export function abortedIn({ tail, start }: FetchPosition, { part, headers }: Answer): readonly AbortedStart[] {
  const { abortedTransactions: listed } = part
  return tail && listed.length > 0 ? abortedFrom(headers, start, listed) : listed
}

/**
 * Base offset of the first batch that is not stored yet; an answer may hold only a fragment of it. Where that does not show
 * the format, it may be a message of an old one, which has the offset of its last record.
 */
export function nextBase({ start }: FetchPosition, { part, headers }: Answer, { bytes }: Fetched): bigint {
  const next = headers.find(({ lastOffset }) => lastOffset >= start)
  if (next) return next.baseOffset
  const last = headers.at(-1)
  const position = last ? last.position + last.sizeBytes : part.start
  const isBatch = part.end - position >= PREFIX_BYTES && magicAt(bytes, position) === 2
  return isBatch ? bytes.readBigInt64BE(position) : -1n
}
