import type { SourceBatch } from '../batch/compression.ts'
import type { Codec } from '../batch/header.ts'
import { patchBatch } from '../batch/patch-batch.ts'
import type { IdCounts } from './id-counts.ts'
import type { IdRewriter } from './rewrite-ids.ts'

/** A batch whose records have the ids of the target. */
export interface PatchedBatch {
  batch: SourceBatch
  isChanged: boolean
  isPacked: boolean
  counts: IdCounts
}

export function patchIds(source: SourceBatch, ids: IdRewriter, codec: Codec | 'keep'): PatchedBatch {
  const batch = patchBatch(source, { patch: ids.patch, codec })
  const isPacked = batch?.isPacked ?? false
  return { batch: batch ?? source, isChanged: batch !== undefined, isPacked, counts: ids.takeCounts() }
}
