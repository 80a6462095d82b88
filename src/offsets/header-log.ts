import { type PartitionBounds, partitionKey, type TopicPartition } from '../kafka/offsets.ts'
import { mixedProblem } from './mixed-partition.ts'
import type { OffsetsPort } from './offsets-port.ts'
import { type RecordOrigin, readOrigin } from './record-origin.ts'

/** Records without headers that are read where the next record of the restore is looked for, before the search stops. */
export const MOST_OF_OTHERS = 100_000

/** A record of a restore. */
interface RestoredRecord {
  at: bigint
  origin: RecordOrigin
}

/** The log from `from` to `to`, which is not part of it, was read completely. */
export interface Stretch {
  from: bigint
  to: bigint
  /** In their order. */
  restored: RestoredRecord[]
  others: number
}

/** The first and the last record of a restore; `empty` where no record is visible, `none` where no record has headers. */
export type Ends = { first: RestoredRecord; last: RestoredRecord } | 'empty' | 'none' | { problem: string }

/**
 * One partition of a restored topic. A restore writes the records of each partition of the source in their order, and one
 * partition behind the other. Whether all that was read agrees with one partition of the source is in `findProblem`.
 */
export class HeaderLog {
  readonly #port: OffsetsPort
  readonly #place: TopicPartition
  readonly #bounds: PartitionBounds
  /** The first and last records of all stretches. */
  readonly #seen: RestoredRecord[] = []
  readonly #sources = new Set<string>()
  #isInOrder = true

  constructor(port: OffsetsPort, place: TopicPartition, bounds: PartitionBounds) {
    this.#port = port
    this.#place = place
    this.#bounds = bounds
  }

  /** Partitions of the source that records so far showed, as `topic/partition`. */
  get sources(): ReadonlySet<string> {
    return this.#sources
  }

  async readEnds(signal: AbortSignal): Promise<Ends> {
    const { logStart, lastStable: end } = this.#bounds
    const { restored, others, to } = await this.read(
      { from: logStart, past: logStart, to: end },
      MOST_OF_OTHERS,
      signal,
    )
    const [first] = restored
    if (!first && to < end) return { problem: notFound('first') }
    if (!first) return others === 0 ? 'empty' : 'none'
    const last = await this.#readLast(first.at, signal)
    if (!last) return { problem: notFound('last') }
    this.#note([last])
    return { first, last }
  }

  /** Reads until a record of the restore was found and `past` is behind it, or more than so many others. */
  async read(
    { from, past, to }: { from: bigint; past: bigint; to: bigint },
    mostOthers: number,
    signal: AbortSignal,
  ): Promise<Stretch> {
    const stretch: Stretch = { from, to: from, restored: [], others: 0 }
    for await (const records of this.#readRecords(from, to, signal)) {
      for (const record of records) {
        const origin = readOrigin(record)
        if (origin) stretch.restored.push({ at: record.offset, origin })
        else stretch.others++
        stretch.to = record.offset + 1n
      }
      const isFound = stretch.restored.length > 0 && stretch.to > past
      if (isFound || stretch.others > mostOthers) return this.#noted(stretch)
    }
    return this.#noted({ ...stretch, to })
  }

  /** Why no offset of the source has a place here; undefined where nothing was found that speaks against it. */
  findProblem(): string | undefined {
    if (this.#sources.size > 1) return mixedProblem([...this.#sources])
    const ordered = this.#seen.toSorted((a, b) => (a.at < b.at ? -1 : 1))
    const isAscending = ordered.every((one, i) => {
      const before = ordered[i - 1]
      return !before || before.at === one.at || before.origin.offset < one.origin.offset
    })
    if (this.#isInOrder && isAscending) return undefined
    return `the records with headers are not in the order of their offsets at the source, as a restore writes them. ${OTHERWISE}`
  }

  /** Further and further back from the end. */
  async #readLast(start: bigint, signal: AbortSignal): Promise<RestoredRecord | undefined> {
    let left = MOST_OF_OTHERS
    let to = this.#bounds.lastStable
    for (let width = 100n; to > start && left > 0; width *= 10n) {
      const from = to - width > start ? to - width : start
      let last: RestoredRecord | undefined
      for await (const records of this.#readRecords(from, to, signal)) {
        for (const record of records) {
          const origin = readOrigin(record)
          if (origin) last = { at: record.offset, origin }
          else left--
        }
        if (left < 0) return undefined
      }
      if (last) return last
      to = from
    }
    return undefined
  }

  #readRecords(from: bigint, to: bigint, signal: AbortSignal): ReturnType<OffsetsPort['readRecords']> {
    return this.#port.readRecords(this.#place, { from, to }, signal)
  }

  #noted(stretch: Stretch): Stretch {
    this.#note(stretch.restored)
    return stretch
  }

  #note(restored: readonly RestoredRecord[]): void {
    const [first, last] = [restored[0], restored.at(-1)]
    if (!first || !last) return
    this.#seen.push(first, last)
    restored.forEach(({ origin }, i) => {
      this.#sources.add(partitionKey(origin))
      const before = restored[i - 1]
      if (before && before.origin.offset >= origin.offset) this.#isInOrder = false
    })
  }
}

const OTHERWISE = 'Use from_mapping instead'

function notFound(end: 'first' | 'last'): string {
  return `the ${end} 100,000 records here have no x-original-* headers, so the next unread record is not known. ${OTHERWISE}`
}
