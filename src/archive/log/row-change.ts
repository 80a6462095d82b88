import { isDeepStrictEqual } from 'node:util'
import type { ManifestPartition } from '../manifest.ts'

/** What is said of a list besides its segments. */
export type ListRow = Omit<ManifestPartition, 'partition' | 'indexes' | 'reread'>

/** Offsets: 64-bit integers that grow. */
export const offsetFields = ['start_offset', 'end_offset', 'high_watermark', 'last_stable_offset'] as const
/** Sums over the segments. */
export const sumFields = ['records', 'aborted_records', 'batches', 'bytes', 'stored_bytes', 'segments'] as const
/** Everything else is set as a whole. */
export const setFields = [
  'last_epoch',
  'first_timestamp',
  'last_timestamp',
  'gaps',
  'open_aborted',
  'compaction',
  'last_batch',
  'read_to',
  'converted',
] as const

/** Those that a row may lack. */
export const optionalFields = ['compaction', 'last_batch', 'read_to', 'converted'] as const

type OffsetField = (typeof offsetFields)[number]
type SumField = (typeof sumFields)[number]
type SetField = (typeof setFields)[number]

/** Offsets and sums are added, in the order of their fields; what is not among `set` and `unset` stays. */
export interface RowChange {
  offsets: readonly bigint[]
  sums: readonly number[]
  set: Partial<Pick<ListRow, SetField>>
  unset: readonly SetField[]
}

export const zeroRow: ListRow = {
  start_offset: 0n,
  end_offset: 0n,
  high_watermark: 0n,
  last_stable_offset: 0n,
  last_epoch: -1,
  records: 0,
  aborted_records: 0,
  batches: 0,
  bytes: 0,
  stored_bytes: 0,
  segments: 0,
  first_timestamp: null,
  last_timestamp: null,
  gaps: [],
  open_aborted: [],
}

/**
 * Pure. The row of a list without anything else that the object says. Field by field: leaving out fields with a rest pattern takes many
 * times as long, and every commit does this for every partition.
 */
export function copyRow(from: ListRow): ListRow {
  const { compaction, last_batch, read_to, converted } = from
  const row: ListRow = {
    start_offset: from.start_offset,
    end_offset: from.end_offset,
    high_watermark: from.high_watermark,
    last_stable_offset: from.last_stable_offset,
    last_epoch: from.last_epoch,
    records: from.records,
    aborted_records: from.aborted_records,
    batches: from.batches,
    bytes: from.bytes,
    stored_bytes: from.stored_bytes,
    segments: from.segments,
    first_timestamp: from.first_timestamp,
    last_timestamp: from.last_timestamp,
    gaps: from.gaps,
    open_aborted: from.open_aborted,
  }
  if (last_batch) row.last_batch = last_batch
  if (compaction) row.compaction = compaction
  if (read_to !== undefined) row.read_to = read_to
  if (converted) row.converted = converted
  return row
}

/** A writer holds the changes of thousands of rows: most differences are small, and one integer does for all of them. */
const smallIntegers = Array.from({ length: 256 }, (_, i) => BigInt(i))

function shared(integer: bigint): bigint {
  return integer >= 0n && integer < 256n ? (smallIntegers[Number(integer)] ?? integer) : integer
}

/** Most rows have none: one array for all of them. */
const none: readonly SetField[] = []

/** Pure. What makes one row of the other. */
export function diffRows(before: ListRow, after: ListRow): RowChange {
  const set: Partial<Record<SetField, unknown>> = {}
  let unset = none
  for (const field of setFields) {
    if (isSame(before[field], after[field])) continue
    if (after[field] === undefined) unset = [...unset, field]
    else set[field] = after[field]
  }
  return {
    offsets: offsetFields.map(field => shared(after[field] - before[field])),
    sums: sumFields.map(field => after[field] - before[field]),
    set: set as RowChange['set'],
    unset,
  }
}

function isSame(before: unknown, after: unknown): boolean {
  if (before === after) return true
  if (typeof before !== 'object' || typeof after !== 'object' || before === null || after === null) return false
  if (Array.isArray(before) && before.length === 0) return Array.isArray(after) && after.length === 0
  return isDeepStrictEqual(before, after)
}

/** Pure. The row after a change. */
export function applyRowChange(row: ListRow, change: RowChange): ListRow {
  const changed: ListRow = Object.assign(copyRow(row), change.set)
  for (const field of change.unset) delete (changed as Partial<ListRow>)[field]
  offsetFields.forEach((field: OffsetField, i) => {
    const delta = change.offsets[i] ?? 0n
    // An integer that stays the same need not be made again.
    if (delta !== 0n) changed[field] = row[field] + delta
  })
  sumFields.forEach((field: SumField, i) => {
    changed[field] = row[field] + (change.sums[i] ?? 0)
  })
  return changed
}

/** A change that others are added to. */
export interface SummedRow extends RowChange {
  offsets: bigint[]
  sums: number[]
  unset: readonly SetField[]
}

/** Changes the first into one with the effect of both. The second unsets nothing. */
export function addToRow(first: SummedRow, second: RowChange): void {
  for (let i = 0; i < first.offsets.length; i++) {
    first.offsets[i] = shared((first.offsets[i] ?? 0n) + (second.offsets[i] ?? 0n))
  }
  for (let i = 0; i < first.sums.length; i++) first.sums[i] = (first.sums[i] ?? 0) + (second.sums[i] ?? 0)
  Object.assign(first.set, second.set)
  if (first.unset.length > 0) first.unset = first.unset.filter(field => !(field in second.set))
}

/** Pure. One change with the effect of both. */
export function addRowChanges(first: RowChange, second: RowChange): SummedRow {
  const set = { ...first.set, ...second.set }
  for (const field of second.unset) delete set[field]
  const kept = first.unset.filter(field => !(field in second.set) && !second.unset.includes(field))
  const unset = kept.length === 0 ? second.unset : [...kept, ...second.unset]
  return {
    offsets: first.offsets.map((delta, i) => shared(delta + (second.offsets[i] ?? 0n))),
    sums: first.sums.map((delta, i) => delta + (second.sums[i] ?? 0)),
    set,
    unset,
  }
}
