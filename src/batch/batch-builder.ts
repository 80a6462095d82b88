import { giveBackMemory, takeMemory } from '../lib/recycled-memory.ts'
import { compress } from './compression.ts'
import { type BatchFacts, frameBatch, writeFrame } from './frame-batch.ts'
import { type Codec, codecNames, HEADER_BYTES, readHeader } from './header.ts'
import { type EncodedRecord, RecordCursor, timestampOf } from './record-cursor.ts'
import { varintBytes, varlongBytes, writeVarint, writeVarlong } from './varint.ts'

/** `count` records with consecutive offsets in the source. */
interface OffsetRun {
  sourceOffset: bigint
  count: number
}

/** The records of a batch to be: offsets from 0 on without holes, times relative to the first. */
interface PlainBatch {
  /** The records, with room for the header of a batch before them, in memory that is lent to the taker of the batch. */
  framed: Buffer
  recordCount: number
  runs: OffsetRun[]
  firstTimestamp: bigint
  maxTimestamp: bigint
}

/** No batch has more plain bytes than this unless a single record does, however well it is compressed. */
const MAX_PLAIN_BYTES = 32 << 20
/** Up to here a loop is faster than the call of a copy. */
const SHORT_COPY_BYTES = 24

/** Gathers records of several batches in the plain bytes of one. */
export class BatchBuilder {
  count = 0
  readonly #limitBytes: number
  readonly #expectedBytes: number
  /** From `HEADER_BYTES` on. */
  #bytes: Buffer = Buffer.alloc(0)
  #position = HEADER_BYTES
  /** What the records so far weigh, compared with the limit. */
  #weight = 0
  #firstTime = 0
  #firstTimestamp = 0n
  #maxTime = Number.NEGATIVE_INFINITY
  #maxWideTime: bigint | undefined
  #runs: OffsetRun[] = []
  #run: OffsetRun = { sourceOffset: -1n, count: 0 }
  #offsetBase = -1n
  #nextDelta = Number.NaN

  /** Room is made for what is expected; more is made when it is needed. */
  constructor(limitBytes: number, expectedBytes: number) {
    this.#limitBytes = limitBytes
    this.#expectedBytes = Math.max(0, Math.min(limitBytes, expectedBytes))
  }

