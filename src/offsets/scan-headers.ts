import { KafkaBackupError } from '../errors.ts'
import { type PartitionBounds, partitionKey, type TopicPartition } from '../kafka/offsets.ts'
import type { HeadedRecord, OffsetsPort } from './offsets-port.ts'

interface ScannedPosition {
  offset: bigint
  /** Records of several partitions of the source are mixed here: some behind the position may be read already. */
  isApproximate: boolean
}

interface ScanParts {
  port: OffsetsPort
  bounds: PartitionBounds
  /** No record that a group has not read is older; the scan begins there. */
  sinceMs?: bigint | undefined
}

/**
 * Finds the offset where groups continue in one partition of a restored topic. It starts at the first record of the time where one is given,
 * and at the beginning of the log otherwise, and ends at the last position that is looked for. Groups that have no position
 * on what the partition holds are not in the answer.
 */
export async function scanHeaders(
  place: TopicPartition,
  groups: ReadonlyMap<string, ReadUpTo>,
  { port, bounds, sinceMs }: ScanParts,
  signal: AbortSignal,
): Promise<Map<string, ScannedPosition>> {
  const { logStart, lastStable: end } = bounds
  const ends = await readEnds(port, place, bounds, signal)
  if (end > logStart && ends.length === 0) throw withoutHeaders(place)
  const start = await findStart(place, bounds, port, sinceMs, signal)
  if (start > logStart) await refuseTooLate(port, place, { logStart, start }, groups, signal)
  const search = new HeaderSearch(groups)
  if (start < end) {
    for await (const records of port.readRecords(place, { from: start, to: end }, signal)) {
      search.add(records)
      if (search.isDone) break
    }
  }
  const sources = new Set([...search.sources, ...ends.map(partitionKey)])
  const concerned = [...groups].filter(([, readUpTo]) =>
    sources.size === 0 ? hasPartition(readUpTo, place.partition) : [...sources].some(source => readUpTo.has(source)),
  )
  return new Map(
    concerned.map(([group]) => {
      const { offset, isUnread: isSome } = search.result(group, start)
      return [group, { offset, isApproximate: isSome && sources.size > 1 }]
    }),
  )
}

/** Records of other producers at the beginning of a log, behind which the first one of the restore is looked for. */
const MOST_OF_OTHERS = 100_000

/**
 * Where the first and the last record came from, where they tell. A restore writes the partitions of the source one behind
 * the other, so that they differ where several are mixed.
 */
async function readEnds(
  port: OffsetsPort,
  place: TopicPartition,
  { logStart, lastStable }: PartitionBounds,
  signal: AbortSignal,
): Promise<RecordOrigin[]> {
  if (lastStable <= logStart) return []
  const last = await lastOrigin(port, place, { from: lastStable - 1n, to: lastStable }, signal)
  let left = MOST_OF_OTHERS
  for await (const records of port.readRecords(place, { from: logStart, to: lastStable }, signal)) {
    const first = records.map(readOrigin).find(origin => origin !== undefined)
    if (first) return last ? [first, last] : [first]
    left -= records.length
    if (last && left <= 0) break
  }
  return last ? [last] : []
}

async function findStart(
  place: TopicPartition,
  { logStart, lastStable: end }: PartitionBounds,
  port: OffsetsPort,
  sinceMs: bigint | undefined,
  signal: AbortSignal,
): Promise<bigint> {
  if (sinceMs === undefined) return logStart
  const found = (await port.findByTime([place], sinceMs, signal)).get(partitionKey(place)) ?? logStart
  if (found < 0n || found > end) return end
  return found < logStart ? logStart : found
}

async function lastOrigin(
  port: OffsetsPort,
  place: TopicPartition,
  range: { from: bigint; to: bigint },
  signal: AbortSignal,
): Promise<RecordOrigin | undefined> {
  let last: RecordOrigin | undefined
  for await (const records of port.readRecords(place, range, signal)) {
    for (const record of records) {
      if (record.offset >= range.from && record.offset < range.to) last = readOrigin(record) ?? last
    }
  }
  return last
}

/** The record before the beginning of the scan must be read already, or unread ones would be left out. */
async function refuseTooLate(
  port: OffsetsPort,
  place: TopicPartition,
  { logStart, start }: { logStart: bigint; start: bigint },
  groups: ReadonlyMap<string, ReadUpTo>,
  signal: AbortSignal,
): Promise<void> {
  let before: RecordOrigin | undefined
  // What lies right before may be gone by compaction, or be of others: it is looked for further and further back.
  for (let to = start, width = 1n; !before && to > logStart; width *= 8n) {
    const from = to - width > logStart ? to - width : logStart
    before = await lastOrigin(port, place, { from, to }, signal)
    to = from
  }
  const group = before && [...groups].find(([, readUpTo]) => isUnread(before, readUpTo))?.[0]
  if (group === undefined) return
  const message = `--since is too late for group ${group} on ${partitionKey(place)}: records before that time are unread`
  throw new KafkaBackupError('OFFSETS_REFUSED', message, {
    help: 'Give an earlier time, or leave --since out to look through the whole topic.',
  })
}

function hasPartition(readUpTo: ReadUpTo, partition: number): boolean {
  return [...readUpTo.keys()].some(source => source.endsWith(`/${partition}`))
}

function withoutHeaders(place: TopicPartition): KafkaBackupError {
  const message = `no record of ${partitionKey(place)} shows where it came from by x-original-* headers`
  return new KafkaBackupError('OFFSETS_REFUSED', message, {
    help: 'The strategy header_based needs a restore with `restore.offset_headers: true`; use from_mapping otherwise.',
  })
}

/** Where a record was before a restore. */
interface RecordOrigin {
  topic: string
  partition: number
  offset: bigint
}

/** By `topic/partition` of the source, the first offset that a group has not read. */
type ReadUpTo = ReadonlyMap<string, bigint>

interface Found {
  /** The first record that the group has not read, or the place behind the last one of the restore. */
  offset: bigint
  /** Whether an unread record was seen; otherwise all that was looked at is read. */
  isUnread: boolean
}

/**
 * Looks through one partition of a restored topic for the positions of many groups at once. Records are handed over in their
 * order; it is done when every group has found its first unread record.
 */
class HeaderSearch {
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
function isUnread({ topic, partition, offset }: RecordOrigin, readUpTo: ReadUpTo): boolean {
  const position = readUpTo.get(partitionKey({ topic, partition }))
  return position !== undefined && offset >= position
}

/** The last header of each name counts, as a restore adds its own behind those that were there. */
function readOrigin({ headers }: Pick<HeadedRecord, 'headers'>): RecordOrigin | undefined {
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
