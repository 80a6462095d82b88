import { readGroups } from '../../archive/groups.ts'
import type { StoredGroup, StoredPosition } from '../../archive/groups-section.ts'
import { KafkaBackupError } from '../../errors.ts'
import { formatCount } from '../../lib/units.ts'
import type { ArchiveReader, OpenedBackup } from '../archive-reader.ts'
import { type Html, html } from '../html.ts'
import { groupLink, groupsLink, recordsLink } from '../links.ts'
import { type PageRequest, textIn } from '../page-request.ts'
import { showPage } from './layout.ts'
import { type Column, fitsFilter, showTable } from './table.ts'
import { badge, facts, plural, showTime } from './words.ts'

/** The page of the consumer groups of a generation. */
export async function groupsPage(reader: ArchiveReader, backup: OpenedBackup, request: PageRequest): Promise<Html> {
  const groups = await groupsOf(reader, backup, request.signal)
  return showGroups(backup, groups, request)
}

/** The page of one group: its committed offsets and its lag. */
export async function groupPage(reader: ArchiveReader, backup: OpenedBackup, request: PageRequest): Promise<Html> {
  const name = request.query.get('name') ?? ''
  const group = (await groupsOf(reader, backup, request.signal)).find(one => one.group === name)
  if (group) return showGroup(backup, group, request)
  const message = `generation ${backup.manifest.generation} has no consumer group ${name.slice(0, 260)}`
  throw new KafkaBackupError('BACKUP_NOT_FOUND', message)
}

async function groupsOf(
  reader: ArchiveReader,
  backup: OpenedBackup,
  signal: AbortSignal,
): Promise<readonly StoredGroup[]> {
  const { consumer_groups: section, generation } = backup.manifest
  if (section?.state !== 'taken') return []
  const { storage } = backup.location
  return reader.derive(backup, `groups-${generation}`, async () => (await readGroups(storage, section, signal)).groups)
}

type Shown = Pick<PageRequest, 'query' | 'rawPath'>

/** Pure. */
function showGroups(backup: OpenedBackup, groups: readonly StoredGroup[], request: Shown): Html {
  const { consumer_groups: section } = backup.manifest
  const filter = textIn(request.query, 'groups-filter')
  const rows = groups.filter(({ group }) => fitsFilter(group, filter))
  const body = html`<h1>Consumer groups</h1>
<p>${stateOf(section)}</p>
${showTable({
  ...{ ...request, name: 'groups', caption: 'Consumer groups', rows, columns: groupColumns(backup) },
  empty: filter === undefined ? 'This generation has no consumer groups.' : 'No group has this in its name.',
  ...(groups.length > 10 && { filter: { label: 'Name contains', text: filter } }),
})}`
  return showPage({ title: 'Groups', body, backup, tab: 'Groups', trail: [] })
}

function stateOf(section: OpenedBackup['manifest']['consumer_groups']): Html {
  if (!section) return html`This backup was made by a version that did not take consumer groups.`
  if (section.state === 'off')
    return html`The job does not back up consumer groups (<code>backup.consumer_groups</code>).`
  if (section.state === 'failed')
    return html`${badge('bad', 'failed')} The groups could not be listed: ${section.error}`
  return html`${plural(section.positions, 'committed offset')}, read ${showTime(section.taken_at)}. Lag is counted to the end of each partition at that time.`
}

/** Null where it is not known of any partition. */
function lagOf({ positions }: StoredGroup): bigint | null {
  const known = positions.flatMap(({ lag }) => lag ?? [])
  return known.length === 0 && positions.length > 0 ? null : known.reduce((sum, lag) => sum + lag, 0n)
}

function showLag(group: StoredGroup): string {
  const lag = lagOf(group)
  if (lag === null || group.error !== null) return 'unknown'
  const unknown = group.positions.filter(one => one.lag === null).length
  return unknown === 0 ? formatCount(lag) : `at least ${formatCount(lag)}, ${plural(unknown, 'partition')} unknown`
}

function groupColumns({ place }: OpenedBackup): Column<StoredGroup>[] {
  return [
    {
      ...{ key: 'group', title: 'Group', order: one => one.group },
      cell: one => html`<a href="${groupLink(place, one.group)}">${one.group === '' ? '(no name)' : one.group}</a>`,
    },
    { key: 'type', title: 'Type', order: one => one.type, cell: one => one.type },
    {
      ...{ key: 'state', title: 'State', order: one => one.state },
      cell: one =>
        one.error === null ? (one.state ?? 'unknown') : html`${badge('bad', 'unread')} <small>${one.error}</small>`,
    },
    {
      ...{ key: 'topics', title: 'Topics', isNumber: true, order: one => topicsOf(one) },
      cell: one => formatCount(topicsOf(one)),
    },
    {
      ...{ key: 'offsets', title: 'Committed offsets', isNumber: true, order: one => one.positions.length },
      cell: one => formatCount(one.positions.length),
    },
    { key: 'lag', title: 'Lag', isNumber: true, order: lagOf, cell: showLag },
  ]
}

function topicsOf({ positions }: StoredGroup): number {
  return new Set(positions.map(({ topic }) => topic)).size
}

/** Pure. */
export function showGroup(backup: OpenedBackup, group: StoredGroup, request: Shown): Html {
  const { place } = backup
  const body = html`<h1>${group.group === '' ? '(no name)' : group.group}</h1>
${facts([
  ['Type', group.type],
  ['State', group.state ?? 'unknown'],
  ['Members', group.members === null ? 'unknown' : formatCount(group.members)],
  ['Committed offsets', formatCount(group.positions.length)],
  ['Lag', showLag(group)],
  ['Error', group.error === null ? undefined : html`${badge('bad', 'unread')} ${group.error}`],
])}
<h2>Committed offsets</h2>
${showTable<StoredPosition>({ ...request, name: 'offsets', caption: 'Committed offsets', rows: group.positions, columns: offsetColumns(backup), empty: 'The group has no committed offsets.' })}
${group.undecided && group.undecided.length > 0 && html`<p class="notice warn">An open transaction held newer offsets for ${plural(group.undecided.length, 'partition')}; the last committed ones are shown.</p>`}`
  const trail = [['Groups', groupsLink(place)] as const]
  return showPage({ title: group.group, body, backup, tab: 'Groups', trail })
}

function offsetColumns({ place, manifest }: OpenedBackup): Column<StoredPosition>[] {
  const held = new Set(manifest.topics.filter(({ state }) => state !== 'replaced').map(({ name }) => name))
  return [
    { key: 'topic', title: 'Topic', order: one => one.topic, cell: one => one.topic },
    {
      key: 'partition',
      title: 'Partition',
      isNumber: true,
      order: one => one.partition,
      cell: one => String(one.partition),
    },
    {
      ...{ key: 'offset', title: 'Next offset', isNumber: true, order: one => one.offset },
      cell: ({ topic, partition, offset }) =>
        held.has(topic)
          ? html`<a href="${recordsLink(place, topic, { partition, from: offset })}">${formatCount(offset)}</a>`
          : formatCount(offset),
    },
    {
      ...{ key: 'lag', title: 'Lag', isNumber: true, order: one => one.lag },
      cell: one => (one.lag === null ? 'unknown' : formatCount(one.lag)),
    },
    { key: 'metadata', title: 'Metadata', order: one => one.metadata, cell: one => one.metadata },
  ]
}
