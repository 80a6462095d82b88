import { decodeRecord, encodeRecord, type OracleRecord } from '../oracle/records.ts'

export interface SeedRecord {
  /** -1 leaves it to the producer. */
  partition: number
  key: Buffer | null
  value: Buffer | null
  headers?: [string, Buffer | null][]
  /** Milliseconds; the producer's time of sending where it is not given. */
  timestamp?: number
}

export interface RecordPlace {
  partition: number
  offset: bigint
}

export interface ConsumedRecord extends OracleRecord, RecordPlace {
  offset: bigint
  timestampType: 'CreateTime' | 'LogAppendTime'
  leaderEpoch?: number
}

/** partition INT32, record; the form that java/RecordCodec.java decodes. */
export function encodeSeed(record: SeedRecord): Buffer[] {
  const partition = Buffer.allocUnsafe(4)
  partition.writeInt32BE(record.partition)
  const { key, value, headers = [], timestamp = -1 } = record
  return [partition, encodeRecord({ key, value, headers, timestamp: BigInt(timestamp) })]
}

/** partition INT32, offset INT64, for each record that was sent. */
export function decodePlaces(payloads: readonly Buffer[]): RecordPlace[] {
  const bytes = Buffer.concat(payloads)
  return Array.from({ length: bytes.length / 12 }, (_, index) => ({
    partition: bytes.readInt32BE(index * 12),
    offset: bytes.readBigInt64BE(index * 12 + 4),
  }))
}

/** A row of: partition INT32, offset INT64, leader epoch INT32 (-1 is none), timestamp type INT8, record. */
export function decodeConsumed(payload: Buffer): ConsumedRecord[] {
  const records: ConsumedRecord[] = []
  for (let at = 0; at < payload.length; ) {
    const leaderEpoch = payload.readInt32BE(at + 12)
    const { record, end } = decodeRecord(payload, at + 17)
    records.push({
      ...record,
      partition: payload.readInt32BE(at),
      offset: payload.readBigInt64BE(at + 4),
      timestampType: payload.readInt8(at + 16) === 1 ? 'LogAppendTime' : 'CreateTime',
      ...(leaderEpoch === -1 ? {} : { leaderEpoch }),
    })
    at = end
  }
  return records
}
