import type { ManifestPartition } from '../../archive/manifest.ts'
import { usageError } from '../../errors.ts'
import { parsePathCondition } from '../../inspect/json-path.ts'
import { formatBytes, formatCount } from '../../lib/units.ts'
import type { OpenedBackup } from '../archive-reader.ts'
import { type FoundRecords, findRecords, type RecordQuery, type RecordView } from '../find-records.ts'
import { type FoundTopic, findPartition, findTopic } from '../find-topic.ts'
import { type Html, html } from '../html.ts'
import { backupLink, homeLink, recordLink, recordsLink, topicLink } from '../links.ts'
import { bigIn, numberIn, type PageRequest, textIn } from '../page-request.ts'
import { showPage } from './layout.ts'
import { showRecordForm } from './record-form.ts'
import { type Column, showTable } from './table.ts'
import { badge, plural, showTime } from './words.ts'

const PAGE_RECORDS = 50

/** The page of the records of a topic: the newest ones, from an offset or a time on, or those that a search finds. */
export async function recordsPage(backup: OpenedBackup, label: string, request: PageRequest): Promise<Html> {
  const found = findTopic(backup, label)
  const query = readRecordQuery(found, request.query)
  const { clock, signal } = request
  const result = await findRecords({ backup, found, clock }, query, signal)
  return showRecords(backup, found, { query, result }, request)
}

/** Pure. Refuses what is not a number, a time or a condition. */
export function readRecordQuery(found: FoundTopic, query: URLSearchParams): RecordQuery {
  const number = numberIn(query, 'partition')
  const conditions = readConditions(query)
  const times = { start: timeIn(query, 'since'), end: timeIn(query, 'until') }
  const [from, before] = [bigIn(query, 'from'), bigIn(query, 'before')]
  const isSearch = hasConditions(conditions) || times.start !== undefined || times.end !== undefined
  const partitions = partitionsOf(found, { number, isSearch, startsAt: numberIn(query, 'resume') })
  // Without any wish: the newest ones.
  const isNewest = !isSearch && from === undefined && before === undefined
  const first = partitions[0]
  return {
    ...{ partitions, from, times, withAborted: query.get('aborted') === '1', count: PAGE_RECORDS, ...conditions },
    before: before ?? (isNewest ? first?.end_offset : undefined),
  }
}

/** One where it is named or nothing is searched: that with the most records, as far as it is not named. */
function partitionsOf(
  found: FoundTopic,
  { number, isSearch, startsAt = 0 }: { number: number | undefined; isSearch: boolean; startsAt: number | undefined },
): readonly ManifestPartition[] {
  if (number !== undefined) return [findPartition(found, number)]
  const { partitions } = found.topic
  if (isSearch) return partitions.filter(({ partition, records }) => partition >= startsAt && records > 0)
  return partitions.toSorted((a, b) => b.records - a.records || a.partition - b.partition).slice(0, 1)
}

function readConditions(query: URLSearchParams): Pick<RecordQuery, 'key' | 'keyPrefix' | 'text' | 'paths' | 'headers'> {
  const [key, text, where, header] = ['key', 'text', 'where', 'header'].map(name => textIn(query, name))
  const isPrefix = query.get('prefix') === '1'
  const at = header?.indexOf('=') ?? -1
  return {
    ...(isPrefix ? { keyPrefix: key } : { key }),
    text,
    paths: where === undefined ? [] : [parsePathCondition(where)],
    headers:
      header === undefined
        ? []
        : [at < 0 ? { name: header } : { name: header.slice(0, at), value: header.slice(at + 1) }],
  }
}

function hasConditions({ key, keyPrefix, text, paths = [], headers }: ReturnType<typeof readConditions>): boolean {
  return [key, keyPrefix, text].some(one => one !== undefined) || paths.length + headers.length > 0
}

/** As a form gives it, which is UTC here, in ISO 8601, or in milliseconds since 1970. */
function timeIn(query: URLSearchParams, name: string): bigint | undefined {
  const text = textIn(query, name)
  if (text === undefined) return undefined
  if (/^\d{1,18}$/.test(text)) return BigInt(text)
  const isLocal = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$/.test(text)
  const ms = Date.parse(isLocal && text.length > 10 ? `${text.replace(' ', 'T')}Z` : text)
  if (Number.isFinite(ms)) return BigInt(ms)
  throw usageError(`${name}: ${JSON.stringify(text.slice(0, 40))} is not a time such as 2026-01-31T08:00:00Z`)
}

interface ShownRecords {
  query: RecordQuery
  result: FoundRecords
}

