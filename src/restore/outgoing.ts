import type { AbortedTransaction, Segment } from '../archive/manifest.ts'
import type { SourceBatch } from '../batch/compression.ts'
import type { BatchHeader, Codec } from '../batch/header.ts'
import { type BatchLimits, hasBound, needsRebuild, type TimeWindow } from '../batch/needs.ts'
import { type MergeLimits, planMerges } from '../batch/plan-merges.ts'
import { Rebuilder, type RebuildOptions, rebuildBatches } from '../batch/rebuild.ts'
import type { EncodedRecord } from '../batch/record-cursor.ts'
import type { EditRecord } from '../batch/record-editor.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import { readAhead } from '../lib/read-ahead.ts'
import { giveBackMemory } from '../lib/recycled-memory.ts'
import type { Storage } from '../storage/storage.ts'
import type { IdCounts } from './id-counts.ts'
import { asOutgoing, asStored, type Conversion, flatten, type Outgoing, type OutgoingBlock } from './outgoing-batch.ts'
import { type Group, patchChunks, readChunks } from './patch-chunks.ts'
import type { PatchedBatch } from './patch-ids.ts'
import { openPatching, type Patching } from './patch-threads.ts'
import { examinePieces, indexAborted, openAhead, type Piece, readPieces } from './pieces.ts'
import type { IdRewriter } from './rewrite-ids.ts'

export interface OutgoingOptions {
  /** For messages. */
  name: string
  sourcePartition: number
  segments: readonly Segment[]
  openAborted: readonly AbortedTransaction[]
  start: bigint
  end: bigint
  timeWindow: TimeWindow
  /** The largest batch that the target takes. */
  maxBytes: number
  /** What small batches are merged to. */
  batchBytes: number
  /** Of batches that are opened; their own where it is not given. */
  codec?: Codec
  /** Only such records. Every batch is opened then, and what is left of one is merged with what follows. */
  takes?: (record: EncodedRecord) => boolean
  /** Only such records, likewise, by what the backup holds: it is asked before IDs and keys are. */
  selects?: (record: EncodedRecord) => boolean
  edit?: EditRecord
  /** Gives the records the schema ids of the target, before anything else is asked of them. */
  ids?: IdRewriter
  /** A batch is needed no more when the next one is asked for, since it is stored: its memory can be used again. */
  givesBack?: true
  /** Bytes of segments that are requested before they are needed, in addition to the next piece. */
  aheadBytes?: number
}

/** Below this size a separate request costs more than decoding the batch; recompressing costs most. */
const SMALL_BYTES = 32 << 10
const SMALL_PACKED_BYTES = 4 << 10

/**
 * The records of a partition that a reader of committed data would see, from the archive, as batches: as they were stored
 * if possible, and rebuilt otherwise.
 */
export function readOutgoing(
  storage: Storage,
  options: OutgoingOptions,
  signal: AbortSignal,
): AsyncGenerator<Outgoing> {
  return flatten(readBlocks(storage, options, signal))
}

/** The same in blocks: waiting for each batch would cost more than preparing it. */
export async function* readBlocks(
  storage: Storage,
  options: OutgoingOptions,
  signal: AbortSignal,
): AsyncGenerator<OutgoingBlock> {
  const patching = options.ids && openPatching()
  try {
    for await (const block of readSegments(storage, options, patching, signal)) yield named(block, options)
  } catch (error) {
    throw explain(error, options)
  } finally {
    patching?.close()
  }
}

function* named(block: OutgoingBlock, options: OutgoingOptions): Generator<Outgoing> {
  try {
    yield* block
  } catch (error) {
    throw explain(error, options)
  }
}

/** What the batches themselves lack has no name yet. */
function explain(cause: unknown, { name }: OutgoingOptions): unknown {
  if (!(cause instanceof KafkaBackupError) || !hasCode(cause, 'BATCH_INVALID', 'BATCH_OLD_FORMAT')) return cause
  return new KafkaBackupError(cause.code, `${name}: ${cause.message}`, { cause })
}

