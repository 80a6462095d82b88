import type { BatchList } from '../batch/batch-list.ts'
import type { SourceBatch } from '../batch/compression.ts'
import type { Codec } from '../batch/header.ts'
import { mapAhead } from '../lib/read-ahead.ts'
import { giveBackMemory } from '../lib/recycled-memory.ts'
import type { PatchedBatch } from './patch-ids.ts'
import type { PatchedBatches } from './patch-thread.ts'
import type { Patching } from './patch-threads.ts'
import type { Piece } from './pieces.ts'
import type { IdRewriter } from './rewrite-ids.ts'

/** Batches that become one, or one that stays as it is. */
export interface Group {
  piece: Piece
  batches: BatchList
  storedBytes: number
  /** The only one, if it can be sent as it is but for the ids in its records. */
  kept?: SourceBatch
  patched?: PatchedBatch
}

/** Some groups of a piece. */
interface Chunk {
  groups: readonly Group[]
  /** The bytes of the piece, with its last groups. */
  endOf?: Buffer
}

interface PatchedChunk {
  groups: readonly Group[]
  /** Why the group behind the last one could not be patched. */
  failure?: unknown
  /** For when all groups, and those before them, are needed no more. */
  release(): void
}

/** So many chunks of a partition are on their way to the ids of the target while another one is sent. */
const CHUNKS_AT_ONCE = 2
/** Of groups that are patched together: a message to a thread for each would take a part of the time of patching it. */
const CHUNK_BYTES = 256 << 10

export async function* readChunks(
  pieces: AsyncIterable<Piece>,
  groupsOf: (piece: Piece) => Iterable<Group>,
  codec: Codec | undefined,
): AsyncGenerator<Chunk> {
  // What is unpacked may be many times larger, and waits in memory.
  const chunkBytes = codec === 'none' ? 1 : CHUNK_BYTES
  for await (const piece of pieces) {
    let groups: Group[] = []
    let bytes = 0
    for (const group of groupsOf(piece)) {
      if (bytes >= chunkBytes) {
        yield { groups }
        groups = []
        bytes = 0
      }
      groups.push(group)
      bytes += group.storedBytes
    }
    yield { groups, endOf: piece.batches.bytes }
  }
}

/** The same groups in the same order, each with its records patched where that is all that has to be done. */
export function patchChunks(
  chunks: AsyncIterable<Chunk>,
  { ids, codec }: { ids?: IdRewriter; codec?: Codec },
  patching: Patching,
): AsyncIterable<PatchedChunk> {
  return mapAhead(chunks, CHUNKS_AT_ONCE, async ({ groups, endOf }) => {
    const kept = groups.flatMap(group => group.kept ?? [])
    const patched = ids && kept.length > 0 ? await patching.patch(kept, ids, codec ?? 'keep') : undefined
    const release = () => {
      patched?.release()
      if (endOf) giveBackMemory(endOf)
    }
    return { ...joinPatched(groups, patched), release }
  })
}

function joinPatched(groups: readonly Group[], patched: PatchedBatches | undefined): Omit<PatchedChunk, 'release'> {
  if (!patched) return { groups }
  const { batches, failure } = patched
  let next = 0
  const joined: Group[] = []
  for (const group of groups) {
    const own = group.kept && batches[next++]
    if (group.kept && !own) break
    joined.push(own ? { ...group, patched: own } : group)
  }
  return { groups: joined, ...(failure !== undefined && { failure }) }
}
