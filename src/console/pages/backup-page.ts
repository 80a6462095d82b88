import { type DescribedTopic, type Description, describeBackup } from '../../archive/describe.ts'
import { type GenerationListing, listGenerationsOf } from '../../archive/generations.ts'
import { formatBytes, formatCount } from '../../lib/units.ts'
import type { ArchiveReader, OpenedBackup } from '../archive-reader.ts'
import { type Html, html, nothing } from '../html.ts'
import { backupLink, groupsLink, homeLink, restoreLink, schemasLink, topicLink } from '../links.ts'
import { type PageRequest, textIn } from '../page-request.ts'
import { generationColumns } from './generation-table.ts'
import { showPage } from './layout.ts'
import { type Column, fitsFilter, showTable } from './table.ts'
import { showTimeline, showWindow, spanOf, type TimeSpan } from './time-axis.ts'
import { badge, facts, plural, showAge, showTime } from './words.ts'

const GENERATIONS = 60

export interface BackupData {
  backup: OpenedBackup
  description: Description
  listing: GenerationListing
}

/** The page of one backup: its generations over time, and its topics. */
export async function backupPage(reader: ArchiveReader, backup: OpenedBackup, request: PageRequest): Promise<Html> {
  const { signal } = request
  const { place, location, manifest } = backup
  const { generation } = manifest
  const description = await reader.derive(backup, `describe-${generation}`, () =>
    describeBackup(location.storage, place.backupId, { generation }, signal),
  )
  const listing = await reader.derive(backup, 'generations', () =>
    listGenerationsOf(location.storage, place.backupId, { limit: GENERATIONS }, signal),
  )
  return showBackup({ backup, description, listing }, request)
}

/** Pure. */
export function showBackup(data: BackupData, request: Pick<PageRequest, 'query' | 'rawPath' | 'clock'>): Html {
  const { backup, description, listing } = data
  const { query, rawPath, clock } = request
  const filter = textIn(query, 'topics-filter')
  const topics = description.topics.filter(({ selector }) => fitsFilter(selector, filter))
  const span = axisOf(data)
  const body = html`<h1>${description.backup_id}</h1>
${showFacts(data, clock.now())}
${showWarnings(description.warnings)}
<h2 id="timeline">Timeline</h2>
${showHistory(data)}
<h2>Topics</h2>
${showTable<DescribedTopic>({
  ...{ name: 'topics', caption: 'Topics', rawPath, query, rows: topics, columns: topicColumns(backup, span) },
  empty: filter === undefined ? 'This backup has no topics.' : 'No topic has this in its name.',
  ...(description.topics.length > 10 && { filter: { label: 'Name contains', text: filter } }),
})}
<h2>Generations</h2>
${showTable({
  ...{ name: 'generations', caption: 'Generations', rawPath, query, rows: listing.generations, pageRows: 10 },
  ...{ columns: generationColumns(backup.place), empty: 'There are no generations.' },
})}${listing.more && html`<p class="none">Older generations are not listed; kafka-backup list --generations lists all.</p>`}`
  return showPage({ title: description.backup_id, body, backup, tab: 'Overview', trail: [['Backups', homeLink]] })
}

const MAX_WARNINGS = 20

function showWarnings(warnings: readonly string[]): Html {
  if (warnings.length === 0) return nothing
  const more = warnings.length - MAX_WARNINGS
  return html`<div class="notice warn"><ul>${warnings.slice(0, MAX_WARNINGS).map(text => html`<li>${text}</li>`)}${more > 0 && html`<li>and ${plural(more, 'more warning')}; kafka-backup describe shows all.</li>`}</ul></div>`
}

/** From the oldest state that can be restored to the newest, with all gaps. */
function axisOf({ description, listing }: BackupData): TimeSpan {
  const windows = description.topics.flatMap(({ recovery_window }) => recovery_window ?? [])
  return spanOf([
    ...windows.flatMap(({ oldest, newest }) => [Date.parse(oldest.created_at), Date.parse(newest.created_at)]),
    ...description.topics.flatMap(({ gaps }) => gaps.map(({ found_at }) => Date.parse(found_at))),
    ...listing.generations.flatMap(one => ('error' in one ? [] : [Date.parse(one.created_at)])),
  ])
}

