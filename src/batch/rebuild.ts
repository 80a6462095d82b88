import { BatchBuilder } from './batch-builder.ts'
import { knownCodec } from './body.ts'
import { type BatchHeader, type Codec, HEADER_BYTES, isControl } from './header.ts'
import type { TimeWindow } from './needs.ts'
import { RecordCursor } from './record-cursor.ts'
import { type EditRecord, RecordEditor } from './record-editor.ts'
import { RecordFilter } from './record-filter.ts'
import { type RebuiltBatch, sealBatch } from './seal.ts'

export interface SourceBatch {
  bytes: Buffer
  header: BatchHeader
}

export interface RebuildOptions {
  /** The largest batch, header included. A single record beyond it makes a batch of its own that says so. */
  maxBytes: number
  /** At about this size the next batch begins. Of compressed records the size is an estimate by their source's ratio. */
  targetBytes: number
  /** `keep` is the codec of the first source. */
  codec: Codec | 'keep'
  /** Records below are left out. */
  fromOffset?: bigint
  /** Records outside are left out. */
  timeWindow?: TimeWindow
  /** Asked for every record that is left. */
  edit?: EditRecord
}

/**
 * New batches out of the records of these, in order, without the holes between them. A record keeps its attributes, key,
 * value, headers and visible time: in a LogAppendTime source that is the batch's maximum, and is written into each.
 * Empty batches leave nothing behind, nor do control batches: their records are no data.
 */
export function rebuildBatches(sources: readonly SourceBatch[], options: RebuildOptions): RebuiltBatch[] {
  const [first] = sources
  if (first === undefined) return []
  const codec = options.codec === 'keep' ? knownCodec(first.header) : options.codec
  const storedBytes = sources.reduce((sum, { header }) => sum + header.sizeBytes, 0)
  const builder = new BatchBuilder(Math.min(options.targetBytes, options.maxBytes) - HEADER_BYTES, storedBytes)
  const rebuilt: RebuiltBatch[] = []
  const seal = () => rebuilt.push(...sealBatch(builder.take(), codec, options.maxBytes))
  const cursor = new RecordCursor()
  const filter = new RecordFilter(options.fromOffset, options.timeWindow)
  const editor = options.edit && new RecordEditor(cursor, options.edit)
  for (const { bytes, header } of sources) {
    if (header.recordCount === 0 || isControl(header.attributes)) continue
    filter.open(header)
    const weight = weightOf(header, codec, cursor.open(bytes, header))
    while (cursor.next()) {
      if (!filter.keeps(cursor)) continue
      const record = editor ? editor.apply() : cursor
      if (record === undefined || builder.append(record, weight)) continue
      seal()
      builder.append(record, weight)
    }
  }
  if (builder.count > 0) seal()
  return rebuilt
}

/** How many bytes a plain byte of this source is likely to take in the new batch. */
function weightOf(header: BatchHeader, codec: Codec, plainBytes: number): number {
  if (codec === 'none' || codec !== knownCodec(header)) return 1
  return Math.min(1, (header.sizeBytes - HEADER_BYTES) / plainBytes)
}
