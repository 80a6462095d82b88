import type { Segment } from '../archive/manifest.ts'
import { isWithin, type TimeWindow } from '../batch/needs.ts'
import { decodeRecords, type KafkaRecord } from '../batch/records.ts'
import { append } from '../lib/largest.ts'
import type { PartSample } from '../registry/ids/judge-frames.ts'
import { isApicurioHeader, KEY_HEADER, type Part, VALUE_HEADER } from '../registry/ids/schema-id.ts'
import type { Storage } from '../storage/storage.ts'
import { type BackupReader, readSegments } from './outgoing-options.ts'
import { type AbortedIndex, indexAborted, readPieces } from './pieces.ts'
import type { PlannedLeg } from './plan.ts'

/** Of one part of a topic; enough that a share of one in a hundred is seen. */
const MAX_SAMPLES = 1000
const MAX_LEGS = 4
const MAX_SEGMENTS = 3

interface SampledExtent {
  timeWindow: TimeWindow
  /** Whether a filter may select the record. */
  mayWant?: ((record: KafkaRecord) => boolean) | undefined
}

/**
 * Some of the records of a topic that are restored, from the beginning, the middle and the end of some of its partitions:
 * producers may have begun with frames, or given them up, at some time. Where these hold none, others are looked at.
 */
export async function sampleTopic(
  backup: BackupReader,
  legs: readonly PlannedLeg[],
  { timeWindow, mayWant = () => true }: SampledExtent,
  signal: AbortSignal,
): Promise<Record<Part, PartSample[]>> {
  const held = legs.filter(({ start, end }) => end > start)
  const samples: Record<Part, PartSample[]> = { key: [], value: [] }
  for (const [i, leg] of spreadFirst(held, MAX_LEGS).entries()) {
    if (i >= MAX_LEGS && samples.value.length > 0) break
    const most = Math.ceil(MAX_SAMPLES / Math.min(MAX_LEGS, held.length))
    for (const record of await sampleLeg(backup, leg, { timeWindow, most }, signal)) {
      const facts = { partition: leg.source.partition, ...(!mayWant(record) && { isLeftOut: true }) }
      samples.key.push({ ...toSample(record, 'key'), ...facts })
      samples.value.push({ ...toSample(record, 'value'), ...facts })
    }
  }
  return samples
}

interface Wanted {
  timeWindow: TimeWindow
  /** About how many. */
  most: number
}

async function sampleLeg(
  backup: BackupReader,
  leg: PlannedLeg,
  { timeWindow, most }: Wanted,
  signal: AbortSignal,
): Promise<KafkaRecord[]> {
  const all = await readSegments(backup, leg, signal)
  const within = all.filter(({ start_offset, end_offset }) => end_offset > leg.start && start_offset < leg.end)
  // The segment with the marker, possibly a later one, lists aborted transactions.
  const aborted = indexAborted([...all.flatMap(segment => segment.aborted ?? []), ...leg.source.open_aborted])
  // Others may hold a record of the window, too, but are read in vain where they do not.
  const likely = within.filter(segment => isLikely(segment, timeWindow))
  const segments = likely.length > 0 ? likely : within
  const wanted = { timeWindow, aborted, most: Math.ceil(most / Math.min(MAX_SEGMENTS, segments.length)) }
  const records: KafkaRecord[] = []
  for (const [i, segment] of spreadFirst(segments, MAX_SEGMENTS).entries()) {
    if (i >= MAX_SEGMENTS && records.length > 0) break
    append(records, await sampleSegment(backup.storage, segment, leg, wanted, signal))
  }
  return records
}

function isLikely({ first_timestamp: first, last_timestamp: last }: Segment, { start, end }: TimeWindow): boolean {
  return (start === undefined || last === null || last >= start) && (end === undefined || first === null || first < end)
}

/** The first, the last and some between them. */
function spread<T>(items: readonly T[], count: number): T[] {
  if (items.length <= count) return [...items]
  const at = (i: number) => Math.round((i * (items.length - 1)) / (count - 1))
  return Array.from({ length: count }, (_, i) => items[at(i)]).filter(item => item !== undefined)
}

/** All, with these at the beginning. */
function spreadFirst<T>(items: readonly T[], count: number): T[] {
  const first = new Set(spread(items, count))
  return [...first, ...items.filter(item => !first.has(item))]
}

/** Of the first piece of a segment that has some: its first, its middle and its last batch. */
async function sampleSegment(
  storage: Storage,
  segment: Segment,
  { start, end }: PlannedLeg,
  { timeWindow, most, aborted }: Wanted & { aborted: AbortedIndex },
  signal: AbortSignal,
): Promise<KafkaRecord[]> {
  const limits = { maxBytes: Number.POSITIVE_INFINITY, fromOffset: start, timeWindow }
  const isWanted = ({ offset, timestamp }: KafkaRecord) =>
    offset >= start && offset < end && isWithin(timestamp, timeWindow)
  for await (const { batches } of readPieces(storage, segment, { start, end, aborted, limits }, signal)) {
    const headers = spread([...batches], 3)
    const records = headers.flatMap(header =>
      spread(decodeRecords(batches.bytes, header).filter(isWanted), Math.max(2, Math.ceil(most / headers.length))),
    )
    if (records.length > 0) return records
  }
  return []
}

function toSample({ key, value, headers, offset }: KafkaRecord, part: Part): Omit<PartSample, 'partition'> {
  const name = part === 'key' ? KEY_HEADER : VALUE_HEADER
  const header = headers.findLast(([one]) => one === name)
  const [otherHeader] = headers.find(([one]) => isApicurioHeader(one, part)) ?? []
  const bytes = part === 'key' ? key : value
  return { offset, bytes, ...(header && { header: header[1] }), ...(otherHeader && { otherHeader }) }
}
