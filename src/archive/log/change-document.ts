import * as z from 'zod'
import { isSegmentKey } from '../assert-keys.ts'
import { damaged } from '../damage.ts'
import { incarnationKey } from '../incarnation.ts'
import { manifestSchema, type PackRef, partitionSchema, topicSchema } from '../manifest.ts'
import { refuseRepeats } from '../refuse-repeats.ts'
import { count, hash } from '../scalars.ts'
import { type Change, type HeadField, isBaseRange, type ListChange, type ListPart } from './change.ts'
import { isLogKey } from './keys.ts'
import { offsetFields, optionalFields, type RowChange, sumFields } from './row-change.ts'
import {
  asNumber,
  decodeSegment,
  encodeSegment,
  isCount,
  isInteger,
  isSegmentRow,
  PackTable,
  type SegmentRow,
} from './segment-row.ts'

/**
 * A change as JSON. Lists and segments are arrays, since a commit may have many thousand: their columns are named in
 * docs/format-2.md. A segment that lies in a pack names it by its number in `packs`.
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
  converted: rowShape.converted,
})

export const listKeyText = /^(reread\/)?[^/]{1,300}\/[0-9]{1,10}$/
const listKey = z.string().regex(listKeyText)

/** Checked by hand, as segments are; only `set` has a schema. */
type ListRowDocument = [
  list: string,
  /** 1 where the list is new. */
  isNew: 0 | 1,
  offsets: readonly (number | bigint)[],
  sums: readonly number[],
  set?: unknown,
  /** The parts of its segments; null where they are as before. */
  parts?: (readonly [number, number] | SegmentRow)[] | null,
  unset?: RowChange['unset'],
]

function isListRow(value: unknown): value is ListRowDocument {
  if (!Array.isArray(value) || value.length < 4 || value.length > 7) return false
  const [list, isNew, offsets, sums, _set, parts, unset]: unknown[] = value
  return (
    typeof list === 'string' &&
    listKeyText.test(list) &&
    (isNew === 0 || isNew === 1) &&
    isArrayOf(offsets, isInteger, offsetFields.length) &&
    isArrayOf(sums, Number.isSafeInteger, sumFields.length) &&
    (parts === undefined || parts === null || isArrayOf(parts, isPart)) &&
    (unset === undefined || isArrayOf(unset, field => optionalFields.some(one => one === field)))
  )
}

function isArrayOf(value: unknown, isItem: (item: unknown) => boolean, length?: number): boolean {
  return Array.isArray(value) && (length === undefined || value.length === length) && value.every(isItem)
}

function isPart(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 ? value.every(isCount) : isSegmentRow(value)
}

const listRow = z.custom<ListRowDocument>(isListRow, 'is not the row of a list')

/** All segments of a list, as the pages of a checkpoint have them. */
export function isPageRows(value: unknown): value is SegmentRow[] {
  return isArrayOf(value, isSegmentRow)
}

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

/**
 * Pure. For `JSON.stringify`, without what is empty: most changes are of a few lists only. Each list is encoded when it is written, because
 * the rows of all lists would take several times the memory of the lists themselves.
 */
