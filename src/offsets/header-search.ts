import { partitionKey } from '../kafka/offsets.ts'
import type { HeadedRecord } from './offsets-port.ts'

/** Where a record was before a restore. */
export interface RecordOrigin {
  topic: string
  partition: number
  offset: bigint
}

/** By `topic/partition` of the source, the first offset that a group has not read. */
export type ReadUpTo = ReadonlyMap<string, bigint>

export interface Found {
  /** The first record that the group has not read, or the place behind the last one of the restore. */
  offset: bigint
  /** Whether an unread record was seen; otherwise all that was looked at is read. */
  isUnread: boolean
}

/**
 * Looks through one partition of a restored topic for the positions of many groups at once. Records are handed over in their
 * order; it is done when every group has found its first unread record.
 */
export class HeaderSearch {
  readonly #wanted: Map<string, { readUpTo: ReadUpTo; topics: ReadonlySet<string> }>
  readonly #found = new Map<string, Found>()
  #behindLast: bigint | undefined
  readonly #sources = new Set<string>()

  constructor(groups: ReadonlyMap<string, ReadUpTo>) {
    this.#wanted = new Map([...groups].map(([group, readUpTo]) => [group, { readUpTo, topics: topicsOf(readUpTo) }]))
  }

  get isDone(): boolean {
    return this.#wanted.size === 0
  }

  /** The partitions of the source, as `topic/partition`, that records so far told they came from. */
  get sources(): ReadonlySet<string> {
    return this.#sources
  }

  add(records: readonly HeadedRecord[]): void {
    for (const record of records) {
      const origin = readOrigin(record)
      if (!origin) continue
      const source = partitionKey(origin)
      this.#sources.add(source)
      this.#behindLast = record.offset + 1n
      for (const [group, { readUpTo, topics }] of this.#wanted) {
        // Nothing of a partition without a position is read; that of another topic is none of the group's.
        const position = readUpTo.get(source) ?? (topics.has(origin.topic) ? 0n : undefined)
        if (position === undefined || origin.offset < position) continue
        this.#found.set(group, { offset: record.offset, isUnread: true })
        this.#wanted.delete(group)
      }
    }
  }

  /** `start` is where it began to look: before it nothing is unread. */
  result(group: string, start: bigint): Found {
    return this.#found.get(group) ?? { offset: this.#behindLast ?? start, isUnread: false }
  }
}

function topicsOf(readUpTo: ReadUpTo): Set<string> {
  return new Set([...readUpTo.keys()].map(source => source.slice(0, source.lastIndexOf('/'))))
}

/** Whether it lies at or behind a position of the group. */
export function isUnread({ topic, partition, offset }: RecordOrigin, readUpTo: ReadUpTo): boolean {
  const position = readUpTo.get(partitionKey({ topic, partition }))
  return position !== undefined && offset >= position
}

/** The last header of each name counts, as a restore adds its own behind those that were there. */
export function readOrigin({ headers }: Pick<HeadedRecord, 'headers'>): RecordOrigin | undefined {
  const text = (name: string) => {
    const value = headers.findLast(([one]) => one === name)?.[1]
    return value ? Buffer.from(value).toString('utf8') : undefined
  }
  const offset = text('x-original-offset')
  if (offset === undefined || !/^\d{1,19}$/.test(offset)) return undefined
  const [topic, partition] = [text('x-original-topic'), text('x-original-partition')]
  if (topic === undefined || partition === undefined || !/^\d{1,10}$/.test(partition)) return undefined
  return { topic, partition: Number(partition), offset: BigInt(offset) }
}