async function* readSegments(
  storage: Storage,
  options: OutgoingOptions,
  patching: Patching | undefined,
  signal: AbortSignal,
): AsyncGenerator<OutgoingBlock> {
  const aborted = indexAborted([...options.segments.flatMap(segment => segment.aborted ?? []), ...options.openAborted])
  const gathering = (options.takes || options.selects) && openGathering(options)
  const segments = options.segments.filter(one => one.end_offset > options.start && one.start_offset < options.end)
  const ahead = openAhead(storage, segments, options.aheadBytes, signal)
  try {
    for (const segment of segments) {
      const start = latest(segment.start_offset, options.start)
      const wanted = { start, end: options.end, aborted, limits: limitsOf({ ...options, start }) }
      const scoped = { ...options, start }
      if (gathering) {
        const pieces = readPieces(ahead, segment, wanted, signal)
        for await (const piece of readAhead(pieces)) yield gather(gathering, piece, scoped)
      } else {
        const pieces = readAhead(examinePieces(ahead, segment, wanted, signal))
        yield* patching ? patchGroups(pieces, scoped, patching) : convertPieces(pieces, scoped)
      }
    }
  } finally {
    await ahead.close()
  }
  if (gathering) yield asOutgoing(gathering.flush(), options, gatheredBy(options), options.ids?.takeCounts())
}

async function* convertPieces(pieces: AsyncIterable<Piece>, options: OutgoingOptions): AsyncGenerator<OutgoingBlock> {
  for await (const piece of pieces) {
    yield convertPiece(piece, options)
    if (options.givesBack) giveBackMemory(piece.batches.bytes)
  }
}

function* convertPiece(piece: Piece, options: OutgoingOptions): Generator<Outgoing> {
  for (const group of planGroups(piece, options)) {
    if (group.kept) yield asStored(group.kept, options)
    else yield* convert(group, options)
  }
}

/** A block for each chunk that is patched: the next ones are patched meanwhile. */
async function* patchGroups(
  pieces: AsyncIterable<Piece>,
  options: OutgoingOptions,
  patching: Patching,
): AsyncGenerator<OutgoingBlock> {
  const chunks = readChunks(pieces, piece => planGroups(piece, options), options.codec)
  for await (const { groups, failure, release } of patchChunks(chunks, options, patching)) {
    yield convertChunk(groups, failure, options)
    if (options.givesBack) release()
  }
}

function* convertChunk(groups: readonly Group[], failure: unknown, options: OutgoingOptions): Generator<Outgoing> {
  for (const group of groups) yield* convert(group, options)
  if (failure !== undefined) throw failure
}

function* convert(group: Group, options: OutgoingOptions): Generator<Outgoing> {
  const { batches, storedBytes, kept, patched } = group
  const { start, end, timeWindow, maxBytes, batchBytes, codec = 'keep', edit, ids } = options
  const range = { fromOffset: start, endOffset: end, timeWindow }
  const fixed: RebuildOptions = { maxBytes, targetBytes: batchBytes, codec, ...range, ...(edit && { edit }) }
  if (kept) {
    yield* alone(kept, patched, options, fixed)
    return
  }
  const rebuilt = rebuildBatches(batches.sources(), { ...fixed, ...(ids && { patch: ids.patch }) }, storedBytes)
  const counts = ids?.takeCounts()
  yield* asOutgoing(rebuilt, options, conversionOf(group, options, counts), counts)
}