function showFacts({ backup, description }: BackupData, nowMs: number): Html {
  const { totals, schema_registry: registry, consumer_groups: groups, encryption, cluster, access } = description
  const { place, location } = backup
  const accessCounts = (['acls', 'quotas', 'users'] as const)
    .filter(kind => access[kind].state === 'taken')
    .map(kind => `${formatCount(access[kind].count)} ${kind}`)
  return facts([
    ['State', badge(description.complete ? 'good' : 'warn', description.complete ? 'complete' : 'incomplete')],
    ['Last commit', html`${showAge(description.created_at, nowMs)} <small>${showTime(description.created_at)}</small>`],
    ['Generation', `${description.generation} of ${plural(description.generations.length, 'kept generation')}`],
    ['Location', location.name],
    ['Cluster', `${cluster.id ?? 'unnamed'}, ${plural(cluster.brokers, 'broker')}`],
    ['Topics', `${formatCount(totals.topics)} with ${plural(totals.partitions, 'partition')}`],
    ['Records', formatCount(totals.records)],
    ['Size', `${formatBytes(totals.bytes)}, ${formatBytes(totals.stored_bytes)} stored`],
    ['Gaps', totals.gaps === 0 ? 'none' : badge('warn', formatCount(totals.gaps))],
    [
      'Schemas',
      registry.enabled
        ? html`<a href="${schemasLink(place)}">${plural(registry.subjects_count, 'subject')}, ${plural(registry.schemas_count, 'version')}</a>`
        : 'not in this backup',
    ],
    [
      'Groups',
      groups.state === 'taken'
        ? html`<a href="${groupsLink(place)}">${plural(groups.groups, 'group')}, ${plural(groups.positions, 'committed offset')}</a>`
        : groups.state === 'failed'
          ? html`${badge('bad', 'failed')} ${groups.error}`
          : 'not in this backup',
    ],
    ['Access', accessCounts.length > 0 ? accessCounts.join(', ') : undefined],
    ['Encrypted', encryption ? `${encryption.cipher}${encryption.hide_names ? ', names hidden' : ''}` : 'no'],
    ['Written by', `kafka-backup ${description.tool_version}, format ${description.format_version}`],
    ['Restore', html`<a href="${restoreLink(place)}">Prepare a job file</a>`],
  ])
}

function showHistory({ backup: { place }, description, listing }: BackupData): Html {
  const points = listing.generations.flatMap(one =>
    'error' in one
      ? []
      : [
          {
            atMs: Date.parse(one.created_at),
            value: one.stored_bytes,
            kind: one.complete ? ('good' as const) : ('warn' as const),
            link: backupLink({ ...place, generation: one.generation }),
            label: `Generation ${one.generation}, ${one.created_at}, ${one.complete ? 'complete' : 'incomplete'}, ${formatBytes(one.stored_bytes)}`,
          },
        ],
  )
  const gaps = description.topics.flatMap(({ selector, gaps }) =>
    gaps.map(gap => ({
      atMs: Date.parse(gap.found_at),
      label: `Gap in ${selector}/${gap.partition} from offset ${gap.from} (${gap.reason})`,
    })),
  )
  const shown = gaps.slice(0, MAX_MARKS)
  if (points.length === 0) return nothing
  const growth = `${plural(points.length, 'generation')}; stored bytes grow to ${formatBytes(Math.max(...points.map(one => one.value)))}; ${plural(gaps.length, 'gap')}`
  return showTimeline(points, shown, growth)
}

/** A drawing of more tells nothing more. */
const MAX_MARKS = 500

function topicColumns({ place }: OpenedBackup, span: TimeSpan): Column<DescribedTopic>[] {
  return [
    {
      ...{ key: 'name', title: 'Topic', order: topic => topic.selector },
      cell: topic =>
        html`<a href="${topicLink(place, topic.selector)}">${topic.selector}</a>${topic.state !== 'current' && html` ${badge('plain', topic.state)}`}`,
    },
    {
      ...{ key: 'partitions', title: 'Partitions', isNumber: true, order: topic => topic.partition_count },
      cell: topic => formatCount(topic.partition_count),
    },
    {
      ...{ key: 'records', title: 'Records', isNumber: true, order: topic => topic.records },
      cell: topic => formatCount(topic.records),
    },
    {
      ...{ key: 'stored', title: 'Stored', isNumber: true, order: topic => topic.stored_bytes },
      cell: topic => formatBytes(topic.stored_bytes),
    },
    {
      ...{ key: 'last', title: 'Last record', order: topic => topic.last_timestamp },
      cell: topic => showTime(topic.last_timestamp),
    },
    {
      ...{ key: 'gaps', title: 'Gaps', isNumber: true, order: topic => topic.gaps.length },
      cell: topic => (topic.gaps.length === 0 ? 'none' : badge('warn', formatCount(topic.gaps.length))),
    },
    {
      ...{
        key: 'window',
        title: 'Recovery window and gaps',
        order: topic => topic.recovery_window?.oldest.created_at ?? null,
      },
      cell: topic => showTopicWindow(topic, span),
    },
  ]
}

function showTopicWindow({ recovery_window: window, gaps }: DescribedTopic, span: TimeSpan): Html {
  const label = window
    ? `Restorable from ${window.oldest.created_at} (generation ${window.oldest.generation}) to ${window.newest.created_at} (generation ${window.newest.generation}), ${plural(gaps.length, 'gap')}`
    : 'No complete generation holds it'
  const times =
    window === null
      ? undefined
      : { fromMs: Date.parse(window.oldest.created_at), toMs: Date.parse(window.newest.created_at) }
  const marks = gaps.slice(0, MAX_MARKS).map(({ found_at }) => Date.parse(found_at))
  return showWindow(span, times, marks, label)
}
