import type { KafkaRecord } from '../batch/records.ts'

/** A record of a backup, and what a reader of committed data makes of it. */
export interface FoundRecord extends KafkaRecord {
  topic: string
  partition: number
  /** `plain` is outside of a transaction. A marker ends a transaction; consumers never see it. */
  transaction: 'plain' | 'committed' | 'aborted' | 'commit marker' | 'abort marker' | 'other marker'
}

/** What is read of a partition. Ends are exclusive. */
export interface Extent {
  offsets: { start?: bigint | undefined; end?: bigint | undefined }
  /** Milliseconds since 1970. */
  times: { start?: bigint | undefined; end?: bigint | undefined }
  /** Also what was rolled back, and markers. */
  withAborted: boolean
}

/** The bytes of a record are a part of its batch, which must not stay in memory for its sake. */
export function detached(record: FoundRecord): FoundRecord {
  const copy = (bytes: Buffer | null) => bytes && Buffer.from(bytes)
  const headers = record.headers.map(([name, bytes]): [string, Buffer | null] => [name, copy(bytes)])
  return { ...record, key: copy(record.key), value: copy(record.value), headers }
}
