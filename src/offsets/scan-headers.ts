import { KafkaBackupError } from '../errors.ts'
import { type PartitionBounds, partitionKey, type TopicPartition } from '../kafka/offsets.ts'
import { HeaderSearch, isUnread, type ReadUpTo, type RecordOrigin, readOrigin } from './header-search.ts'
import type { OffsetsPort } from './offsets-port.ts'

export interface ScannedPosition {
  offset: bigint
  /** Records of several partitions of the source are mixed here: some behind the position may be read already. */
  isApproximate: boolean
}

export interface ScanParts {
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
  for await (const records of port.readRecords(place, { from: logStart, to: lastStable }, signal)) {
    const first = records.map(readOrigin).find(origin => origin !== undefined)
    if (first || last) return [first, last].filter(origin => origin !== undefined)
  }
  return []
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
