import { KafkaBackupError, usageError } from '../../errors.ts'
import { newTally, type Tally, totalsOf } from '../../inspect/cat.ts'
import { parsePrintFormat, type ShownRecord } from '../../inspect/print-format.ts'
import { recordDocument, textOfPart, timeOf } from '../../inspect/show-record.ts'
import { formatJson } from '../../lib/json.ts'
import { formatCount } from '../../lib/units.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { plural, printable } from '../text.ts'
import { withBackup } from './backups-at.ts'
import { choiceOf } from './generation-choice.ts'
import { readQuery } from './record-query.ts'

export async function run(session: Session): Promise<number> {
  const query = readQuery(session.options)
  const choice = choiceOf(session.options)
  const format = formatOf(session)
  return withBackup(session, async (storage, backupId) => {
    const { actions, signal, onProgress } = session
    const tally = newTally()
    const print = (records: AsyncIterable<ShownRecord>) => session.printAll(format(records))
    await actions.catAt(storage, backupId, { query, tally, onProgress, ...choice }, signal, print)
    if (!session.options.quiet) reportMatches(session, tally)
    refuseDamagedSchemas(tally)
    return 0
  })
}

/** So that an empty output is not taken for a failure, and a record that may be meant not for one that is not there. */
function reportMatches(session: Session, tally: Tally): void {
  const { matched, searched } = totalsOf(tally)
  const unclear = formatNotDecoded(tally)
  if (matched > 0 && unclear === '') return
  const text = `cat: ${formatMatches(matched, searched)}${unclear}`
  if (!session.tell(() => [text]) && unclear !== '') session.log.write('warn', text)
}

function formatMatches(matched: number, searched: number): string {
  if (searched === 0) return 'there are no records in this range'
  return `${matched === 0 ? 'none' : formatCount(matched)} of ${plural(searched, 'record')} matches`
}

/** Their fields are not known, so they may be what is searched for. */
export function formatNotDecoded({ notDecoded, keysNotDecoded, tooLarge }: Tally): string {
  const keys = keysNotDecoded === 0 ? [] : [plural(keysNotDecoded, 'key')]
  const values = notDecoded === 0 ? [] : [plural(notDecoded, 'value')]
  const what = [...keys, ...values].join(' and ')
  if (what === '') return ''
  const were = notDecoded + keysNotDecoded === 1 ? 'was' : 'were'
  const large = tooLarge === 0 ? '' : ` (${plural(tooLarge, 'value')} too long as text)`
  return `; ${what} could not be decoded with a schema and ${were} searched as stored${large}`
}

/** After everything is printed: a condition may have missed what could not be decoded. */
export function refuseDamagedSchemas({ damage }: Tally): void {
  if (damage === undefined) return
  const message = `keys, values or headers whose schemas cannot be read were taken as they are stored: ${damage}`
  throw new KafkaBackupError('ARCHIVE_DAMAGED', message)
}

type Format = (records: AsyncIterable<ShownRecord>) => AsyncIterable<Buffer>

export function formatOf({ options: { print, format }, style }: Session): Format {
  if (print !== undefined) {
    if (format === 'json') throw usageError('pass either --print or --format json, not both')
    return each(parsePrintFormat(print))
  }
  if (format === 'json') return each(shown => line(formatJson(recordDocument(shown.record, shown))))
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

function formatRecord({ record, key, value, headers }: ShownRecord, style: OutputStyle): string[] {
  const { partition, offset, timestamp, transaction } = record
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
          `headers: ${headers.map(({ name, part }) => `${name}=${part.encoding === 'null' ? 'null' : textOfPart(part)}`).join(', ')}`,
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
