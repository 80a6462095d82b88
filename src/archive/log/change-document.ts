import * as z from 'zod'
import { damaged } from '../damage.ts'
import { incarnationKey } from '../incarnation.ts'
import { manifestSchema, type PackRef, partitionSchema, type Segment, segmentSchema, topicSchema } from '../manifest.ts'
import { refuseRepeats } from '../refuse-repeats.ts'
import { count, hash, int64 } from '../scalars.ts'
import { type Change, type HeadField, isBaseRange, type ListChange, type ListPart } from './change.ts'
import { offsetFields, optionalFields, type RowChange, sumFields } from './row-change.ts'

/**
 * A change as JSON. Lists and segments are arrays, since a commit may have many thousand: their columns are named in
 * docs/format.md. A segment that lies in a pack names it by its number in `packs`.
 */
const headFields = {
  cluster: manifestSchema.shape.cluster,
  selection: manifestSchema.shape.selection,
  schema_registry: manifestSchema.shape.schema_registry,
  consumer_groups: manifestSchema.shape.consumer_groups,
  encryption: manifestSchema.shape.encryption,
  access: manifestSchema.shape.access,
  carried_sections: manifestSchema.shape.carried_sections,
  topic_settings_at: manifestSchema.shape.topic_settings_at,
  lineage: manifestSchema.shape.lineage,
  warnings: manifestSchema.shape.warnings,
}
/** Without the others a head is none. */
const optionalHead = [
  'schema_registry',
  'consumer_groups',
  'encryption',
  'access',
  'carried_sections',
  'topic_settings_at',
  'lineage',
] as const satisfies HeadField[]

export const namedObject = z.strictObject({ key: z.string(), size: count, blake3: hash })
export const packRef = z.strictObject({ ...namedObject.shape, stored_at: z.string() })

const segmentExtras = z.strictObject({
  frames: segmentSchema.shape.frames,
  aborted: segmentSchema.shape.aborted,
  stored_from: z.string().optional(),
  stored_at: z.string().optional(),
})

const segmentRow = z.tuple([
  /** A key, or the number of a pack. */
  z.union([z.string(), count]),
  /** In the pack; 0 where the object is only this segment. */
  count,
  /** How often it was merged. */
  z.int().min(0).max(99),
  /** Stored size, plain size. */
  count,
  count,
  /** BLAKE3 in base64 without padding: 256 bits, or the first 128 of a piece. */
  z.string().regex(/^([A-Za-z0-9+/]{22}|[A-Za-z0-9+/]{43})$/),
  /** 1 where it is compressed with zstd. */
  z.union([z.literal(0), z.literal(1)]),
  /** First offset, and how many offsets it covers. */
  int64,
  int64,
  /** Batches, records, aborted records. */
  count,
  count,
  count,
  /** First timestamp, and the last one: counted from the first where there is one. */
  int64.nullable(),
  int64.nullable(),
  segmentExtras.optional(),
])
export type SegmentRow = z.input<typeof segmentRow>

const part = z.union([z.tuple([count, count]), segmentRow])

const { reread: _reread, indexes: _indexes, partition: _partition, ...rowShape } = partitionSchema.shape
const setShape = z.strictObject({
  last_epoch: rowShape.last_epoch.optional(),
  first_timestamp: rowShape.first_timestamp.optional(),
  last_timestamp: rowShape.last_timestamp.optional(),
  gaps: rowShape.gaps.optional(),
  open_aborted: rowShape.open_aborted.optional(),
  compaction: rowShape.compaction,
  last_batch: rowShape.last_batch,
  read_to: rowShape.read_to,
})

const listKey = z.string().regex(/^(reread\/)?[^/]{1,300}\/[0-9]{1,10}$/)
const listRow = z.tuple([
  listKey,
  /** 1 where the list is new. */
  z.union([z.literal(0), z.literal(1)]),
  z.array(int64).length(offsetFields.length),
  z.array(z.int()).length(sumFields.length),
  setShape.optional(),
  /** The parts of its segments; null where they are as before. */
  z.array(part).nullable().optional(),
  z.array(z.enum(optionalFields)).optional(),
])

