import type { BatchHeader } from './header.ts'
import type { TimeWindow } from './needs.ts'
import type { EncodedRecord } from './record-cursor.ts'

/** Offsets in [start, end); a bound that is absent does not limit. */
export interface OffsetRange {
  start?: bigint
  end?: bigint
}

/** Which records are wanted, told by numbers alone. */
export class RecordFilter {
  readonly #window: TimeWindow
  readonly #start: number
  readonly #end: number
  #fromDelta = Number.NEGATIVE_INFINITY
  #endDelta = Number.POSITIVE_INFINITY

  /** Bounds that are no exact numbers are far beyond all times that are, so that their rounding does not matter. */
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
