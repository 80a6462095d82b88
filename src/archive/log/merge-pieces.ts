import { codecOf, readHeader } from '../../batch/header.ts'
import { hasCode } from '../../errors.ts'
import { runPool } from '../../lib/pool.ts'
import type { Storage } from '../../storage/storage.ts'
import type { Segment } from '../manifest.ts'
import { isQuickSegment, openQuickSegment, readSegment, readWholeSegment } from '../segment-reader.ts'
import { type ChunkFacts, joinedFacts, type SegmentWriter } from '../segment-writer.ts'
import type { DamagedSource } from './damaged-sources.ts'
import type { PackStream } from './pack-stream.ts'
import { PackWindows } from './pack-windows.ts'
import { type Merge, storedTimes } from './plan-merges.ts'

const SEGMENTS_AT_ONCE = 4
const FRAME_BYTES = 256 << 10
const MERGES_AT_A_STRETCH = 64

export interface MergeParts {
  storage: Storage
  /** Of these merges alone. */
  packs: PackStream
  compression: 'auto' | 'none' | 'zstd'
  /** Opens the segment that a merge becomes. */
  openSegment: (merge: Merge, compressed: boolean, signal: AbortSignal) => Promise<SegmentWriter>
}

/** A merge whose result is durable. */
export interface Merged extends Merge {
  result: Segment
}

export interface MergeResults {
  merged: Merged[]
  /** Their merges are left out. */
  damaged: DamagedSource[]
}

/**
 * Writes what merges make. Nothing names it yet, and the sources stay as they are. Merges are done in the order in which
 * lists lie in packs, so each source is read from its start to its end.
 */
export async function mergePieces(
  merges: readonly Merge[],
  parts: MergeParts,
  signal: AbortSignal,
): Promise<MergeResults> {
  const sorted = merges.toSorted((a, b) => (a.list < b.list ? -1 : a.list > b.list ? 1 : a.from - b.from))
  const storage = new PackWindows(
    parts.storage,
    sorted.flatMap(({ sources }) => sources),
  )
  const damaged: DamagedSource[] = []
  try {
    const pieces = await mergeToPieces(sorted, storage, parts, damaged, signal)
    const segments = await runPool(
      sorted.filter(({ into }) => into.kind === 'segment'),
      SEGMENTS_AT_ONCE,
      async merge => {
        const segment = await writeSegment(merge, storage, parts, signal).catch(noteIn(damaged))
        return segment && mergedTo(merge, segment)
      },
    )
    return { merged: [...pieces, ...segments.filter(one => one !== undefined)], damaged }
  } finally {
    storage.close()
  }
}

async function mergeToPieces(
  sorted: readonly Merge[],
  storage: PackWindows,
  { packs, compression }: MergeParts,
  damaged: DamagedSource[],
  signal: AbortSignal,
): Promise<Merged[]> {
  const memory = new Scratch()
  const written: Merge[] = []
  try {
    for (const [i, merge] of sorted.entries()) {
      const { into, sources } = merge
      if (into.kind === 'segment') continue
      // Windows answer at once: without a pause, thousands of merges would hold up the rounds that run next to them.
      if (i % MERGES_AT_A_STRETCH === 0) await new Promise(resolve => setImmediate(resolve))
      const plain = await readSources(merge, storage, memory, signal).catch(noteIn(damaged))
      if (!plain) continue
      const facts = joinedFacts(sources)
      await packs.add({ level: into.level, plain, facts, compressed: isCompressible(plain, compression) })
      written.push(merge)
      storage.freeReplaced()
    }
    const segments = await packs.finish()
    return written.map((merge, i) => mergedTo(merge, segments[i] as Segment))
  } catch (error) {
    await packs.abort()
    throw error
  }
}

/** Carries the source that is damaged to where its merge is left out. */
class SourceDamage extends Error {
  readonly found: DamagedSource

  constructor(found: DamagedSource) {
    super(found.error.message)
    this.found = found
  }
}

function noteIn(damaged: DamagedSource[]): (error: unknown) => undefined {
  return error => {
    if (!(error instanceof SourceDamage)) throw error
    damaged.push(error.found)
  }
}

