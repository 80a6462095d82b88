import type { Codec } from '../batch/header.ts'
import { patchBatch } from '../batch/patch-batch.ts'
import type { SourceBatch } from '../batch/rebuild.ts'
import { type IdCounts, noCounts } from './id-counts.ts'
import type { IdRewriter } from './rewrite-ids.ts'

/** A batch whose records have the ids of the target. */
export interface PatchedBatch {
  batch: SourceBatch
  isChanged: boolean
  counts: IdCounts
}

/** Unpacking and packing take place beside the main thread, so that several may be under way. */
export async function patchIds(source: SourceBatch, ids: IdRewriter, codec: Codec | 'keep'): Promise<PatchedBatch> {
  let counts = noCounts()
  // Others are looked at while this one is packed, so that its counts are taken before.
  const onSeen = () => {
    counts = ids.takeCounts()
  }
  const batch = await patchBatch(source, { patch: ids.patch, codec, onSeen })
  return { batch: batch ?? source, isChanged: batch !== undefined, counts }
}