/** A batch that can be sent as it was stored, or patched; unless it became too large when it was recompressed. */
function* alone(
  stored: SourceBatch,
  patched: PatchedBatch | undefined,
  options: OutgoingOptions,
  fixed: RebuildOptions,
): Generator<Outgoing> {
  const { batch, counts, isChanged } = patched ?? { batch: stored, counts: undefined, isChanged: false }
  if (batch.header.sizeBytes > options.maxBytes) {
    yield* asOutgoing(rebuildBatches([batch], fixed, batch.header.sizeBytes), options, 'oversize', counts)
    return
  }
  const outgoing = asStored(batch, options)
  yield { ...outgoing, ...(isChanged && { conversion: 'schema_ids' as const }), ...(counts && { ids: counts }) }
}

/** Which batches become one, and which stay as they are. */
function* planGroups(piece: Piece, options: OutgoingOptions): Generator<Group> {
  for (const { start, count, storedBytes } of planMerges(piece.batches.headers(), mergeLimits(options.batchBytes))) {
    const batches = piece.batches.slice(start, start + count)
    const only = count === 1 ? batches.at(0) : undefined
    const isKept = only !== undefined && !options.edit && only.lastOffset < options.end
    const kept = isKept && staysAsStored(only, piece, options) ? { bytes: batches.bytes, header: only } : undefined
    yield { piece, batches, storedBytes, ...(kept && { kept }) }
  }
}

function mergeLimits(batchBytes: number): MergeLimits {
  const smallBytes = Math.min(SMALL_BYTES, batchBytes / 4)
  return { targetBytes: batchBytes, smallBytes, smallPackedBytes: Math.min(SMALL_PACKED_BYTES, smallBytes) }
}

function staysAsStored(header: BatchHeader, { reasons, earliest }: Piece, options: OutgoingOptions): boolean {
  const reason = reasons.get(header.position)
  const knownMin = earliest.get(header.position)
  if (reason !== 'cut' || knownMin === undefined) return reason === undefined
  return needsRebuild(header, { ...limitsOf(options), knownMin }) === undefined
}

/** Takes the records that are wanted out of batch after batch, and makes full ones of them. */
function openGathering(options: OutgoingOptions): Rebuilder {
  const { timeWindow, maxBytes, batchBytes, codec = 'keep', edit, ids, takes, selects } = options
  const counted = (record: EncodedRecord) => {
    const isTaken = takes?.(record) ?? true
    if (!isTaken) ids?.uncount()
    return isTaken
  }
  const fixed: RebuildOptions = { maxBytes, targetBytes: batchBytes, codec, timeWindow, takes: counted }
  const changes = { ...(edit && { edit }), ...(ids && { patch: ids.patch }) }
  return new Rebuilder({ ...fixed, ...(selects && { selects }), ...changes }, batchBytes)
}

function* gather(gathering: Rebuilder, { batches }: Piece, options: OutgoingOptions): Generator<Outgoing> {
  for (const source of batches.sources()) {
    const full = gathering.add(source, options)
    if (full.length > 0) yield* asOutgoing(full, options, gatheredBy(options), options.ids?.takeCounts())
  }
}

function gatheredBy({ takes }: OutgoingOptions): Conversion {
  return takes ? 'repartitioned' : 'cut'
}

function limitsOf({ start, timeWindow, maxBytes }: OutgoingOptions): BatchLimits {
  return { maxBytes, fromOffset: start, ...(hasBound(timeWindow) && { timeWindow }) }
}

function conversionOf({ piece, batches }: Group, options: OutgoingOptions, counts: IdCounts | undefined): Conversion {
  const needs = new Set(piece.reasons.size > 0 ? batches.positions.map(position => piece.reasons.get(position)) : [])
  if (needs.has('holes')) return 'holes'
  if (needs.has('log-append-time')) return 'log_append_time'
  if (needs.has('oversize')) return 'oversize'
  if (needs.has('cut') || (batches.at(-1)?.lastOffset ?? -1n) >= options.end) return 'cut'
  if (options.edit) return 'headers'
  return counts && counts.key.rewritten + counts.value.rewritten > 0 ? 'schema_ids' : 'merged'
}

function latest(first: bigint, second: bigint): bigint {
  if (second > first) return second
  return first
}