function damageOf(list: string, source: Segment, error: unknown): unknown {
  return hasCode(error, 'ARCHIVE_DAMAGED') ? new SourceDamage({ list, source, error }) : error
}

function mergedTo(merge: Merge, segment: Segment): Merged {
  const { stored_from, stored_at } = timesOf(merge)
  return { ...merge, result: { ...segment, stored_from, stored_at } }
}

/** All batches of a merge, in memory that the next one uses again. */
async function readSources(
  { list, sources }: Merge,
  storage: PackWindows,
  memory: Scratch,
  signal: AbortSignal,
): Promise<Buffer> {
  const plain = memory.take(sources.reduce((sum, { plain_size }) => sum + plain_size, 0))
  let at = 0
  for (const source of sources) {
    const target = plain.subarray(at, at + source.plain_size)
    at += source.plain_size
    try {
      const stored = isQuickSegment(source) ? storage.peek(source) : undefined
      if (stored) openQuickSegment(stored, source, target)
      else await readWholeSegment(storage, source, target, signal)
    } catch (error) {
      throw damageOf(list, source, error)
    }
  }
  return plain
}

/** The same memory for one merge after the other. */
class Scratch {
  #memory: Buffer = Buffer.alloc(0)

  take(bytes: number): Buffer {
    if (this.#memory.length < bytes) this.#memory = Buffer.allocUnsafeSlow(2 * bytes)
    return this.#memory.subarray(0, bytes)
  }
}

async function writeSegment(
  merge: Merge,
  storage: Pick<Storage, 'readRange'>,
  parts: MergeParts,
  signal: AbortSignal,
): Promise<Segment> {
  const [first] = merge.sources
  if (!first) throw new Error('a merge has at least one source')
  let writer: SegmentWriter | undefined
  try {
    for await (const bytes of framesOf(merge, storage, signal)) {
      writer ??= await parts.openSegment(merge, isCompressible(bytes, parts.compression), signal)
      await writer.append([bytes], nothingOf(first), signal)
    }
    if (!writer) throw new Error('a segment has at least one batch')
    await writer.append([], joinedFacts(merge.sources), signal)
    return await writer.finish(signal)
  } catch (error) {
    await writer?.abort()
    throw error
  }
}

/** The batches of small sources together: each chunk becomes a frame, and the entry of the segment lists all frames. */
async function* framesOf(
  { list, sources }: Merge,
  storage: Pick<Storage, 'readRange'>,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = []
  let size = 0
  for (const source of sources) {
    for await (const bytes of readSource(list, source, storage, signal)) {
      waiting.push(Buffer.from(bytes))
      size += bytes.length
      if (size < FRAME_BYTES) continue
      yield Buffer.concat(waiting)
      waiting = []
      size = 0
    }
  }
  if (size > 0) yield Buffer.concat(waiting)
}

async function* readSource(
  list: string,
  source: Segment,
  storage: Pick<Storage, 'readRange'>,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  try {
    yield* readSegment(storage, source, signal)
  } catch (error) {
    throw damageOf(list, source, error)
  }
}

/** Merging does not make records newer: retention by age counts from when they were stored. */
function timesOf({ sources }: Merge): { stored_from: string; stored_at: string } {
  let { from: stored_from = '', to: stored_at = '' } = sources[0] ? storedTimes(sources[0]) : {}
  for (const source of sources) {
    const { from, to } = storedTimes(source)
    if (from < stored_from) stored_from = from
    if (to > stored_at) stored_at = to
  }
  return { stored_from, stored_at }
}

/** Where a source begins, before any of its batches counts. */
function nothingOf(source: Segment): ChunkFacts {
  const startOffset = source.start_offset
  const none = { batches: 0, records: 0, abortedRecords: 0, firstTimestamp: null, lastTimestamp: null, aborted: [] }
  return { startOffset, endOffset: startOffset, ...none }
}

/** Producers compress all of their batches or none. */
function isCompressible(bytes: Buffer | undefined, compression: MergeParts['compression']): boolean {
  if (compression !== 'auto') return compression === 'zstd'
  return bytes !== undefined && codecOf(readHeader(bytes, 0).attributes) === 'none'
}
