import type { ShownRecord } from '../inspect/print-format.ts'
import { recordDocument } from '../inspect/show-record.ts'
import { formatJson } from '../lib/json.ts'
import { NO_BYTES, type RecordEncoder } from './record-encoder.ts'

/** A JSON object on one line for each record, the same as of `cat --format json`. */
export const jsonLines: RecordEncoder = {
  start: () => NO_BYTES,
  add: (shown: ShownRecord) => Buffer.from(`${formatJson(recordDocument(shown.record, shown))}\n`),
  end: () => NO_BYTES,
}
