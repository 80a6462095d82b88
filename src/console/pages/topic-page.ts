import { effectiveSetting } from '../../archive/effective-settings.ts'
import type { Gap, ManifestPartition } from '../../archive/manifest.ts'
import { totalsOf } from '../../archive/summary.ts'
import { formatBytes, formatCount } from '../../lib/units.ts'
import type { OpenedBackup } from '../archive-reader.ts'
import { type FoundTopic, findTopic, incarnationsOf } from '../find-topic.ts'
import { type Html, html, nothing } from '../html.ts'
import { type BackupPlace, recordsLink, topicLink } from '../links.ts'
import type { PageRequest } from '../page-request.ts'
import { showPage } from './layout.ts'
import { type Column, showTable } from './table.ts'
import { badge, facts, plural, showTime } from './words.ts'

/** Pure. The page of one topic: partitions, gaps, settings and incarnations. */
export function topicPage(backup: OpenedBackup, name: string, request: Pick<PageRequest, 'query' | 'rawPath'>): Html {
  const found = findTopic(backup, name)
  const { topic, label } = found
  const { place } = backup
  const gaps = topic.partitions.flatMap(({ partition, gaps }) => gaps.map(gap => ({ partition, ...gap })))
  const body = html`<h1>${label} ${topic.state !== 'current' && badge('plain', topic.state)}</h1>
${showFacts(found)}
<p><a class="button" href="${recordsLink(place, label)}">Browse and search records</a></p>
<h2>Partitions</h2>
${showTable({
  ...{ ...request, name: 'partitions', caption: 'Partitions', rows: topic.partitions },
  ...{ columns: partitionColumns(place, label), empty: 'The backup holds no partition of it.' },
})}
${gaps.length === 0 ? nothing : html`<h2>Gaps</h2><p>The source had lost these records before they could be copied.</p>${showTable<PlacedGap>({ ...request, name: 'gaps', caption: 'Gaps', rows: gaps, columns: gapColumns, empty: '' })}`}
<h2>Settings</h2>
${showTable({ ...request, name: 'settings', caption: 'Settings', rows: settingsOf(found), columns: settingColumns, empty: 'All settings have the default of the brokers.' })}
${showIncarnations(backup, found, request)}`
  return showPage({ title: label, body, backup, tab: 'Overview', trail: [] })
}

function showFacts({ topic }: FoundTopic): Html {
  const totals = totalsOf([topic])
  const count = topic.partition_count ?? topic.partitions.length
  const missing = count - topic.partitions.length
  return facts([
    ['Topic ID', html`<code>${topic.id}</code>`],
    ['Partitions', `${formatCount(count)}${missing > 0 ? `, ${formatCount(missing)} of them not in this backup` : ''}`],
    ['Replicas', formatCount(topic.replication_factor)],
    ['Records', formatCount(totals.records)],
    ['Aborted', totals.aborted_records === 0 ? undefined : plural(totals.aborted_records, 'record')],
    [
      'Size',
      `${formatBytes(totals.bytes)}, ${formatBytes(totals.stored_bytes)} stored in ${plural(totals.segments, 'segment')}`,
    ],
    ['Cleanup', effectiveSetting(topic, 'cleanup.policy') ?? 'unknown'],
    ['Gaps', totals.gaps === 0 ? 'none' : badge('warn', formatCount(totals.gaps))],
  ])
}

