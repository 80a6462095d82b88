import type { ShownRecord } from '../inspect/print-format.ts'

/** Turns records into the bytes of one file. It may hold records back until `end`. */
export interface RecordEncoder {
  /** What comes before the first record. */
  start(): Buffer
  add(shown: ShownRecord): Buffer
  end(): Buffer
}

export const NO_BYTES = Buffer.alloc(0)
