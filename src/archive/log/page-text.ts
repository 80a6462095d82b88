import { parseJson } from '../../lib/json.ts'
import { endOfValue, fieldRanges, readItems } from '../../lib/json-text.ts'
import type { Storage } from '../../storage/storage.ts'
import { damaged } from '../damage.ts'
import { type PackRef, parseAs, type Segment } from '../manifest.ts'
import { isPageRows, listKeyText } from './change-document.ts'
import { LOG_VERSION, readRecorded, unpackLine } from './document.ts'
import { type PageRef, pageSchema } from './documents.ts'
import { decodeSegment } from './segment-row.ts'

/** A page of a checkpoint as text, which takes a fraction of the memory of its segments, and none of the heap. */
export interface PageText {
  key: string
  packs: readonly PackRef[]
  /** The names of the lists, in their order. */
  names: readonly string[]
  text: Buffer
  /** Of the segments of each list: where they begin and end in the text. */
  ranges: Uint32Array
}

export async function readPageText(
  storage: Storage,
  backupId: string,
  ref: PageRef,
  signal: AbortSignal,
): Promise<PageText> {
  const line = unpackLine(await readRecorded(storage, ref, signal), ref.key)
  try {
    return openPage(ownMemory(line), backupId, ref)
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    throw damaged(ref.key, 'is not JSON', { cause })
  }
}

/** A small text may lie in the memory for a large one, which would be kept with it. */
function ownMemory(text: Buffer): Buffer {
  if (text.buffer.byteLength < 2 * text.length) return text
  const own = Buffer.allocUnsafeSlow(text.length)
  text.copy(own)
  return own
}

function openPage(text: Buffer, backupId: string, ref: PageRef): PageText {
  const { key } = ref
  let lists: ListPlaces = { names: [], places: [] }
  const readLists = (start: number) => {
    lists = { names: [], places: [] }
    return readItems(text, start, list => readList(text, list, lists, key))
  }
  const fields = fieldRanges(text, 0, new Map([['lists', readLists]]))
  const { start, end } = fields.get('lists') ?? { start: text.length, end: text.length }
  const rest = `${text.toString('utf8', 0, start)}${start < end ? '[]' : ''}${text.toString('utf8', end)}`
  const page = parseAs(pageSchema, rest, key, undefined, LOG_VERSION)
  if (page.backup_id !== backupId) throw damaged(key, `belongs to backup \`${page.backup_id}\``)
  assertListOrder(lists.names, ref)
  return { key, packs: page.packs, names: lists.names, text, ranges: Uint32Array.from(lists.places) }
}

interface ListPlaces {
  names: string[]
  /** Of the segments of each: where they begin and end. */
  places: number[]
}

/** A list is an array of its name and its segments. Returns where it ends. */
function readList(text: Buffer, start: number, { names, places }: ListPlaces, key: string): number {
  let name: unknown
  let items = 0
  const end = readItems(text, start, item => {
    const itemEnd = endOfValue(text, item)
    if (items === 0) name = JSON.parse(text.toString('utf8', item, itemEnd))
    if (items === 1) places.push(item, itemEnd)
    items++
    return itemEnd
  })
  if (items !== 2 || typeof name !== 'string' || !listKeyText.test(name)) {
    throw damaged(key, 'is damaged: lists: is not a list with its segments')
  }
  names.push(name)
  return end
}

function assertListOrder(names: readonly string[], { key, first, last }: PageRef): void {
  for (const [i, list] of names.entries()) {
    const before = names[i - 1]
    if (first <= list && list <= last && (before === undefined || before < list)) continue
    throw damaged(key, `is damaged: ${list} is out of order`)
  }
}

/** The segments of the list at a place among the names. */
export function segmentsAt({ key, packs, names, text, ranges }: PageText, place: number): Segment[] {
  const json = text.toString('utf8', ranges[2 * place], ranges[2 * place + 1])
  // Without a search for long numbers at first: one that a double cannot hold is not taken for an integer.
  for (const parse of [JSON.parse, parseJson]) {
    const rows = tryParse(json, parse, key)
    if (isPageRows(rows)) return rows.map(row => decodeSegment(row, packs, key))
  }
  throw damaged(key, `is damaged: ${names[place]} has a segment without its columns`)
}

function tryParse(text: string, parse: (text: string) => unknown, key: string): unknown {
  try {
    return parse(text)
  } catch (cause) {
    throw damaged(key, 'is not JSON', { cause })
  }
}
