import { hashOf, pieceHash } from '../hash.ts'
import type { PackRef, Segment } from '../manifest.ts'
import type { ChunkFacts } from '../segment-writer.ts'

/** A pack ends when its pieces have this many bytes. */
export const MAX_PACK_BYTES = 16 << 20
/** Below this a piece is merged soon, and compressing it would take more time than everything else that is done with it. */
export const MIN_COMPRESSED_BYTES = 2048

export interface PackOptions {
  backupId: string
  /** Part of the keys, and of this set of packs alone: they are numbered from 1. */
  run: string
  /** A piece that reaches this becomes a segment. */
  maxPieceBytes: number
  maxPackBytes?: number
  maxOpenBytes?: number
  /** The time by the clock of the store, as far as this process knows it: its host may have paused it. */
  now: () => string
  /** Gets by how much that was behind the store when a pack was stored. */
  onBehind?: (ms: number) => void
}

/** What is said of a piece before its pack is known. */
export interface PackedPiece {
  plainSize: number
  /** It is one zstd frame. */
  isFrame: boolean
  facts: ChunkFacts
  level: number
}

/** Pure. The hash of a piece, of what is stored. */
export function hashPiece(stored: Buffer): string {
  return pieceHash(hashOf(stored))
}

/** Pure. The entry of a piece in a pack that is durable. As one literal: a writer holds many thousands, and fields that are added lie in separate memory. */
export function describePiece(
  { plainSize, isFrame, facts, level }: PackedPiece,
  { position, size, blake3 }: { position: number; size: number; blake3: string },
  pack: PackRef,
): Segment {
  const { firstTimestamp, lastTimestamp } = facts
  const segment: Segment = {
    key: pack.key,
    size,
    blake3,
    compression: isFrame ? 'zstd' : 'none',
    plain_size: plainSize,
    start_offset: facts.startOffset,
    end_offset: facts.endOffset,
    batches: facts.batches,
    records: facts.records,
    aborted_records: facts.abortedRecords,
    first_timestamp: firstTimestamp,
    // Often the same integer, which need not be there twice.
    last_timestamp: lastTimestamp === firstTimestamp ? firstTimestamp : lastTimestamp,
    piece: { position, level, pack },
  }
  if (isFrame) segment.frames = [[size, plainSize]]
  if (facts.aborted.length > 0) segment.aborted = facts.aborted
  return segment
}
