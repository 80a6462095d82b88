import { type BatchHeader, codecOf, HEADER_BYTES, isControl, isLogAppendTime } from './header.ts'

export interface MergeLimits {
  /** What a merged batch may weigh, by the stored bytes of its parts. */
  targetBytes: number
  /** Batches of at least this size are worth sending as they are. */
  smallBytes: number
  /** For compressed batches, which have to be recompressed. */
  smallPackedBytes: number
}

type MergeCandidate = Pick<BatchHeader, 'attributes' | 'sizeBytes' | 'recordCount'>

/** `count` batches from index `start` on. */
interface MergeGroup {
  start: number
  count: number
  /** Of all of them together. */
  storedBytes: number
}

/** What a record may grow by in a merged batch: its offset and its time are further from the base. */
const GROWTH_BYTES = 8

/**
 * Which adjacent batches are to be merged, since a broker takes one batch a partition and request. The groups cover all
 * batches in order; a group of one stays as it is. Merged are small ones of the same codec and kind of timestamp.
 * Control batches are never merged.
 */
export function planMerges(headers: Iterable<MergeCandidate>, limits: MergeLimits): MergeGroup[] {
  const groups: MergeGroup[] = []
  let open: { group: MergeGroup; kind: number; bytes: number } | undefined
  let start = 0
  for (const header of headers) {
    const kind = mergeKind(header, limits)
    const bytes = header.sizeBytes - HEADER_BYTES + header.recordCount * GROWTH_BYTES
    if (open && open.kind === kind && open.bytes + bytes <= limits.targetBytes) {
      open.group.count++
      open.group.storedBytes += header.sizeBytes
      open.bytes += bytes
    } else {
      const group = { start, count: 1, storedBytes: header.sizeBytes }
      groups.push(group)
      open = kind === undefined ? undefined : { group, kind, bytes: HEADER_BYTES + bytes }
    }
    start++
  }
  return groups
}

/** Batches of the same kind may be merged; undefined is merged with nothing. */
function mergeKind({ attributes, sizeBytes }: MergeCandidate, limits: MergeLimits): number | undefined {
  const codec = codecOf(attributes)
  const smallBytes = codec === 'none' ? limits.smallBytes : limits.smallPackedBytes
  if (sizeBytes >= smallBytes || isControl(attributes) || codec === undefined) return undefined
  return (attributes & 0x07) | (isLogAppendTime(attributes) ? 0x08 : 0)
}
