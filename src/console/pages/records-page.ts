import type { ManifestPartition } from '../../archive/manifest.ts'
import { formatBytes, formatCount } from '../../lib/units.ts'
import type { OpenedBackup } from '../archive-reader.ts'
import { type FoundRecords, findRecords, type RecordQuery } from '../find-records.ts'
import { type FoundTopic, findTopic, permanentLabel } from '../find-topic.ts'
import { type Html, html } from '../html.ts'
import { recordLink, recordsLink, topicLink } from '../links.ts'
import type { PageRequest } from '../page-request.ts'
import { hasConditions, readRecordQuery } from '../record-query.ts'
import type { RecordView } from '../record-view.ts'
import { showPage } from './layout.ts'
import { showRecordForm } from './record-form.ts'
import { type Column, showTable } from './table.ts'
import { badge, plural, showTime } from './words.ts'

/** The page of the records of a topic: the newest ones, from an offset or a time on, or those that a search finds. */
export async function recordsPage(backup: OpenedBackup, label: string, request: PageRequest): Promise<Html> {
  const found = findTopic(backup, label)
  const query = readRecordQuery(found, request.query)
  const { clock, signal } = request
  const result = await findRecords({ backup, found, clock }, query, signal)
  return showRecords(backup, found, { query, result }, request)
}

interface ShownRecords {
  query: RecordQuery
  result: FoundRecords
}

/** Pure. */
function showRecords(
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
${showRecordForm(found, result.contexts, request)}
${showOutcome(query, result)}
${rows.length > 0 && showTable({ ...request, name: 'records', caption: 'Records', rows, columns: recordColumns(backup, permanentLabel(found), query.context), empty: '' })}
${showMore(backup, found, { query, result }, request.query, single)}`
  const trail = [[label, topicLink(place, label)] as const]
  return showPage({ title: 'Records', body, backup, tab: 'Overview', trail })
}

function showOutcome(
  query: RecordQuery,
  { records, searched, bytes, isStopped, next, tooLarge, hasUndecoded, damage }: FoundRecords,
): Html {
  const isSearch = hasConditions(query)
  const order = query.before === undefined ? 'oldest first' : 'newest first'
  const what = isSearch
    ? `Found ${plural(records.length, 'record')}, ${formatCount(searched)} searched, ${formatBytes(bytes)} read`
    : `${plural(records.length, 'record')}, ${order}`
  return html`<p role="status">${what}.${isStopped && html` <strong>The search stopped at the limit of one request${next ? '; continue it below' : ''}.</strong>`}</p>
${tooLarge > 0 && html`<p class="notice warn">${plural(tooLarge, 'record')} too large to be decoded or searched here may match, too; kafka-backup search has higher limits.</p>`}
${isSearch && hasUndecoded && html`<p class="notice warn">Some keys or values name a schema that does not decode them, and were compared as they are stored.</p>`}
${damage !== undefined && html`<p class="notice bad">Schemas cannot be read: ${damage}</p>`}`
}

function recordColumns(backup: OpenedBackup, topic: string, context: string | undefined): Column<RecordView>[] {
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
        html`<a href="${recordLink(backup.place, { topic, partition, offset, context })}">${offset}</a>`,
    },
    { key: 'time', title: 'Time', order: one => one.timestamp, cell: one => showTime(one.timestamp) },
    { key: 'key', title: 'Key', order: one => one.key.text, cell: one => showShort(one.key) },
    { key: 'value', title: 'Value', order: one => one.value.text, cell: showValue },
    {
      ...{ key: 'headers', title: 'Headers', isNumber: true, order: one => one.headerCount },
      cell: one => formatCount(one.headerCount),
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
    [...asked].filter(([name]) => !['from', 'before', 'resume', 'at', 'generation'].includes(name)),
  )
  const link = (changes: Record<string, string | number | bigint | undefined>) =>
    recordsLink(backup.place, label, { ...kept, ...changes })
  const { records, next } = result
  const [first, last] = [records[0], records.at(-1)]
  if (query.before !== undefined && single) {
    const own = { partition: single.partition }
    // Where the budget of the request ended the reading, records between the place that it reached and the first one may be missing.
    const before = next ? next.offset : first?.offset
    const older = before !== undefined && before > single.start_offset
    const following = last ? last.offset + 1n : query.before
    const newer = following < single.end_offset
    return html`<nav class="pager" aria-label="More records">
${newer ? html`<a href="${link({ ...own, from: following })}">Newer</a>` : html`<span class="none">Newer</span>`}
${older ? html`<a href="${link({ ...own, before })}">Older</a>` : html`<span class="none">Older</span>`}
<a href="${link({ ...own, from: single.start_offset })}">From the first record</a></nav>`
  }
  const following =
    next && single
      ? { partition: single.partition, from: next.offset }
      : next && { resume: next.partition, at: next.offset, from: query.from }
  const start = first?.offset ?? query.from
  return html`<nav class="pager" aria-label="More records">
${single && start !== undefined && start > single.start_offset ? html`<a href="${link({ partition: single.partition, before: start })}">Before these</a>` : html`<span class="none">Before these</span>`}
${following ? html`<a href="${link(following)}" rel="next">Continue</a>` : html`<span class="none">Everything was read</span>`}</nav>`
}
