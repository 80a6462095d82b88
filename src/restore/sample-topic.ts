import type { Segment } from '../archive/manifest.ts'
import { decodeRecords, type KafkaRecord } from '../batch/records.ts'
import type { PartSample } from '../registry/judge-frames.ts'
import { KEY_HEADER, type Part, VALUE_HEADER } from '../registry/schema-id.ts'
import type { Storage } from '../storage/storage.ts'
import { readSegments } from './outgoing-options.ts'
import { indexAborted, readPieces } from './pieces.ts'
import type { PlannedLeg } from './plan.ts'

/** Of one part of a topic; enough that a share of one in a hundred is seen. */
const MAX_SAMPLES = 1000
const MAX_LEGS = 4

/**
 * Some records of a topic, from the beginning, the middle and the end of some of its partitions: producers may have begun
 * with frames, or given them up, at some time.
 */
export async function sampleTopic(
  storage: Storage,
  legs: readonly PlannedLeg[],
  signal: AbortSignal,
): Promise<Record<Part, PartSample[]>> {
  const some = spread(
    legs.filter(({ start, end }) => end > start),
    MAX_LEGS,
  )
  const samples: Record<Part, PartSample[]> = { key: [], value: [] }
  for (const leg of some) {
    const segments = (await readSegments(storage, leg, signal)).filter(
      ({ start_offset, end_offset }) => end_offset > leg.start && start_offset < leg.end,
    )
    const most = Math.ceil(MAX_SAMPLES / some.length / Math.min(3, segments.length))
    for (const segment of spread(segments, 3)) {
      for (const record of await sampleSegment(storage, segment, leg, most, signal)) {
        samples.key.push(toSample(record, 'key', leg.source.partition))
        samples.value.push(toSample(record, 'value', leg.source.partition))
      }
    }
  }
  return samples
}

/** The first, the last and some between them. */
function spread<T>(items: readonly T[], count: number): T[] {
  if (items.length <= count) return [...items]
  const at = (i: number) => Math.round((i * (items.length - 1)) / (count - 1))
  return Array.from({ length: count }, (_, i) => items[at(i)]).filter(item => item !== undefined)
}

/** Of the first piece of a segment that has some: its first, its middle and its last batch. */
async function sampleSegment(
  storage: Storage,
  segment: Segment,
  { source, start, end }: PlannedLeg,
  most: number,
  signal: AbortSignal,
): Promise<KafkaRecord[]> {
  const aborted = indexAborted([...(segment.aborted ?? []), ...source.open_aborted])
  const limits = { maxBytes: Number.POSITIVE_INFINITY, fromOffset: start }
  for await (const { bytes, headers } of readPieces(storage, segment, { start, end, aborted, limits }, signal)) {
    const batches = spread(headers, 3)
    const records = batches.flatMap(header =>
      spread(
        decodeRecords(bytes, header).filter(({ offset }) => offset >= start && offset < end),
        Math.max(2, Math.ceil(most / batches.length)),
      ),
    )
    if (records.length > 0) return records
  }
  return []
}

function toSample({ key, value, headers, offset }: KafkaRecord, part: Part, partition: number): PartSample {
  const name = part === 'key' ? KEY_HEADER : VALUE_HEADER
  const header = headers.findLast(([one]) => one === name)
  return { offset, partition, bytes: part === 'key' ? key : value, ...(header && { header: header[1] }) }
}
