import type { KafkaRecord } from '../batch/records.ts'

type Field = 'key' | 'value' | 'headers' | 'timestamp'

/** One record that is not on the target as the backup says. */
export interface Difference {
  /** `extra` is on the target and not in the backup. */
  kind: 'missing' | 'extra' | 'different'
  /** Undefined for an extra record, and if unknown. */
  sourcePartition?: number
  /** Undefined for an extra one. */
  sourceOffset?: bigint
  /** Undefined for a missing one. */
  targetOffset?: bigint
  /** What of it differs. */
  fields: Field[]
  /** A few bytes of the first field that differs, from shortly before the place where it does. */
  expected?: string
  actual?: string
}

/** A record as it should be, with the partition that it had at the source where that is known. */
export type ExpectedRecord = KafkaRecord & { sourcePartition?: number }

const EXCERPT_BYTES = 40
/** How many bytes are shown before the first that differs. */
const LEAD_BYTES = 8

/** The same in everything that a consumer sees, the offset aside. */
export function isSame(a: KafkaRecord, b: KafkaRecord): boolean {
  return a.timestamp === b.timestamp && sameBytes(a.value, b.value) && sameBytes(a.key, b.key) && sameHeaders(a, b)
}

/** About what a record takes in memory. */
export function sizeOfRecord({ key, value, headers }: KafkaRecord): number {
  return 100 + (key?.length ?? 0) + (value?.length ?? 0) + headers.length * 50
}

export function differentRecord(expected: ExpectedRecord, actual: KafkaRecord): Difference {
  const fields = differingFields(expected, actual)
  const [first = 'value'] = fields
  const [ours, theirs] = [bytesOf(expected, first), bytesOf(actual, first)]
  const from = fits(ours) && fits(theirs) ? 0 : Math.max(0, firstDifference(ours, theirs) - LEAD_BYTES)
  return {
    kind: 'different',
    ...originOf(expected),
    targetOffset: actual.offset,
    fields,
    expected: excerpt(ours, from),
    actual: excerpt(theirs, from),
  }
}

export function missingRecord(expected: ExpectedRecord): Difference {
  return { kind: 'missing', ...originOf(expected), fields: [], expected: excerpt(expected.value, 0) }
}

export function extraRecord(actual: KafkaRecord): Difference {
  return { kind: 'extra', targetOffset: actual.offset, fields: [], actual: excerpt(actual.value, 0) }
}

/** Readable text as it is, anything else in hex; never more than a few bytes of a value. */
function excerpt(bytes: Buffer | null, from: number): string {
  if (bytes === null) return 'null'
  const some = bytes.subarray(from, from + EXCERPT_BYTES)
  const isText = some.every(byte => byte >= 0x20 && byte < 0x7f)
  const shown = isText ? JSON.stringify(some.toString('latin1')) : `0x${some.toString('hex')}`
  const rest = bytes.length - from - some.length
  return `${from > 0 ? `(${from} bytes) … ` : ''}${shown}${rest > 0 ? ` … (${rest} bytes)` : ''}`
}

function originOf({ sourcePartition, offset }: ExpectedRecord): Pick<Difference, 'sourcePartition' | 'sourceOffset'> {
  return { ...(sourcePartition !== undefined && { sourcePartition }), sourceOffset: offset }
}

function differingFields(a: KafkaRecord, b: KafkaRecord): Field[] {
  const differs: Record<Field, boolean> = {
    key: !sameBytes(a.key, b.key),
    value: !sameBytes(a.value, b.value),
    headers: !sameHeaders(a, b),
    timestamp: a.timestamp !== b.timestamp,
  }
  return (['key', 'value', 'headers', 'timestamp'] as const).filter(field => differs[field])
}

function sameBytes(a: Buffer | null, b: Buffer | null): boolean {
  return a === null || b === null ? a === b : a.equals(b)
}

function sameHeaders({ headers: a }: KafkaRecord, { headers: b }: KafkaRecord): boolean {
  return (
    a.length === b.length &&
    a.every(([name, value], i) => {
      const [otherName, otherValue] = b[i] ?? ['', null]
      return name === otherName && sameBytes(value, otherValue)
    })
  )
}

function bytesOf(record: KafkaRecord, field: Field): Buffer | null {
  if (field === 'timestamp') return Buffer.from(String(record.timestamp))
  if (field !== 'headers') return record[field]
  return Buffer.concat(
    record.headers.flatMap(([name, value]) => [
      Buffer.from(`${name}=`),
      value ?? Buffer.from('null'),
      Buffer.from(';'),
    ]),
  )
}

function fits(bytes: Buffer | null): boolean {
  return bytes === null || bytes.length <= EXCERPT_BYTES
}

function firstDifference(a: Buffer | null, b: Buffer | null): number {
  if (a === null || b === null) return 0
  const shorter = Math.min(a.length, b.length)
  for (let i = 0; i < shorter; i++) if (a[i] !== b[i]) return i
  return shorter
}
