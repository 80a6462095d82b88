import { type DescribedTopic, type Description, describeBackup } from '../../archive/describe.ts'
import { type GenerationListing, listGenerationsOf } from '../../archive/generations.ts'
import type { ArchiveReader, OpenedBackup } from '../archive-reader.ts'
import { type Html, html } from '../html.ts'
import { type PageRequest, textIn } from '../page-request.ts'
import { showBackupFacts, showWarnings } from './backup-facts.ts'
import { axisOf, showHistory } from './backup-history.ts'
import { generationColumns } from './generation-table.ts'
import { showPage } from './layout.ts'
import { fitsFilter, showTable } from './table.ts'
import { topicColumns } from './topic-table.ts'

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
  const history = { place: backup.place, description, listing }
  const span = axisOf(history)
  const body = html`<h1>${description.backup_id}</h1>
${showBackupFacts(backup, description, clock.now())}
${showWarnings(description.warnings)}
<h2 id="timeline">Timeline</h2>
${showHistory(history)}
<h2>Topics</h2>
${showTable<DescribedTopic>({
  ...{ name: 'topics', caption: 'Topics', rawPath, query, rows: topics, columns: topicColumns(backup.place, span) },
  empty: filter === undefined ? 'This backup has no topics.' : 'No topic has this in its name.',
  ...(description.topics.length > 10 && { filter: { label: 'Name contains', text: filter } }),
})}
<h2>Generations</h2>
${showTable({
  ...{ name: 'generations', caption: 'Generations', rawPath, query, rows: listing.generations, pageRows: 10 },
  ...{ columns: generationColumns(backup.place), empty: 'There are no generations.' },
})}${listing.more && html`<p class="none">Older generations are not listed; kafka-backup list --generations lists all.</p>`}`
  return showPage({ title: description.backup_id, body, backup, tab: 'Overview' })
}
