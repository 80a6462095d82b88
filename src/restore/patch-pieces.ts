import type { BatchHeader, Codec } from '../batch/header.ts'
import { patchBatch } from '../batch/patch-batch.ts'
import type { SourceBatch } from '../batch/rebuild.ts'
import { runPool } from '../lib/pool.ts'
import { type IdCounts, noCounts } from './id-counts.ts'
import type { Piece } from './pieces.ts'
import type { IdRewriter } from './rewrite-ids.ts'

/** A batch whose records have the ids of the target. */
export interface PatchedBatch {
  batch: SourceBatch
  isChanged: boolean
  counts: IdCounts
}

export interface PatchedPiece extends Piece {
  /** Those that need not be written anew for another reason. */
  patched: ReadonlyMap<BatchHeader, PatchedBatch>
}

/** As many as the runtime packs at the same time; so many are unpacked in memory, too. */
const PATCHES_AT_ONCE = 4

/** The same pieces, with the batches patched that are chosen. Unpacking and packing take place beside the main thread. */
export async function* patchPieces(
  pieces: AsyncIterable<Piece>,
  choose: (piece: Piece) => readonly BatchHeader[],
  { ids, codec = 'keep' }: { ids: IdRewriter; codec?: Codec | 'keep' },
): AsyncGenerator<PatchedPiece> {
  for await (const piece of pieces) {
    const chosen = choose(piece)
    const patched = await runPool(chosen, PATCHES_AT_ONCE, header =>
      patchOne({ bytes: piece.bytes, header }, ids, codec),
    )
    yield { ...piece, patched: new Map(chosen.flatMap((header, i) => pair(header, patched[i]))) }
  }
}

async function patchOne(source: SourceBatch, ids: IdRewriter, codec: Codec | 'keep'): Promise<PatchedBatch> {
  let counts = noCounts()
  // Others are looked at while this one is packed, so that its counts are taken before.
  const onSeen = () => {
    counts = ids.takeCounts()
  }
  const batch = await patchBatch(source, { patch: ids.patch, codec, onSeen })
  return { batch: batch ?? source, isChanged: batch !== undefined, counts }
}

function pair(header: BatchHeader, one: PatchedBatch | undefined): [BatchHeader, PatchedBatch][] {
  return one ? [[header, one]] : []
}
