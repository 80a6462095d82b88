import { availableParallelism } from 'node:os'
import type { SourceBatch } from '../batch/compression.ts'
import { knownCodec } from '../batch/compression.ts'
import type { Codec } from '../batch/header.ts'
import { type PatchedBatch, patchIds } from './patch-ids.ts'
import { PatchThread } from './patch-thread.ts'
import type { IdRewriter } from './rewrite-ids.ts'

/** What reads and sends needs little of a core; beyond four a broker is what one waits for. */
const MAX_THREADS = Math.min(4, availableParallelism())

/** Of all that patches in this process; they end with the last user. */
let threads: PatchThread[] = []
let users = 0

/** Leave to patch batches, with threads that all who have it share. It is given back by `close`. */
export function openPatching(): Patching {
  users++
  let isOpen = true
  return {
    patch,
    close: () => {
      if (!isOpen) return
      isOpen = false
      if (--users > 0) return
      for (const thread of threads) thread.close()
      threads = []
    },
  }
}

export interface Patching {
  patch(source: SourceBatch, ids: IdRewriter, codec: Codec | 'keep'): Promise<PatchedBatch>
  close(): void
}

/** Packed ones on a thread; of others less is to be done than copying them there. */
async function patch(source: SourceBatch, ids: IdRewriter, codec: Codec | 'keep'): Promise<PatchedBatch> {
  const isPacked = knownCodec(source.header) !== 'none' || (codec !== 'keep' && codec !== 'none')
  return isPacked ? leastBusy().patch(source, ids, codec) : patchIds(source, ids, codec)
}

function leastBusy(): PatchThread {
  const [first] = threads.toSorted((a, b) => a.load - b.load)
  if (first && (first.load === 0 || threads.length >= MAX_THREADS)) return first
  const thread = new PatchThread()
  threads.push(thread)
  return thread
}