/** Lists with all their segments, as the pages of a checkpoint have them. */
export const pageLists = z.array(z.tuple([listKey, z.array(segmentRow)]))

const { partitions: _partitions, ...topicShape } = topicSchema.shape

export const changeSchema = z.strictObject({
  head: z.strictObject(headFields).partial().optional(),
  unset: z.array(z.enum(optionalHead)).optional(),
  topics: z.array(z.strictObject(topicShape)).optional(),
  removed_topics: z.array(z.string()).optional(),
  packs: z.array(packRef).optional(),
  lists: z.array(listRow).optional(),
  removed_lists: z.array(listKey).optional(),
  passing: z.array(namedObject).optional(),
})
export type ChangeDocument = z.input<typeof changeSchema>

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

/** Pure. Without what is empty: most changes are of a few lists only. */
export function encodeChange(change: Change): ChangeDocument {
  const table = new PackTable()
  const lists: z.input<typeof listRow>[] = []
  const removed: string[] = []
  for (const [key, one] of change.lists) {
    if (one) lists.push(encodeList(key, one, table))
    else removed.push(key)
  }
  const document = {
    head: change.head,
    unset: [...change.unset],
    topics: [...change.topics.values()],
    removed_topics: [...change.removedTopics],
    packs: table.packs,
    lists,
    removed_lists: removed,
    passing: [...change.passing.values()],
  }
  const said = Object.entries(document).filter(([, value]) => Object.keys(value).length > 0)
  return Object.fromEntries(said)
}

function encodeList(key: string, { isNew, row, parts }: ListChange, table: PackTable): z.input<typeof listRow> {
  const { offsets, sums, unset } = row
  const begin = [key, isNew ? 1 : 0, offsets.map(asNumber), [...sums]] as const
  const rows = parts?.map(one => (isBaseRange(one) ? [one[0], one[1]] : encodeSegment(one, table))) ?? null
  const set = withNumbers(row.set)
  const end = unset.length > 0 ? [set, rows, [...unset]] : rows ? [set, rows] : Object.keys(set).length > 0 ? [set] : []
  return [...begin, ...end] as z.input<typeof listRow>
}

export function encodeSegment(segment: Segment, table: PackTable): SegmentRow {
  const { piece, frames, aborted, stored_from, stored_at, first_timestamp: first, last_timestamp: last } = segment
  const isOneFrame = frames?.length === 1 && frames[0]?.[0] === segment.size && frames[0][1] === segment.plain_size
  const extras = {
    ...(frames && !isOneFrame && { frames }),
    ...(aborted && { aborted }),
    ...(stored_from !== undefined && { stored_from }),
    ...(stored_at !== undefined && { stored_at }),
  }
  const row: SegmentRow = [
    piece ? table.numberOf(piece.pack) : segment.key,
    piece?.position ?? 0,
    piece?.level ?? 0,
    segment.size,
    segment.plain_size,
    Buffer.from(segment.blake3, 'hex').toString('base64').replace(/=+$/, ''),
    segment.compression === 'zstd' ? 1 : 0,
    asNumber(segment.start_offset),
    asNumber(segment.end_offset - segment.start_offset),
    segment.batches,
    segment.records,
    segment.aborted_records,
    first === null ? null : asNumber(first),
    last === null ? null : asNumber(first === null ? last : last - first),
  ]
  if (Object.keys(extras).length > 0) row.push(extras)
  return row
}

function withNumbers(value: object): object {
  const entries = Object.entries(value).map(([name, one]) => [
    name,
    typeof one === 'bigint' ? asNumber(one) : nested(one),
  ])
  return Object.fromEntries(entries)
}

function nested(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(nested)
  return typeof value === 'object' && value !== null ? withNumbers(value) : value
}

