import type { RebuiltBatch } from '../batch/batch-builder.ts'
import type { SourceBatch } from '../batch/compression.ts'
import { KafkaBackupError } from '../errors.ts'
import { giveBackMemory } from '../lib/recycled-memory.ts'
import type { IdCounts } from './id-counts.ts'

/** A batch that is ready to be stamped and sent. */
export interface Outgoing {
  bytes: Buffer
  recordCount: number
  sourcePartition: number
  /** The source offsets of its records, in order. */
  runs: readonly OffsetRun[]
  /** Why it was rebuilt; absent if it is sent as stored. */
  conversion?: Conversion
  /** What was found of schema ids in its records, and in others that went into none. */
  ids?: IdCounts
}

/** Some batches, in order, made as they are taken. Their memory may be used again when the next block is requested. */
export type OutgoingBlock = Iterable<Outgoing>

/** One by one. */
export async function* flatten(blocks: AsyncIterable<OutgoingBlock>): AsyncGenerator<Outgoing> {
  for await (const block of blocks) yield* block
}

/**
 * `cut` is by a range, a window, a filter, the start of a log or a restore that resumes inside a batch. Of several reasons the
 * first of these counts.
 */
export type Conversion =
  | 'repartitioned'
  | 'holes'
  | 'log_append_time'
  | 'oversize'
  | 'cut'
  | 'headers'
  | 'schema_ids'
  | 'merged'

export interface OffsetRun {
  sourceOffset: bigint
  count: number
}

/** Where batches come from, and the largest that the target takes. */
interface BatchSource {
  /** For messages. */
  name: string
  sourcePartition: number
  maxBytes: number
  /** A batch is needed no more when the next one is asked for, since it is stored: its memory can be used again. */
  givesBack?: true
}

/** The counts are reported with the last one. */
export function* asOutgoing(
  batches: readonly RebuiltBatch[],
  options: BatchSource,
  conversion: Conversion,
  counts: IdCounts | undefined,
): Generator<Outgoing> {
  for (const batch of batches) {
    const outgoing = asRebuilt(batch, options, conversion)
    yield counts && batch === batches.at(-1) ? { ...outgoing, ids: counts } : outgoing
    if (options.givesBack) giveBackMemory(batch.bytes)
  }
}

function asRebuilt(
  { isOversize, bytes, recordCount, runs }: RebuiltBatch,
  options: BatchSource,
  conversion: Conversion,
): Outgoing {
  if (isOversize) throw oversize(options, runs[0]?.sourceOffset, bytes.length)
  return { bytes, recordCount, sourcePartition: options.sourcePartition, runs, conversion }
}

export function asStored({ bytes, header }: SourceBatch, { sourcePartition }: BatchSource): Outgoing {
  return {
    bytes: bytes.subarray(header.position, header.position + header.sizeBytes),
    recordCount: header.recordCount,
    sourcePartition,
    runs: [{ sourceOffset: header.baseOffset, count: header.recordCount }],
  }
}

function oversize({ name, maxBytes }: BatchSource, offset: bigint | undefined, bytes: number): KafkaBackupError {
  const message = `${name}: the record at offset ${offset} makes a batch of ${bytes} bytes; the target takes ${maxBytes}`
  return new KafkaBackupError('RESTORE_REFUSED', message, {
    help: 'Raise `max.message.bytes` on the target topic (`restore.topic_config` changes no topic that exists), then run the same command again.',
  })
}
