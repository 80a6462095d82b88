import { availableParallelism } from 'node:os'
import type { SourceBatch } from '../batch/compression.ts'
import { type Codec, codecOf } from '../batch/header.ts'
import { type PatchedBatch, patchIds } from './patch-ids.ts'
import { type PatchedBatches, PatchThread } from './patch-thread.ts'
import type { IdRewriter } from './rewrite-ids.ts'

/** Beyond four a broker is what one waits for. */
const CORES = Math.min(4, availableParallelism())

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
  /** In their order. It fails only where a thread has ended. */
  patch(sources: readonly SourceBatch[], ids: IdRewriter, codec: Codec | 'keep'): Promise<PatchedBatches>
  close(): void
}

/** Packed ones on a thread; of others less is to be done than copying them there. */
async function patch(sources: readonly SourceBatch[], ids: IdRewriter, codec: Codec | 'keep'): Promise<PatchedBatches> {
  const packs = codec !== 'keep' && codec !== 'none'
  const arePacked = packs || sources.some(({ header }) => codecOf(header.attributes) !== 'none')
  return arePacked ? leastBusy().patch(sources, ids, codec) : patchHere(sources, ids, codec)
}

function patchHere(sources: readonly SourceBatch[], ids: IdRewriter, codec: Codec | 'keep'): PatchedBatches {
  const batches: PatchedBatch[] = []
  const release = () => undefined
  try {
    for (const source of sources) batches.push(patchIds(source, ids, codec))
    return { batches, release }
  } catch (failure) {
    // Of the batch that failed.
    ids.takeCounts()
    return { batches, failure, release }
  }
}

function leastBusy(): PatchThread {
  threads = threads.filter(({ hasEnded }) => !hasEnded)
  const known = chooseThread(threads, CORES)
  if (known) return known
  const thread = new PatchThread()
  threads.push(thread)
  return thread
}

/**
 * Undefined where another one is to be started. One core is left to what reads, hashes and sends, unless batches are compressed again: a thread
 * more than needed would cost memory, and the CPU time to compile its code.
 */
export function chooseThread<T extends Pick<PatchThread, 'load' | 'packs'>>(
  some: readonly T[],
  cores: number,
): T | undefined {
  const [first] = some.toSorted((a, b) => a.load - b.load)
  if (!first || first.load === 0) return first
  const enough = first.packs ? cores : cores - 1
  return some.length >= enough ? first : undefined
}