/** Pure. */
export function showRecords(
  backup: OpenedBackup,
  found: FoundTopic,
  { query, result }: ShownRecords,
  request: Pick<PageRequest, 'query' | 'rawPath'>,
): Html {
  const { label } = found
  const { place } = backup
  const { records } = result
  const single = query.partitions.length === 1 ? query.partitions[0] : undefined
  const rows = query.before === undefined ? records : records.toReversed()
  const body = html`<h1>Records of ${label}</h1>
${showRecordForm(found, request)}
${showOutcome(query, result)}
${rows.length > 0 && showTable({ ...request, name: 'records', caption: 'Records', rows, columns: recordColumns(backup, label), empty: '' })}
${showMore(backup, found, { query, result }, request.query, single)}`
  const trail = [
    ['Backups', homeLink] as const,
    [backup.manifest.backup_id, backupLink(place)] as const,
    [label, topicLink(place, label)] as const,
  ]
  return showPage({ title: 'Records', body, backup, tab: 'Overview', trail })
}

function showOutcome(query: RecordQuery, { records, searched, bytes, isStopped, next, damage }: FoundRecords): Html {
  const isSearch = hasConditions({ ...query, paths: query.paths ?? [] })
  const order = query.before === undefined ? 'oldest first' : 'newest first'
  const what = isSearch
    ? `Found ${plural(records.length, 'record')}, ${formatCount(searched)} searched, ${formatBytes(bytes)} read`
    : `${plural(records.length, 'record')}, ${order}`
  return html`<p role="status">${what}.${isStopped && html` <strong>The search stopped at the limit of one request${next ? '; continue it below' : ''}.</strong>`}</p>
${damage !== undefined && html`<p class="notice bad">Schemas cannot be read: ${damage}</p>`}`
}

function recordColumns(backup: OpenedBackup, topic: string): Column<RecordView>[] {
  return [
    {
      key: 'partition',
      title: 'Partition',
      isNumber: true,
      order: one => one.partition,
      cell: one => String(one.partition),
    },
    {
      ...{ key: 'offset', title: 'Offset', isNumber: true, order: one => one.offset },
      cell: ({ partition, offset }) =>
        html`<a href="${recordLink(backup.place, { topic, partition, offset })}">${offset}</a>`,
    },
    { key: 'time', title: 'Time', order: one => one.timestamp, cell: one => showTime(one.timestamp) },
    { key: 'key', title: 'Key', order: one => one.key.text, cell: one => showShort(one.key) },
    { key: 'value', title: 'Value', order: one => one.value.text, cell: showValue },
    {
      ...{ key: 'headers', title: 'Headers', isNumber: true, order: one => one.headers.length },
      cell: one => String(one.headers.length),
    },
  ]
}

function showValue({ transaction, value }: RecordView): Html {
  if (transaction.endsWith('marker')) return badge('warn', transaction)
  const aborted = transaction === 'aborted' && html`${badge('warn', 'aborted')} `
  return html`${aborted}${showShort(value, 'tombstone')}`
}

function showShort({ form, text, isCut, reason }: RecordView['key'], none = 'null'): Html {
  if (form === 'null') return html`<span class="none">${none}</span>`
  return html`<code class="${form}">${text}${isCut && '…'}</code>${reason !== undefined && html` ${badge('warn', 'not decoded')}`}`
}

function showMore(
  backup: OpenedBackup,
  { label }: FoundTopic,
  { query, result }: ShownRecords,
  asked: URLSearchParams,
  single: ManifestPartition | undefined,
): Html {
  const kept = Object.fromEntries(
    [...asked].filter(([name]) => !['from', 'before', 'resume', 'generation'].includes(name)),
  )
  const link = (changes: Record<string, string | number | bigint | undefined>) =>
    recordsLink(backup.place, label, { ...kept, ...changes })
  const { records, next } = result
  const [first, last] = [records[0], records.at(-1)]
  if (query.before !== undefined && single) {
    const own = { partition: single.partition }
    const older = first && first.offset > single.start_offset
    const newer = last && last.offset + 1n < single.end_offset
    return html`<nav class="pager" aria-label="More records">
${newer ? html`<a href="${link({ ...own, from: last.offset + 1n })}">Newer</a>` : html`<span class="none">Newer</span>`}
${older ? html`<a href="${link({ ...own, before: first.offset })}">Older</a>` : html`<span class="none">Older</span>`}
<a href="${link({ ...own, from: single.start_offset })}">From the first record</a></nav>`
  }
  const goesOn =
    next && single
      ? { partition: single.partition, from: next.offset }
      : next && { resume: next.partition, from: next.offset }
  return html`<nav class="pager" aria-label="More records">
${single && first && first.offset > single.start_offset ? html`<a href="${link({ partition: single.partition, before: first.offset })}">Before these</a>` : html`<span class="none">Before these</span>`}
${goesOn ? html`<a href="${link(goesOn)}" rel="next">Continue</a>` : html`<span class="none">Everything was read</span>`}</nav>`
}
