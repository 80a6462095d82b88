import * as z from 'zod'
import { damaged } from '../damage.ts'
import { type PackRef, type Segment, segmentSchema } from '../manifest.ts'

type Integer = number | bigint

/**
 * A segment as an array: docs/format-2.md names the columns. A generation may have millions, so a row is checked by hand: a
 * schema takes twenty times as long.
 */
export type SegmentRow = [
  /** A key, or the number of a pack. */
  object: string | number,
  /** In the pack; 0 where the object is only this segment. */
  position: number,
  /** How often it was merged. */
  level: number,
  size: number,
  plainSize: number,
  /** BLAKE3 in base64 without padding: 256 bits, or the first 128 of a piece. */
  hash: string,
  /** 1 where it is compressed with zstd. */
  compressed: 0 | 1,
  start: Integer,
  offsets: Integer,
  batches: number,
  records: number,
  aborted: number,
  firstTimestamp: Integer | null,
  /** Counted from the first where there is one. */
  lastTimestamp: Integer | null,
  extras?: z.input<typeof segmentExtras>,
]

const segmentExtras = z.strictObject({
  frames: segmentSchema.shape.frames,
  aborted: segmentSchema.shape.aborted,
  stored_from: z.string().optional(),
  stored_at: z.string().optional(),
})

const MAX_LEVEL = 99
const hashText = /^(?:[A-Za-z0-9+/]{22}|[A-Za-z0-9+/]{43})$/

/** Pure. Whether a value has the columns of a segment. */
export function isSegmentRow(value: unknown): value is SegmentRow {
  if (!Array.isArray(value) || value.length < 14 || value.length > 15) return false
  const row: unknown[] = value
  return (
    (typeof row[0] === 'string' || isCount(row[0])) &&
    isCount(row[1]) &&
    isCount(row[2]) &&
    row[2] <= MAX_LEVEL &&
    isCount(row[3]) &&
    isCount(row[4]) &&
    typeof row[5] === 'string' &&
    hashText.test(row[5]) &&
    (row[6] === 0 || row[6] === 1) &&
    isInteger(row[7]) &&
    isInteger(row[8]) &&
    isCount(row[9]) &&
    isCount(row[10]) &&
    isCount(row[11]) &&
    (row[12] === null || isInteger(row[12])) &&
    (row[13] === null || isInteger(row[13])) &&
    (row.length === 14 || segmentExtras.safeParse(row[14]).success)
  )
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** As JSON with integers of any size is read. */
export function isInteger(value: unknown): value is Integer {
  return typeof value === 'bigint' || Number.isSafeInteger(value)
}

/** Numbers the packs of a document in the order in which they are first named. */
export class PackTable {
  readonly packs: PackRef[] = []
  readonly #numbers = new Map<string, number>()

  numberOf(pack: PackRef): number {
    const known = this.#numbers.get(pack.key)
    if (known !== undefined) return known
    this.#numbers.set(pack.key, this.packs.length)
    this.packs.push(pack)
    return this.packs.length - 1
  }
}

export function encodeSegment(segment: Segment, table: PackTable): SegmentRow {
  const { piece, first_timestamp: first, last_timestamp: last } = segment
  const row: SegmentRow = [
    piece ? table.numberOf(piece.pack) : segment.key,
    piece?.position ?? 0,
    piece?.level ?? 0,
    segment.size,
    segment.plain_size,
    encodeHash(segment.blake3),
    segment.compression === 'zstd' ? 1 : 0,
    asNumber(segment.start_offset),
    asNumber(segment.end_offset - segment.start_offset),
    segment.batches,
    segment.records,
    segment.aborted_records,
    first === null ? null : asNumber(first),
    last === null ? null : asNumber(first === null ? last : last - first),
  ]
  const extras = extrasOf(segment)
  if (extras) row.push(extras)
  return row
}

/** Without padding. */
function encodeHash(hex: string): string {
  return Buffer.from(hex, 'hex')
    .toString('base64')
    .slice(0, Math.ceil((hex.length * 2) / 3))
}

function extrasOf(segment: Segment): z.input<typeof segmentExtras> | undefined {
  const { frames, aborted, stored_from, stored_at } = segment
  const isOneFrame = frames?.length === 1 && frames[0]?.[0] === segment.size && frames[0][1] === segment.plain_size
  const hasFrames = frames !== undefined && !isOneFrame
  if (!hasFrames && !aborted && stored_from === undefined && stored_at === undefined) return undefined
  return {
    ...(hasFrames && { frames }),
    ...(aborted && { aborted }),
    ...(stored_from !== undefined && { stored_from }),
    ...(stored_at !== undefined && { stored_at }),
  }
}

/** Numbers are written much faster than big integers. */
export function asNumber(value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** Throws ARCHIVE_DAMAGED for a row that does not fit together; `at` is the key of the document. */
export function decodeSegment(row: SegmentRow, packs: readonly PackRef[], at: string): Segment {
  const [object, position, level, size, plainSize, hash, compressed] = row
  const pack = typeof object === 'number' ? packs[object] : undefined
  if (typeof object === 'number' && !pack) throw damaged(at, `is damaged: it names pack ${object} of ${packs.length}`)
  if (hash.length !== (pack ? 22 : 43)) throw damaged(at, 'is damaged: a segment has a hash of another length')
  if (pack && position + size > pack.size) throw damaged(at, `is damaged: a piece ends behind the end of ${pack.key}`)
  const extras = row[14] && segmentExtras.parse(row[14])
  const [start, first, last] = [BigInt(row[7]), timeOf(row[12]), timeOf(row[13])]
  return {
    key: pack?.key ?? String(object),
    size,
    blake3: Buffer.from(hash, 'base64').toString('hex'),
    compression: compressed === 1 ? 'zstd' : 'none',
    plain_size: plainSize,
    ...(compressed === 1 && { frames: extras?.frames ?? [[size, plainSize]] }),
    start_offset: start,
    end_offset: start + BigInt(row[8]),
    batches: row[9],
    records: row[10],
    aborted_records: row[11],
    first_timestamp: first,
    last_timestamp: first === null || last === null ? last : first + last,
    ...(extras?.aborted && { aborted: extras.aborted }),
    ...(pack && { piece: { position, level, pack } }),
    ...(extras?.stored_from !== undefined && { stored_from: extras.stored_from }),
    ...(extras?.stored_at !== undefined && { stored_at: extras.stored_at }),
  }
}

function timeOf(value: Integer | null): bigint | null {
  return value === null ? null : BigInt(value)
}

/** Two segments with the same one are the same bytes. */
export function segmentId({ key, piece }: Segment): string {
  return `${key} ${piece?.position ?? 0}`
}
