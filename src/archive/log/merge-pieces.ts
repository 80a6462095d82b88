import { codecOf, readHeader } from '../../batch/header.ts'
import type { Storage } from '../../storage/storage.ts'
import type { Segment } from '../manifest.ts'
import { readSegment, readWholeSegment } from '../segment-reader.ts'
import { type ChunkFacts, factsOf, joinFacts, type SegmentWriter } from '../segment-writer.ts'
import { type PackSet, storePiece } from './pack-set.ts'
import { PackWindows } from './pack-windows.ts'
import { type Merge, storedTimes } from './plan-merges.ts'

export interface MergeParts {
  storage: Storage
  packs: PackSet
  compression: 'auto' | 'none' | 'zstd'
  /** Opens the segment that a merge becomes. */
  openSegment: (merge: Merge, compressed: boolean, signal: AbortSignal) => Promise<SegmentWriter>
}

/** A merge whose result is durable. */
export interface Merged extends Merge {
  result: Segment
}

/**
 * Writes what merges make. Nothing names it yet, and the sources stay as they are. Merges are done in the order in which
 * lists lie in packs, so each source is read from its start to its end.
 */
export async function mergePieces(merges: readonly Merge[], parts: MergeParts, signal: AbortSignal): Promise<Merged[]> {
  const sorted = merges.toSorted((a, b) => (a.list < b.list ? -1 : a.list > b.list ? 1 : a.from - b.from))
  const storage = new PackWindows(
    parts.storage,
    sorted.flatMap(({ sources }) => sources),
  )
  const results: Promise<Merged>[] = []
  for (const merge of sorted) {
    const { into } = merge
    const { durable } =
      into.kind === 'segment'
        ? { durable: Promise.resolve(await writeSegment(merge, storage, parts, signal)) }
        : await writePiece(merge, into.level, storage, parts, signal)
    const result = durable.then(segment => ({ ...merge, result: { ...segment, ...timesOf(merge) } }))
    // It is awaited below, when all are read.
    result.catch(() => undefined)
    results.push(result)
  }
  await parts.packs.flush()
  return Promise.all(results)
}

async function writePiece(
  { list, sources }: Merge,
  level: number,
  storage: Pick<Storage, 'readRange'>,
  { packs, compression }: MergeParts,
  signal: AbortSignal,
): Promise<{ durable: Promise<Segment> }> {
  const batches: Buffer[] = []
  for (const source of sources) batches.push(await readWholeSegment(storage, source, signal))
  const facts = sources.map(factsOf).reduce(joinFacts)
  return storePiece(packs, { list, level, batches, facts, compressed: isCompressible(batches[0], compression) })
}

async function writeSegment(
  merge: Merge,
  storage: Pick<Storage, 'readRange'>,
  parts: MergeParts,
  signal: AbortSignal,
): Promise<Segment> {
  let writer: SegmentWriter | undefined
  try {
    for (const source of merge.sources) {
      for await (const bytes of readSegment(storage, source, signal)) {
        writer ??= await parts.openSegment(merge, isCompressible(bytes, parts.compression), signal)
        await writer.append([bytes], nothingOf(source), signal)
      }
      await writer?.append([], factsOf(source), signal)
    }
    if (!writer) throw new Error('a merge has at least one source')
    return await writer.finish(signal)
  } catch (error) {
    await writer?.abort()
    throw error
  }
}

/** Merging does not make records newer: retention by age counts from when they were stored. */
function timesOf({ sources }: Merge): { stored_from: string; stored_at: string } {
  const times = sources.map(storedTimes)
  const from = times.map(one => one.from).sort()
  const to = times.map(one => one.to).sort()
  return { stored_from: from[0] ?? '', stored_at: to.at(-1) ?? '' }
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
