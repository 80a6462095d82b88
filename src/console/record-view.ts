import type { FoundRecord } from '../inspect/found-record.ts'
import type { SchemaDecoder } from '../inspect/schema-decoder.ts'
import { cut, type HeaderView, type PartLimits, type PartView, rowLimits, viewHeader, viewPart } from './show-part.ts'

export interface RecordView {
  partition: number
  offset: bigint
  timestamp: bigint
  transaction: FoundRecord['transaction']
  key: PartView
  value: PartView
  /** The first of them. */
  headers: readonly { name: string; value: HeaderView | null }[]
  headerCount: number
}

/** Headers of a record, of which there may be many. */
const MAX_HEADERS = 100

/** Reads the schemas that the record names, if they were not read before. */
export async function viewRecord(
  record: FoundRecord,
  decoder: SchemaDecoder,
  limits: PartLimits,
  signal: AbortSignal,
): Promise<RecordView> {
  const { partition, offset, timestamp, transaction, headers } = record
  const first = headers.slice(0, MAX_HEADERS)
  await decoder.prepare(record, ['key', 'value'], signal)
  await decoder.prepareHeaders({ headers: first }, signal)
  const isMarker = transaction.endsWith('marker')
  const none: PartView = { form: 'null', text: '', isCut: false, size: 0 }
  return {
    ...{ partition, offset, timestamp, transaction },
    key: isMarker ? none : viewPart(record, 'key', decoder, limits),
    value: isMarker ? none : viewPart(record, 'value', decoder, limits),
    headerCount: headers.length,
    headers: first.map(([name, bytes]) => ({
      name: shorten(name),
      value: viewHeader([name, bytes], decoder),
    })),
  }
}

function shorten(name: string): string {
  const { text, isCut } = cut(name, rowLimits.maxChars)
  return isCut ? `${text}…` : text
}

/** Of the shown text, in characters. */
export function sizeOf({ key, value, headers }: RecordView): number {
  return headers.reduce(
    (sum, one) => sum + one.name.length + (one.value?.text.length ?? 0),
    key.text.length + value.text.length,
  )
}
