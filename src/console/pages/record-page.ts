import { formatBytes, formatCount } from '../../lib/units.ts'
import type { OpenedBackup } from '../archive-reader.ts'
import { permanentLabel } from '../find-topic.ts'
import { type Html, html, nothing } from '../html.ts'
import { type RecordPlace, rawLink, recordLink, recordsLink, subjectLink, topicLink } from '../links.ts'
import type { PageRequest } from '../page-request.ts'
import { MAX_RAW_BYTES, type OneRecord, readRecord } from '../read-record.ts'
import type { RecordView } from '../record-view.ts'
import { type HeaderView, hexDump, type PartView, recordLimits } from '../show-part.ts'
import { highlightJson } from './highlight.ts'
import { showPage } from './layout.ts'
import { type Column, showTable } from './table.ts'
import { badge, facts, showExactTime } from './words.ts'

/** The page of one record, which is its permanent link. */
export async function recordPage(backup: OpenedBackup, place: RecordPlace, request: PageRequest): Promise<Html> {
  return showRecord(backup, await readRecord(backup, place, request), request)
}

/** Pure. */
export function showRecord(
  backup: OpenedBackup,
  { found, view, context, contexts, bytes }: OneRecord,
  request: Pick<PageRequest, 'query' | 'rawPath'>,
): Html {
  const { partition, offset, timestamp, transaction, headers, headerCount } = view
  const { label } = found
  const place: RecordPlace = { topic: permanentLabel(found), partition, offset, context }
  const around = recordsLink(backup.place, label, { partition, from: offset > 10n ? offset - 10n : 0n, context })
  const body = html`<h1>${label} <small>partition ${partition}, offset ${offset}</small></h1>
${facts([
  ['Time', showExactTime(timestamp)],
  ['Transaction', transaction === 'plain' ? 'none' : badge(transaction === 'committed' ? 'good' : 'warn', transaction)],
  ...showContexts(backup, place, contexts),
  ['Sizes', `key ${formatSize(bytes.key)}, value ${formatSize(bytes.value)}`],
])}
<p><a href="${around}">Records around it</a> &middot; <a href="${recordLink(backup.place, place)}">Permanent link</a></p>
${(['key', 'value'] as const).map(part => showPart(backup, place, part, view[part], bytes[part]))}
<h2>Headers</h2>
${showTable({ ...request, name: 'headers', caption: 'Headers', rows: headers, columns: headerColumns, empty: 'This record has no headers.' })}
${headerCount > headers.length && html`<p class="notice warn">These are the first ${formatCount(headers.length)} of ${formatCount(headerCount)} headers; kafka-backup cat prints all.</p>`}`
  const trail = [
    [label, topicLink(backup.place, label)] as const,
    ['Records', recordsLink(backup.place, label, { partition, context })] as const,
  ]
  return showPage({ title: `${partition}/${offset}`, body, backup, tab: 'Overview', trail })
}

/** Only where schema IDs may count in another one than the default context. */
function showContexts(backup: OpenedBackup, place: RecordPlace, contexts: readonly string[]): [string, Html][] {
  if (contexts.length === 0) return []
  const shown = [undefined, ...contexts].map(context => {
    const name = context ?? 'default'
    return place.context === context
      ? html`<strong>${name}</strong> `
      : html`<a href="${recordLink(backup.place, { ...place, context })}">${name}</a> `
  })
  return [['Schema IDs of the context', html`${shown}`]]
}

function formatSize(bytes: Buffer | null): string {
  return bytes === null ? 'null' : formatBytes(bytes.length)
}

/** The decoded form next to the stored bytes. */
function showPart(
  backup: OpenedBackup,
  place: RecordPlace,
  part: 'key' | 'value',
  view: PartView,
  bytes: Buffer | null,
): Html {
  const title = part === 'key' ? 'Key' : 'Value'
  if (view.form === 'null' || bytes === null) {
    const word = part === 'value' ? 'null: a tombstone, which deletes the key in a compacted topic' : 'null'
    return html`<h2>${title}</h2><p class="none">${word}</p>`
  }
  const { schema } = view
  const shown = bytes.subarray(0, MAX_DUMP_BYTES)
  return html`<h2>${title}</h2>
${schema && html`<p>${schema.type} schema <a href="${subjectLink(backup.place, schema.subject, { version: schema.version })}">${schema.subject} version ${schema.version}</a>, ID ${schema.id}</p>`}
${view.reason !== undefined && html`<p class="notice warn">Not decoded: ${view.reason}</p>`}
<div class="sides"><section aria-label="${title}, decoded"><h3>${schema ? 'Decoded' : view.form === 'text' ? 'Text' : 'Bytes'}</h3><pre class="${view.form}" tabindex="0">${view.form === 'json' ? highlightJson(view.text) : view.text}</pre>${view.isCut && html`<p class="none">Cut after ${formatBytes(recordLimits.maxChars)}.</p>`}</section>
<section aria-label="${title}, as stored"><h3>As stored</h3><pre class="binary" tabindex="0">${hexDump(shown)}</pre>
<p>${shown.length < bytes.length ? `The first ${formatBytes(shown.length)} of ${formatBytes(bytes.length)}. ` : nothing}${bytes.length <= MAX_RAW_BYTES ? html`<a href="${rawLink(backup.place, place, part)}" download>Save the bytes of the ${part}</a>` : 'Too large to save here: use kafka-backup cat.'}</p></section></div>`
}

const MAX_DUMP_BYTES = 4096

type Header = RecordView['headers'][number]

function describeHeader({ reason, schema, hex }: HeaderView): Html {
  if (reason !== undefined) return html` <small>not decoded: ${reason}</small>`
  if (!schema || !hex) return nothing
  return html` <small>${schema.subject} version ${schema.version}; stored as <code>${hex.text}${hex.isCut && '…'}</code></small>`
}

const headerColumns: readonly Column<Header>[] = [
  { key: 'name', title: 'Name', order: one => one.name, cell: one => html`<code>${one.name}</code>` },
  {
    ...{ key: 'value', title: 'Value', order: one => one.value?.text ?? null },
    cell: ({ value }) =>
      value === null
        ? html`<span class="none">null</span>`
        : html`<code class="${value.form}">${value.text}${value.isCut && '…'}</code>${describeHeader(value)}`,
  },
  {
    key: 'bytes',
    title: 'Bytes',
    isNumber: true,
    order: one => one.value?.size ?? null,
    cell: one => String(one.value?.size ?? ''),
  },
]
