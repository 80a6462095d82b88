import { KafkaBackupError } from '../errors.ts'
import { BatchBuilder, type RebuiltBatch, sealBatch } from './batch-builder.ts'
import { knownCodec, type SourceBatch } from './compression.ts'
import { type BatchHeader, type Codec, HEADER_BYTES, isControl } from './header.ts'
import type { TimeWindow } from './needs.ts'
import { applyPatch, type PatchRecord } from './patch-batch.ts'
import { type EncodedRecord, RecordCursor } from './record-cursor.ts'
import { type EditRecord, RecordEditor } from './record-editor.ts'

export interface RebuildOptions {
  /** The largest batch, header included. A single larger record becomes a separate batch with `isOversize`. */
  maxBytes: number
  /** At about this size the next batch begins. Of compressed records the size is an estimate by their source's ratio. */
  targetBytes: number
  /** `keep` is the codec that the source of the batch's first record has. */
  codec: Codec | 'keep'
  /** Records below are left out. */
  fromOffset?: bigint
  /** Records at and above are left out. */
  endOffset?: bigint
  /** Records outside are left out. */
  timeWindow?: TimeWindow
  /** Asked for every record that is left, before anything of it is changed; others are left out, too. */
  selects?: (record: EncodedRecord) => boolean
  /** Changes every record that is left, in the source's own memory where that is not packed. */
  patch?: PatchRecord
  /** Asked for every record that is left; those that it does not take are left out, too. */
  takes?: (record: EncodedRecord) => boolean
  /** Asked for every record that is left then. */
  edit?: EditRecord
}

/**
 * New batches out of the records of these, in order, without the holes between them. A record keeps its attributes, key,
 * value, headers and visible time: in a LogAppendTime source that is the batch's maximum, and is written into each.
 * Empty batches leave nothing behind, nor do control batches, because their records are not data.
 */
export function rebuildBatches(
  sources: Iterable<SourceBatch>,
  options: RebuildOptions,
  expectedBytes = 0,
): RebuiltBatch[] {
  const rebuilder = new Rebuilder(options, expectedBytes)
  const { fromOffset: start, endOffset: end } = options
  const range = { ...(start !== undefined && { start }), ...(end !== undefined && { end }) }
  const rebuilt: RebuiltBatch[] = []
  for (const source of sources) rebuilt.push(...rebuilder.add(source, range))
  return [...rebuilt, ...rebuilder.flush()]
}

/** What most sources complete. */
const NONE: readonly RebuiltBatch[] = []

/** The same for sources that come little by little: what is left of one waits for the next until a batch is full. */
export class Rebuilder {
  readonly #options: Omit<RebuildOptions, 'fromOffset' | 'endOffset'>
  readonly #builder: BatchBuilder
  readonly #cursor = new RecordCursor()
  readonly #filter: RecordFilter
  readonly #editor: RecordEditor | undefined
  #codec: Codec = 'none'

  constructor(options: Omit<RebuildOptions, 'fromOffset' | 'endOffset'>, expectedBytes: number) {
    this.#options = options
    this.#builder = new BatchBuilder(Math.min(options.targetBytes, options.maxBytes) - HEADER_BYTES, expectedBytes)
    this.#filter = new RecordFilter(options.timeWindow)
    this.#editor = options.edit && new RecordEditor(this.#cursor, options.edit)
  }

  /** The batches that are full with the records of this one that lie in the range. The source is not needed any more. */
  add({ bytes, header }: SourceBatch, range: OffsetRange = {}): readonly RebuiltBatch[] {
    if (header.recordCount === 0 || isControl(header.attributes)) return NONE
    let rebuilt = NONE
    const builder = this.#builder
    const plainBytes = this.#cursor.open(bytes, header)
    this.#filter.open(header, range)
    let weight = this.#weigh(header, plainBytes)
    while (this.#cursor.next()) {
      if (!this.#filter.keeps(this.#cursor)) continue
      if (!this.#answers(this.#options.selects)) continue
      if (this.#options.patch) applyPatch(this.#cursor, this.#options.patch)
      if (!this.#answers(this.#options.takes)) continue
      const record = this.#editor ? this.#editor.apply() : this.#cursor
      if (record === undefined || builder.append(record, weight)) continue
      rebuilt = [...rebuilt, ...this.flush()]
      weight = this.#weigh(header, plainBytes)
      builder.append(record, weight)
    }
    return rebuilt
  }

  /** What is left. */
  flush(): RebuiltBatch[] {
    if (this.#builder.count === 0) return []
    return sealBatch(this.#builder.take(), this.#codec, this.#options.maxBytes)
  }

  #answers(question: ((record: EncodedRecord) => boolean) | undefined): boolean {
    try {
      return question?.(this.#cursor) ?? true
    } catch (cause) {
      throw cause instanceof KafkaBackupError ? cause : this.#cursor.refusal(cause)
    }
  }

  /** How many bytes a plain byte of this source is likely to take in the batch, which may begin with it. */
  #weigh(header: BatchHeader, plainBytes: number): number {
    const { codec } = this.#options
    const own = knownCodec(header)
    if (this.#builder.count === 0) this.#codec = codec === 'keep' ? own : codec
    if (this.#codec === 'none' || this.#codec !== own) return 1
    return Math.min(1, (header.sizeBytes - HEADER_BYTES) / plainBytes)
  }
}

/** Offsets in [start, end); a bound that is absent does not limit. */
interface OffsetRange {
  start?: bigint
  end?: bigint
}

/** Which records are wanted, told by numbers alone. */
class RecordFilter {
  readonly #window: TimeWindow
  readonly #start: number
  readonly #end: number
  #fromDelta = Number.NEGATIVE_INFINITY
  #endDelta = Number.POSITIVE_INFINITY

  /** Rounding of bounds beyond exact numbers does not matter, because no timestamps are that large. */
  constructor(window: TimeWindow = {}) {
    this.#window = window
    this.#start = window.start === undefined ? Number.NEGATIVE_INFINITY : Number(window.start)
    this.#end = window.end === undefined ? Number.POSITIVE_INFINITY : Number(window.end)
  }

  /** Of the batch that comes next, records outside of [start, end) are not wanted. */
  open({ baseOffset }: BatchHeader, { start, end }: OffsetRange): void {
    this.#fromDelta = start === undefined ? Number.NEGATIVE_INFINITY : Number(start - baseOffset)
    this.#endDelta = end === undefined ? Number.POSITIVE_INFINITY : Number(end - baseOffset)
  }

  keeps(record: EncodedRecord): boolean {
    if (record.offsetDelta < this.#fromDelta || record.offsetDelta >= this.#endDelta) return false
    if (Number.isNaN(record.time)) return this.#keepsWide(record.wideTime)
    return record.time >= this.#start && record.time < this.#end
  }

  #keepsWide(time: bigint): boolean {
    const { start, end } = this.#window
    return (start === undefined || time >= start) && (end === undefined || time < end)
  }
}
