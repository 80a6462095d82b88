import { BatchBuilder, type OffsetRun, type PlainBatch } from './batch-builder.ts'
import { compress } from './compression.ts'
import { computeCrc } from './crc.ts'
import { type Codec, codecNames, HEADER_BYTES, readHeader } from './header.ts'
import { RecordCursor } from './record-cursor.ts'

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
  const bytes = encodeBatch(batch, codec)
  if (bytes.length <= maxBytes) return [rebuilt(batch, bytes, false)]
  if (HEADER_BYTES + batch.plain.length <= maxBytes) return [rebuilt(batch, encodeBatch(batch, 'none'), false)]
  if (batch.recordCount === 1) return [rebuilt(batch, bytes, true)]
  return halve(batch).flatMap(half => sealBatch(half, codec, maxBytes))
}

function rebuilt({ plain, ...facts }: PlainBatch, bytes: Buffer, isOversize: boolean): RebuiltBatch {
  return { bytes, ...facts, isOversize }
}

function encodeBatch(batch: PlainBatch, codec: Codec): Buffer {
  const body = compress(codec, batch.plain)
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + body.length)
  bytes.writeBigInt64BE(0n, 0)
  bytes.writeInt32BE(bytes.length - 12, 8)
  bytes.writeInt32BE(-1, 12)
  bytes.writeInt8(2, 16)
  bytes.writeInt16BE(codecNames.indexOf(codec), 21)
  bytes.writeInt32BE(batch.recordCount - 1, 23)
  bytes.writeBigInt64BE(batch.firstTimestamp, 27)
  bytes.writeBigInt64BE(batch.maxTimestamp, 35)
  bytes.writeBigInt64BE(-1n, 43)
  bytes.writeInt16BE(-1, 51)
  bytes.writeInt32BE(-1, 53)
  bytes.writeInt32BE(batch.recordCount, 57)
  body.copy(bytes, HEADER_BYTES)
  bytes.writeUInt32BE(computeCrc(bytes), 17)
  return bytes
}

/** The records once more, in two batches of about the same number, or more where their times lie too far apart. */
function halve(batch: PlainBatch): PlainBatch[] {
  const whole = encodeBatch(batch, 'none')
  const cursor = new RecordCursor()
  cursor.open(whole, readHeader(whole, 0))
  const half = batch.recordCount >> 1
  const begin = () => new BatchBuilder(Number.POSITIVE_INFINITY, batch.plain.length >> 1)
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
