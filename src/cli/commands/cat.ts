import { parseTime } from '../../config/scalar-leaves.ts'
import { usageError } from '../../errors.ts'
import { type CatQuery, newTally, totalsOf } from '../../inspect/cat.ts'
import { parsePathCondition } from '../../inspect/json-path.ts'
import { parsePrintFormat, type ShownRecord } from '../../inspect/print-format.ts'
import { headerPart, recordDocument, type Showing, showings, textOfPart, timeOf } from '../../inspect/show-record.ts'
import { formatJson } from '../../lib/json.ts'
import type { CommandOptions } from '../option-specs.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { plural, printable } from '../text.ts'
import { withBackup } from './backups-at.ts'
import { choiceOf } from './generation-choice.ts'

export async function run(session: Session): Promise<number> {
  const query = readQuery(session.options)
  const choice = choiceOf(session.options)
  const format = formatOf(session)
  return withBackup(session, async (storage, backupId) => {
    const { actions, signal } = session
    const tally = newTally()
    const print = (records: AsyncIterable<ShownRecord>) => session.printAll(format(records))
    await actions.catAt(storage, backupId, { query, tally, ...choice }, signal, print)
    const { matched, searched } = totalsOf(tally)
    // So that an empty output is not taken for a failure.
    if (matched === 0 && !session.options.quiet) session.tell(() => [formatNone(searched)])
    return 0
  })
}

function formatNone(searched: number): string {
  return searched === 0
    ? 'cat: there are no records in this range'
    : `cat: none of ${plural(searched, 'record')} matches`
}

type Format = (records: AsyncIterable<ShownRecord>) => AsyncIterable<Buffer>

export function formatOf({ options: { print, format }, style }: Session): Format {
  if (print !== undefined) {
    if (format === 'json') throw usageError('pass either --print or --format json, not both')
    return each(parsePrintFormat(print))
  }
  if (format === 'json') return each(shown => line(formatJson(recordDocument(shown.record, shown.key, shown.value))))
  return records => formatLines(records, style)
}

function each(formatOne: (shown: ShownRecord) => Buffer): Format {
  return async function* (records) {
    for await (const shown of records) yield formatOne(shown)
  }
}

/** For people: a line for each record, cut to the width of a terminal; a title where the topic changes. */
async function* formatLines(records: AsyncIterable<ShownRecord>, style: OutputStyle): AsyncGenerator<Buffer> {
  let topic: string | undefined
  for await (const shown of records) {
    if (shown.record.topic !== topic) {
      const gap = topic === undefined ? '' : '\n'
      topic = shown.record.topic
      yield line(`${gap}${style.bold(printable(topic))}`)
      yield line(style.dim(row(['PARTITION', 'OFFSET', 'TIME', 'KEY', 'VALUE'], style)))
    }
    for (const text of formatRecord(shown, style)) yield line(text)
  }
}

function formatRecord({ record, key, value }: ShownRecord, style: OutputStyle): string[] {
  const { partition, offset, timestamp, transaction, headers } = record
  const time = timeOf(timestamp) ?? String(timestamp)
  const shownKey = key.encoding === 'null' ? '-' : printable(textOfPart(key))
  const shownValue = value.encoding === 'null' ? '(tombstone)' : printable(textOfPart(value))
  const isMarker = transaction.endsWith('marker')
  const content = isMarker ? ['', `(${transaction})`] : [shownKey, shownValue]
  const notes = [
    ...(transaction === 'aborted' ? ['aborted: restores and consumers leave it out'] : []),
    ...(key.reason === undefined ? [] : [`key not decoded: ${key.reason}`]),
    ...(value.reason === undefined ? [] : [`value not decoded: ${value.reason}`]),
    ...(headers.length === 0
      ? []
      : [
          `headers: ${headers.map(([name, bytes]) => `${name}=${bytes === null ? 'null' : textOfPart(headerPart(bytes))}`).join(', ')}`,
        ]),
  ]
  return [
    row([String(partition), String(offset), time, ...content], style),
    ...notes.map(note => style.dim(cut(`           ${printable(note)}`, style))),
  ]
}

const widths = [9, 12, 24, 16]

function row(cells: readonly string[], style: OutputStyle): string {
  return cut(
    cells
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
    style,
  )
}

function cut(text: string, { columns, hasUnicode }: OutputStyle): string {
  if (columns === undefined || text.length <= columns) return text
  const mark = hasUnicode ? '…' : '...'
  return `${text.slice(0, Math.max(0, columns - mark.length))}${mark}`
}

function line(text: string): Buffer {
  return Buffer.from(`${text}\n`, 'utf8')
}

export function readQuery(options: CommandOptions): CatQuery {
  const { topic = '', key, header, context, withAborted } = options
  const offsets = { start: offsetOf('from-offset', options.fromOffset), end: offsetOf('to-offset', options.toOffset) }
  const times = { start: timeGiven('since', options.since), end: timeGiven('until', options.until) }
  if (offsets.start !== undefined && offsets.end !== undefined && offsets.end <= offsets.start) {
    throw usageError('--to-offset must be greater than --from-offset')
  }
  if (times.start !== undefined && times.end !== undefined && times.end <= times.start) {
    throw usageError('--until must be later than --since')
  }
  return {
    ...{ topic, key, context, keyPrefix: options.keyPrefix, text: options.text },
    paths: options.where.map(parsePathCondition),
    partition: numberOf('partition', options.partition),
    extent: { offsets, times, withAborted },
    headers: header.map(readHeader),
    newest: countOf('newest', options.newest),
    limit: countOf('limit', options.limit),
    keyAs: showingOf(options.keyAs),
    valueAs: showingOf(options.valueAs),
  }
}

function readHeader(text: string): { name: string; value?: string } {
  const at = text.indexOf('=')
  return at < 0 ? { name: text } : { name: text.slice(0, at), value: text.slice(at + 1) }
}

/** The parser lets choices pass only. */
function showingOf(text: string | undefined): Showing {
  return showings.find(one => one === text) ?? 'auto'
}

function timeGiven(name: string, text: string | undefined): bigint | undefined {
  if (text === undefined) return undefined
  const time = parseTime(text)
  if (typeof time === 'bigint') return time
  throw usageError(`--${name} ${text} ${time.wrong}`)
}

function offsetOf(name: string, text: string | undefined): bigint | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,19}$/.test(text) && BigInt(text) <= MAX_OFFSET) return BigInt(text)
  throw usageError(`--${name} is an offset from 0 to ${MAX_OFFSET}, not ${JSON.stringify(text)}`)
}

/** Offsets of Kafka are 64-bit integers. */
const MAX_OFFSET = 2n ** 63n - 1n

function numberOf(name: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(digits(name, text))
}

function countOf(name: string, text: string | undefined): number | undefined {
  const count = numberOf(name, text)
  if (count === 0) throw usageError(`--${name} must be 1 or more`)
  if (name === 'newest' && count !== undefined && count > MAX_NEWEST)
    throw usageError(`--newest is at most ${MAX_NEWEST}`)
  return count
}

/** They are held in memory. */
const MAX_NEWEST = 100_000

function digits(name: string, text: string): string {
  if (/^\d{1,15}$/.test(text)) return text
  throw usageError(`--${name} is a number, not ${JSON.stringify(text)}`)
}
