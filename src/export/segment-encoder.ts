import { computeCrc } from '../batch/crc.ts'
import { HEADER_BYTES } from '../batch/header.ts'
import type { KafkaRecord } from '../batch/records.ts'
import { varlongBytes, writeVarlong } from '../batch/varint.ts'
import type { ChooseFile } from './export-topics.ts'
import { NO_BYTES, type RecordEncoder } from './record-encoder.ts'

/** The file name is the offset that the offsets in its index count from, and those have 32 bits. */
export const MAX_DISTANCE = 2n ** 31n - 1n

/** One file for each partition: `<topic>-<partition>/<first offset>.log`, as brokers name them. */
export function segmentChooser(): ChooseFile {
  const bases = new Map<string, bigint>()
  return ({ record: { topic, partition, offset } }) => {
    const key = `${topic}/${partition}`
    const known = bases.get(key)
    const base = known !== undefined && offset - known <= MAX_DISTANCE ? known : offset
    bases.set(key, base)
    return { suffix: segmentName(partition, base), open: segmentEncoder }
  }
}

export function segmentName(partition: number, base: bigint): string {
  return `-${partition}/${String(base).padStart(20, '0')}.log`
}

const BATCH_BYTES = 256 << 10

/** Plain batches of selected records, with the offsets and times that they have, as compaction leaves them. */
function segmentEncoder(): RecordEncoder {
  let held: KafkaRecord[] = []
  let encoded: Buffer[] = []
  let heldBytes = 0
  const batch = (): Buffer => {
    const [first] = held
    if (!first) return NO_BYTES
    const bytes = encodeBatch(held, encoded)
    held = []
    encoded = []
    heldBytes = 0
    return bytes
  }
  return {
    start: () => NO_BYTES,
    add: ({ record }) => {
      const { offset, timestamp } = record
      const first = held[0] ?? record
      const isFar = offset - first.offset > MAX_DISTANCE
      const full = isFar || heldBytes >= BATCH_BYTES ? batch() : NO_BYTES
      const base = held[0] ?? record
      // A copy: the record lies in the memory of its batch.
      const bytes = encodeRecord(record, timestamp - base.timestamp, offset - base.offset)
      held.push({ offset, timestamp, key: null, value: null, headers: [] })
      encoded.push(bytes)
      heldBytes += bytes.length
      return full
    },
    end: batch,
  }
}

/** See `batch/header.ts` for the header. There is no producer: the records are not a continuation of what it wrote. */
function encodeBatch(records: readonly KafkaRecord[], encoded: readonly Buffer[]): Buffer {
  const [first] = records
  const last = records.at(-1)
  if (!first || !last) return NO_BYTES
  const header = Buffer.alloc(HEADER_BYTES)
  const bytes = Buffer.concat([header, ...encoded])
  bytes.writeBigInt64BE(first.offset, 0)
  bytes.writeInt32BE(bytes.length - 12, 8)
  bytes.writeInt8(2, 16)
  bytes.writeInt32BE(Number(last.offset - first.offset), 23)
  bytes.writeBigInt64BE(first.timestamp, 27)
  bytes.writeBigInt64BE(
    records.reduce((most, { timestamp }) => (timestamp > most ? timestamp : most), first.timestamp),
    35,
  )
  bytes.writeBigInt64BE(-1n, 43)
  bytes.writeInt16BE(-1, 51)
  bytes.writeInt32BE(-1, 53)
  bytes.writeInt32BE(records.length, 57)
  bytes.writeUInt32BE(computeCrc(bytes), 17)
  return bytes
}

/** `length, attributes, timestampDelta, offsetDelta, key, value, headers`; see `batch/records.ts`. */
function encodeRecord({ key, value, headers }: KafkaRecord, timeDelta: bigint, offsetDelta: bigint): Buffer {
  const body = Buffer.concat([
    Buffer.alloc(1),
    // Times are added with 64 bits.
    varlong(BigInt.asIntN(64, timeDelta)),
    varlong(offsetDelta),
    ...field(key),
    ...field(value),
    varlong(BigInt(headers.length)),
    ...headers.flatMap(([name, one]) => [...field(Buffer.from(name)), ...field(one)]),
  ])
  return Buffer.concat([varlong(BigInt(body.length)), body])
}

function field(bytes: Buffer | null): Buffer[] {
  return bytes === null ? [varlong(-1n)] : [varlong(BigInt(bytes.length)), bytes]
}

function varlong(value: bigint): Buffer {
  const bytes = Buffer.alloc(varlongBytes(value))
  writeVarlong(bytes, 0, value)
  return bytes
}