export function encodeChange(change: Change): object {
  const table = new PackTable()
  const lists: { toJSON: () => ListRowDocument }[] = []
  const removed: string[] = []
  for (const [key, one] of change.lists) {
    if (!one) {
      removed.push(key)
      continue
    }
    // They are written before the lists.
    for (const part of one.parts ?? []) if (!isBaseRange(part) && part.piece) table.numberOf(part.piece.pack)
    lists.push({ toJSON: () => encodeList(key, one, table) })
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

function encodeList(key: string, { isNew, row, parts }: ListChange, table: PackTable): ListRowDocument {
  const { sums, unset } = row
  const isNewNumber = isNew ? 1 : 0
  const offsets = row.offsets.map(asNumber)
  const rows = parts ? parts.map(one => (isBaseRange(one) ? one : encodeSegment(one, table))) : null
  const set = withNumbers(row.set)
  if (unset.length > 0) return [key, isNewNumber, offsets, sums, set, rows, unset]
  if (rows) return [key, isNewNumber, offsets, sums, set, rows]
  return Object.keys(set).length > 0 ? [key, isNewNumber, offsets, sums, set] : [key, isNewNumber, offsets, sums]
}

function withNumbers(value: object): object {
  const changed: Record<string, unknown> = { ...value }
  for (const name of Object.keys(changed)) changed[name] = nested(changed[name])
  return changed
}

function nested(value: unknown): unknown {
  if (typeof value === 'bigint') return asNumber(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.length === 0 ? value : value.map(nested)
  return withNumbers(value)
}

/** Of a document that was read from the key `at`. */
export type DecodeChange = (document: z.output<typeof changeSchema>, at: string) => Change

/** What it says of topics, without their lists. */
export function decodeTopics({ topics, removed_topics }: z.output<typeof changeSchema>, at: string): Change {
  return decodeChange({ ...(topics && { topics }), ...(removed_topics && { removed_topics }) }, at)
}

/** Without the segments of its lists, which are most of the memory: for readers that need only the state after the change. */
export function decodeRows(document: z.output<typeof changeSchema>, at: string): Change {
  const lists = document.lists?.map(
    ([list, isNew, offsets, sums, set, _parts, unset]): ListRowDocument =>
      unset ? [list, isNew, offsets, sums, set, null, unset] : [list, isNew, offsets, sums, set],
  )
  return decodeChange({ ...document, packs: [], ...(lists && { lists }) }, at)
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
    passing: new Map((document.passing ?? []).map(object => [assertPassing(object.key, at), object])),
  }
}

/** Objects of records only: a sweep that removes what no generation needs acts on these keys. */
function assertPassing(key: string, at: string): string {
  const [backupId = ''] = at.split('/')
  if (isLogKey(key, backupId, 'pack') || isSegmentKey(key, backupId)) return key
  throw damaged(at, `is damaged: it names ${JSON.stringify(key.slice(0, 200))}, which is not a pack or a segment`)
}

function decodeList(row: ListRowDocument, packs: readonly PackRef[], at: string): ListChange {
  const [key, isNew, offsets, sums, set, parts, unset = []] = row
  const decoded = parts?.map((one): ListPart => (isRange(one) ? one : decodeSegment(one, packs, at)))
  if (decoded) assertOrder(decoded, key, at)
  if (isNew === 1 && decoded?.some(isBaseRange)) throw damaged(at, `is damaged: ${key} is new and names older segments`)
  const change: RowChange = { offsets: offsets.map(BigInt), sums, set: decodeSet(set, key, at), unset }
  return { isNew: isNew === 1, row: change, ...(decoded && { parts: decoded }) }
}

function decodeSet(set: unknown, list: string, at: string): RowChange['set'] {
  if (set === undefined) return {}
  const usual = decodeUsualSet(set)
  if (usual) return usual
  const { data, error } = setShape.safeParse(set)
  if (data) return data as RowChange['set']
  const [issue] = error.issues
  throw damaged(at, `is damaged: ${issue?.path.join('.')} of ${list}: ${issue?.message}`)
}

/** By hand where it has only what nearly every row sets; undefined otherwise. */
function decodeUsualSet(set: unknown): RowChange['set'] | undefined {
  if (typeof set !== 'object' || set === null || Array.isArray(set)) return undefined
  const decoded: RowChange['set'] = {}
  for (const [name, value] of Object.entries(set)) {
    if (name === 'last_epoch' && Number.isSafeInteger(value)) decoded[name] = value
    else if (name === 'last_batch' && isLastBatch(value)) {
      decoded[name] = { base_offset: BigInt(value.base_offset), records: value.records, crc: value.crc }
    } else if ((name === 'first_timestamp' || name === 'last_timestamp') && isInteger(value)) {
      decoded[name] = BigInt(value)
    } else return undefined
  }
  return decoded
}

type LastBatchDocument = Record<'records' | 'crc', number> & { base_offset: number | bigint }

function isLastBatch(value: unknown): value is LastBatchDocument {
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== 3) return false
  const { base_offset, records, crc } = value as Partial<LastBatchDocument>
  return isInteger(base_offset) && isCount(records) && isCount(crc)
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

function isRange(one: readonly [number, number] | SegmentRow): one is readonly [number, number] {
  return one.length === 2
}
