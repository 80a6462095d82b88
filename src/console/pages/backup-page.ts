import { type DescribedTopic, type Description, describeManifest } from '../../archive/describe.ts'
import type { GenerationListing } from '../../archive/generations.ts'
import type { ArchiveReader, OpenedBackup } from '../archive-reader.ts'
import { type Html, html } from '../html.ts'
import { withQuery } from '../links.ts'
import { type PageRequest, textIn } from '../page-request.ts'
import { showBackupFacts, showWarnings } from './backup-facts.ts'
import { axisOf, generationsOf, readHistory, showHistory } from './backup-history.ts'
import { generationColumns } from './generation-table.ts'
import { showPage } from './layout.ts'
import { fitsFilter, showTable } from './table.ts'
import { topicColumns } from './topic-table.ts'

/** The history of a backup with more topics is read when the page is shown already: it takes several manifests of megabytes. */
const MAX_TOPICS_AT_ONCE = 1000

/** How long the history may be kept. */
const HISTORY_MS = 60_000

interface BackupData {
  backup: OpenedBackup
  description: Description
  /** Undefined where the history was not read yet. */
  listing: GenerationListing | undefined
}

/** The page of one backup: its generations over time, and its topics. */
export async function backupPage(reader: ArchiveReader, backup: OpenedBackup, request: PageRequest): Promise<Html> {
  const { place, location, manifest } = backup
  const { query, signal } = request
  const isWanted = query.get('history') === '1' || manifest.topics.length <= MAX_TOPICS_AT_ONCE
  const generations = await generationsOf(location.storage, place.backupId, signal)
  // A prune removes states, and a hold is set or released, without a newer generation.
  const kept = `history-${generations[0]}-${generations.length}-${Math.floor(request.clock.monotonic() / HISTORY_MS)}`
  const history = isWanted
    ? await reader.derive(backup, kept, () => readHistory(location.storage, place.backupId, signal))
    : undefined
  const verified = await reader.verifications(place, signal)
  const drilled = await reader.drills(place, signal)
  const windows = history?.windows ?? new Map()
  const surroundings = { location: location.name, generations, windows, verified, drilled }
  return showBackup(
    { backup, description: describeManifest(manifest, surroundings), listing: history?.listing },
    request,
  )
}

type Shown = Pick<PageRequest, 'query' | 'rawPath' | 'clock'>

/** Pure. */
function showBackup(data: BackupData, request: Shown): Html {
  const { backup, description, listing } = data
  const { query, rawPath, clock } = request
  const filter = textIn(query, 'topics-filter')
  const topics = description.topics.filter(({ selector }) => fitsFilter(selector, filter))
  const history = listing && { place: backup.place, description, listing }
  const span = history && axisOf(history)
  const more = withQuery(rawPath, { ...Object.fromEntries(query), history: 1 })
  const body = html`<h1>${description.backup_id}</h1>
${showBackupFacts(backup, description, clock.now())}
${showWarnings(description.warnings)}
<h2 id="timeline">Timeline</h2>
${history ? showHistory(history) : html`<p><a href="${more}">Show the timeline and the recovery windows</a></p>`}
<h2>Topics</h2>
${showTable<DescribedTopic>({
  ...{ name: 'topics', caption: 'Topics', rawPath, query, rows: topics, columns: topicColumns(backup.place, span) },
  empty: filter === undefined ? 'This backup has no topics.' : 'No topic has this in its name.',
  ...(description.topics.length > 10 && { filter: { label: 'Name contains', text: filter } }),
})}
${listing && showGenerations(backup, listing, request)}`
  return showPage({ title: description.backup_id, body, backup, tab: 'Overview', ...(!history && { more }) })
}

function showGenerations(backup: OpenedBackup, { generations, more }: GenerationListing, request: Shown): Html {
  return html`<h2>Generations</h2>
${showTable({
  ...{ ...request, name: 'generations', caption: 'Generations', rows: generations, pageRows: 10 },
  ...{ columns: generationColumns(backup.place), empty: 'There are no generations.' },
})}${more && html`<p class="none">Older generations are not listed; kafka-backup list --generations lists all.</p>`}`
}