/** Numbers are written much faster than big integers. */
function asNumber(value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** Throws ARCHIVE_DAMAGED for a row that does not fit together; `at` is the key of the document. */
export function decodeSegment(row: z.output<typeof segmentRow>, packs: readonly PackRef[], at: string): Segment {
  const [object, position, level, size, plainSize, blake3, compressed, start, offsets, batches, records, aborted] = row
  const [first, last, extras] = [row[12], row[13], row[14]]
  const pack = typeof object === 'number' ? packs[object] : undefined
  if (typeof object === 'number' && !pack) throw damaged(at, `is damaged: it names pack ${object} of ${packs.length}`)
  if (blake3.length !== (pack ? 22 : 43)) throw damaged(at, 'is damaged: a segment has a hash of another length')
  if (pack && position + size > pack.size) throw damaged(at, `is damaged: a piece ends behind the end of ${pack.key}`)
  return {
    key: pack?.key ?? String(object),
    size,
    blake3: Buffer.from(blake3, 'base64').toString('hex'),
    compression: compressed === 1 ? 'zstd' : 'none',
    plain_size: plainSize,
    ...(compressed === 1 && { frames: extras?.frames ?? [[size, plainSize]] }),
    start_offset: start,
    end_offset: start + offsets,
    batches,
    records,
    aborted_records: aborted,
    first_timestamp: first,
    last_timestamp: first === null || last === null ? last : first + last,
    ...(extras?.aborted && { aborted: extras.aborted }),
    ...(pack && { piece: { position, level, pack } }),
    ...(extras?.stored_from !== undefined && { stored_from: extras.stored_from }),
    ...(extras?.stored_at !== undefined && { stored_at: extras.stored_at }),
  }
}

export function decodeChange(document: z.output<typeof changeSchema>, at: string): Change {
  const { packs = [], lists = [], removed_lists = [] } = document
  const changes = new Map<string, ListChange | null>()
  for (const row of lists) {
    if (changes.has(row[0])) throw damaged(at, `is damaged: it lists ${row[0]} twice`)
    changes.set(row[0], decodeList(row, packs, at))
  }
  for (const key of removed_lists) {
    if (changes.has(key)) throw damaged(at, `is damaged: it lists ${key} twice`)
    changes.set(key, null)
  }
  const { topics = [] } = document
  refuseRepeats('the topic ID', topics.map(incarnationKey), at)
  return {
    head: (document.head ?? {}) as Change['head'],
    unset: document.unset ?? [],
    topics: new Map(topics.map(topic => [incarnationKey(topic), topic])),
    removedTopics: new Set(document.removed_topics),
    lists: changes,
    passing: new Map((document.passing ?? []).map(object => [object.key, object])),
  }
}

function decodeList(row: z.output<typeof listRow>, packs: readonly PackRef[], at: string): ListChange {
  const [key, isNew, offsets, sums, set = {}, parts, unset = []] = row
  const decoded = parts?.map((one): ListPart => (isRange(one) ? one : decodeSegment(one, packs, at)))
  if (decoded) assertOrder(decoded, key, at)
  if (isNew === 1 && decoded?.some(isBaseRange)) throw damaged(at, `is damaged: ${key} is new and names older segments`)
  const change: RowChange = { offsets, sums, set: set as RowChange['set'], unset }
  return { isNew: isNew === 1, row: change, ...(decoded && { parts: decoded }) }
}

/** No segment comes twice: a few documents could make a list of any length otherwise. */
function assertOrder(parts: readonly ListPart[], key: string, at: string): void {
  let end = 0
  for (const part of parts) {
    if (!isBaseRange(part)) continue
    const [from, to] = part
    if (from < end || to < from)
      throw damaged(at, `is damaged: the range from ${from} to ${to} of ${key} is out of order`)
    end = to
  }
}

function isRange(one: z.output<typeof part>): one is [number, number] {
  return one.length === 2
}