function partitionColumns(place: BackupPlace, label: string): Column<ManifestPartition>[] {
  const number = (
    key: string,
    title: string,
    pick: (one: ManifestPartition) => number | bigint,
    show = (n: number | bigint) => formatCount(n),
  ) => ({
    ...{ key, title, isNumber: true as const, order: pick },
    cell: (one: ManifestPartition) => show(pick(one)),
  })
  return [
    {
      ...number('partition', 'Partition', one => one.partition),
      cell: one => html`<a href="${recordsLink(place, label, { partition: one.partition })}">${one.partition}</a>`,
    },
    number('start', 'First offset', one => one.start_offset),
    number('end', 'End offset', one => one.end_offset),
    number('records', 'Records', one => one.records),
    number(
      'bytes',
      'Bytes',
      one => one.bytes,
      n => formatBytes(Number(n)),
    ),
    number(
      'stored',
      'Stored',
      one => one.stored_bytes,
      n => formatBytes(Number(n)),
    ),
    number('behind', 'Behind the source', one => behind(one)),
    {
      key: 'first',
      title: 'First record',
      order: one => one.first_timestamp,
      cell: one => showTime(one.first_timestamp),
    },
    { key: 'last', title: 'Last record', order: one => one.last_timestamp, cell: one => showTime(one.last_timestamp) },
    number('gaps', 'Gaps', one => one.gaps.length),
  ]
}

/** What the source had beyond the backup when it was looked at last. */
function behind({ high_watermark, end_offset, read_to }: ManifestPartition): bigint {
  const end = read_to ?? end_offset
  return high_watermark > end ? high_watermark - end : 0n
}

type PlacedGap = Gap & { partition: number }

const gapColumns: readonly Column<PlacedGap>[] = [
  {
    key: 'partition',
    title: 'Partition',
    isNumber: true,
    order: gap => gap.partition,
    cell: gap => String(gap.partition),
  },
  { key: 'from', title: 'From offset', isNumber: true, order: gap => gap.from, cell: gap => formatCount(gap.from) },
  {
    ...{ key: 'to', title: 'Next offset', isNumber: true, order: gap => gap.to },
    cell: gap => (gap.to === null ? 'unknown' : formatCount(gap.to)),
  },
  { key: 'reason', title: 'Reason', order: gap => gap.reason, cell: gap => gap.reason.replaceAll('_', ' ') },
  { key: 'found', title: 'Found', order: gap => gap.found_at, cell: gap => showTime(gap.found_at) },
]

interface Setting {
  name: string
  value: string
  source: string
}

function settingsOf({ topic: { configs, effective_configs = {} } }: FoundTopic): Setting[] {
  const own = Object.entries(configs).map(([name, value]) => ({ name, value, source: 'set on the topic' }))
  const inherited = Object.entries(effective_configs)
    .filter(([name]) => !Object.hasOwn(configs, name))
    .map(([name, value]) => ({ name, value, source: 'default of the brokers' }))
  return [...own, ...inherited]
}

const settingColumns: readonly Column<Setting>[] = [
  { key: 'name', title: 'Setting', order: one => one.name, cell: one => html`<code>${one.name}</code>` },
  { key: 'value', title: 'Value', order: one => one.value, cell: one => html`<code>${one.value}</code>` },
  { key: 'source', title: 'Source', order: one => one.source, cell: one => one.source },
]

function showIncarnations(
  backup: OpenedBackup,
  found: FoundTopic,
  request: Pick<PageRequest, 'query' | 'rawPath'>,
): Html {
  const all = incarnationsOf(backup, found)
  if (all.length < 2) return nothing
  const columns: Column<FoundTopic>[] = [
    {
      ...{ key: 'label', title: 'Incarnation', order: one => one.label },
      cell: one => html`<a href="${topicLink(backup.place, one.label)}">${one.label}</a>`,
    },
    { key: 'state', title: 'State', order: one => one.topic.state, cell: one => badge('plain', one.topic.state) },
    {
      ...{ key: 'replaced', title: 'Replaced', order: one => one.topic.replaced_at ?? null },
      cell: one => showTime(one.topic.replaced_at),
    },
    {
      ...{ key: 'records', title: 'Records', isNumber: true, order: one => totalsOf([one.topic]).records },
      cell: one => formatCount(totalsOf([one.topic]).records),
    },
  ]
  return html`<h2>Incarnations</h2><p>The topic was deleted and created again, or lost records. Each incarnation can be restored under its own name.</p>${showTable({ ...request, name: 'incarnations', caption: 'Incarnations', rows: all, columns, empty: '' })}`
}