  /**
   * Adds the record, each of its bytes counted as `weight` bytes; or returns false, with nothing changed, where it
   * belongs into the next batch. The first record is always taken.
   */
  append(record: EncodedRecord, weight: number): boolean {
    const isFirst = this.count === 0
    if (isFirst) this.#begin(record)
    const delta = record.time - this.#firstTime
    const wideDelta = Number.isNaN(delta) ? timestampOf(record) - this.#firstTimestamp : undefined
    const deltaBytes = wideDelta === undefined ? varintBytes(delta) : varlongBytes(wideDelta)
    const tailBytes = record.tailEnd - record.tailStart
    const length = 1 + deltaBytes + varintBytes(this.count) + tailBytes
    const recordBytes = varintBytes(length) + length
    const weighs = recordBytes * weight
    if (!isFirst && (!this.#hasRoom(weighs, length) || (wideDelta !== undefined && !isInt64(wideDelta)))) return false

    this.#reserve(recordBytes)
    let at = writeVarint(this.#bytes, this.#position, length)
    this.#bytes[at++] = record.attributes
    at = wideDelta === undefined ? writeVarint(this.#bytes, at, delta) : writeVarlong(this.#bytes, at, wideDelta)
    at = writeVarint(this.#bytes, at, this.count)
    this.#position = copyBytes(record.buffer, record.tailStart, record.tailEnd, this.#bytes, at)
    this.#weight += weighs
    this.#noteTime(record)
    this.#noteOffset(record)
    this.count++
    return true
  }

  /** The batch so far; the builder begins with the next one. */
  take(): PlainBatch {
    const maxTime = this.#maxTime === Number.NEGATIVE_INFINITY ? undefined : BigInt(this.#maxTime)
    const batch = {
      framed: this.#bytes.subarray(0, this.#position),
      recordCount: this.count,
      runs: this.#runs,
      firstTimestamp: this.#firstTimestamp,
      maxTimestamp: later(maxTime, this.#maxWideTime),
    }
    this.count = 0
    this.#bytes = Buffer.alloc(0)
    return batch
  }

  #begin(record: EncodedRecord): void {
    this.#position = HEADER_BYTES
    this.#weight = 0
    this.#firstTime = record.time
    this.#firstTimestamp = timestampOf(record)
    this.#maxTime = Number.NEGATIVE_INFINITY
    this.#maxWideTime = undefined
    this.#runs = []
    this.#nextDelta = Number.NaN
  }

  #hasRoom(weighs: number, bytes: number): boolean {
    return this.#weight + weighs <= this.#limitBytes && this.#position + bytes <= MAX_PLAIN_BYTES
  }

  #reserve(bytes: number): void {
    const needed = this.#position + bytes
    if (needed <= this.#bytes.length) return
    const larger = takeMemory(Math.max(needed, 2 * this.#bytes.length, HEADER_BYTES + this.#expectedBytes))
    if (this.#position > HEADER_BYTES) this.#bytes.copy(larger, HEADER_BYTES, HEADER_BYTES, this.#position)
    giveBackMemory(this.#bytes)
    this.#bytes = larger
  }

  #noteTime({ time, wideTime }: EncodedRecord): void {
    if (time > this.#maxTime) this.#maxTime = time
    else if (Number.isNaN(time)) this.#maxWideTime = later(this.#maxWideTime, wideTime)
  }

  /** Compares numbers within one source, for speed. */
  #noteOffset({ offsetBase, offsetDelta }: EncodedRecord): void {
    const isContiguous = offsetDelta === this.#nextDelta && offsetBase === this.#offsetBase
    if (isContiguous || this.#isNext(offsetBase + BigInt(offsetDelta))) {
      this.#run.count++
    } else {
      this.#run = { sourceOffset: offsetBase + BigInt(offsetDelta), count: 1 }
      this.#runs.push(this.#run)
    }
    this.#offsetBase = offsetBase
    this.#nextDelta = offsetDelta + 1
  }

  #isNext(offset: bigint): boolean {
    return this.#runs.length > 0 && offset === this.#run.sourceOffset + BigInt(this.#run.count)
  }
}

function copyBytes(from: Buffer, start: number, end: number, to: Buffer, position: number): number {
  if (end - start > SHORT_COPY_BYTES) from.copy(to, position, start, end)
  else for (let i = start, at = position; i < end; i++, at++) to[at] = from[i] ?? 0
  return position + end - start
}

function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value
}

function later(one: bigint | undefined, other: bigint | undefined): bigint {
  if (one === undefined || other === undefined) return one ?? other ?? -1n
  return one > other ? one : other
}

export interface RebuiltBatch {
  /** A whole batch from offset 0 on, with CreateTime, of no producer yet. */
  bytes: Buffer
  recordCount: number
  /** Where its records come from, in their order. */
  runs: OffsetRun[]
  firstTimestamp: bigint
  maxTimestamp: bigint
  /** It holds a single record, which alone is more than the largest batch allowed. */
  isOversize: boolean
}

/**
 * Encodes a batch of `maxBytes` at most. What turns out larger after compression is sent without where that helps, else
 * halved until it fits.
 */
export function sealBatch(batch: PlainBatch, codec: Codec, maxBytes: number): RebuiltBatch[] {
  if (codec !== 'none') {
    const packed = frameBatch(factsOf(batch, codec), compress(codec, batch.framed.subarray(HEADER_BYTES)))
    const isOversize = packed.length > maxBytes
    if (!isOversize || (batch.recordCount === 1 && batch.framed.length > maxBytes)) {
      giveBackMemory(batch.framed)
      return [rebuilt(batch, packed, isOversize)]
    }
  }
  const bytes = encodePlain(batch)
  if (bytes.length <= maxBytes) return [rebuilt(batch, bytes, false)]
  if (batch.recordCount === 1) return [rebuilt(batch, bytes, true)]
  const halves = halve(batch, bytes)
  giveBackMemory(bytes)
  return halves.flatMap(half => sealBatch(half, codec, maxBytes))
}

function rebuilt({ framed, ...facts }: PlainBatch, bytes: Buffer, isOversize: boolean): RebuiltBatch {
  return { bytes, ...facts, isOversize }
}

/** Where the records lie: they are not copied. */
function encodePlain(batch: PlainBatch): Buffer {
  writeFrame(factsOf(batch, 'none'), batch.framed)
  return batch.framed
}

function factsOf({ firstTimestamp, maxTimestamp, recordCount: records }: PlainBatch, codec: Codec): BatchFacts {
  const attributes = codecNames.indexOf(codec)
  return { baseOffset: 0n, attributes, lastOffsetDelta: records - 1, firstTimestamp, maxTimestamp, records }
}

/** The records of the encoded batch once more, in two batches of about the same number, or more where their times lie too far apart. */
function halve(batch: PlainBatch, whole: Buffer): PlainBatch[] {
  const cursor = new RecordCursor()
  cursor.open(whole, readHeader(whole, 0))
  const half = batch.recordCount >> 1
  const begin = () => new BatchBuilder(Number.POSITIVE_INFINITY, whole.length >> 1)
  const halves: PlainBatch[] = []
  let builder = begin()
  const next = () => {
    halves.push(builder.take())
    builder = begin()
  }
  let index = 0
  for (const run of batch.runs) {
    // Within the run the source's offset is as far from this base as the record is from the batch's beginning.
    cursor.offsetBase = run.sourceOffset - BigInt(index)
    for (const end = index + run.count; index < end && cursor.next(); index++) {
      if (index === half) next()
      if (builder.append(cursor, 1)) continue
      next()
      builder.append(cursor, 1)
    }
  }
  return [...halves, builder.take()]
}
