import type { Manifest } from '../../archive/manifest.ts'
import { totalsOf } from '../../archive/summary.ts'
import { formatBytes, formatCount } from '../../lib/units.ts'
import type { ArchiveReader, OpenedBackup } from '../archive-reader.ts'
import { type Html, html, nothing } from '../html.ts'
import type { PageRequest } from '../page-request.ts'
import { type Chosen, chooseState, readChoice } from '../restore-choice.ts'
import { formatJobFile, listNotes, type PlannedTopic, planTopics, type RestoreChoice } from '../restore-plan.ts'
import { showPage } from './layout.ts'
import { type Column, showTable } from './table.ts'
import { badge, facts, plural, showTime } from './words.ts'

/** The page that prepares a job file for a restore. It runs nothing. */
export async function restorePage(reader: ArchiveReader, backup: OpenedBackup, request: PageRequest): Promise<Html> {
  // Not the one that was asked for, which may be gone.
  const choice = { ...readChoice(request.query), generation: backup.place.generation }
  const chosen = await chooseState(reader, backup, choice, request.signal)
  return showRestore(chosen, choice, request)
}

type Shown = Pick<PageRequest, 'query' | 'rawPath'>

/** Pure. */
function showRestore({ backup, problem }: Chosen, choice: RestoreChoice, request: Shown): Html {
  const { manifest, location } = backup
  const { topics, problems } = planTopics(manifest, choice)
  const totals = totalsOf(topics.map(({ topic }) => topic))
  const job = formatJobFile(manifest.backup_id, location.name, choice)
  const body = html`<h1>Prepare a restore</h1>
<p>Choose a state, topics and names. This page shows what the backup has for it, and the job file to copy. It does not run anything.</p>
${showForm(choice, request)}
${[...(problem === undefined ? [] : [problem]), ...problems].map(text => html`<p class="notice warn" role="alert">${text}</p>`)}
<h2>What the backup has</h2>
${facts([
  [
    'State',
    html`generation ${manifest.generation} of ${showTime(manifest.created_at)} ${badge(manifest.complete ? 'good' : 'warn', manifest.complete ? 'complete' : 'incomplete')}`,
  ],
  ['Topics', `${formatCount(topics.length)} with ${plural(totals.partitions, 'partition')}`],
  [
    'Records',
    `${formatCount(totals.records - totals.aborted_records)}${(choice.windowStart ?? choice.windowEnd) ? ' before the time window is applied' : ''}`,
  ],
  ['Size', formatBytes(totals.bytes)],
  ['Gaps', totals.gaps === 0 ? 'none' : badge('warn', formatCount(totals.gaps))],
  ['Schemas', manifest.schema_registry ? plural(manifest.schema_registry.subjects.length, 'subject') : 'none'],
  ['Groups', showGroups(manifest.consumer_groups)],
])}
<h2>Job file</h2>
<p>Save it as <code>restore.yaml</code>, add the logins of the cluster and of the location${manifest.encryption ? html`, and the key of the encrypted backup (<code>encryption</code>)` : nothing}, then run:</p>
<pre tabindex="0" class="text">kafka-backup check --config restore.yaml
kafka-backup restore --config restore.yaml --dry-run
kafka-backup restore --config restore.yaml</pre>
${listNotes(manifest, topics).map(text => html`<p class="notice">${text}</p>`)}
<pre tabindex="0" id="job">${job}</pre>
<p><button type="button" data-copy="job" hidden>Copy the job file</button></p>
${manifest.schema_registry ? html`<p class="notice warn">This job file restores no schemas. To restore those of the backup and give records their IDs, add the registry of the target (<code>enterprise.schema_registry</code>).</p>` : nothing}
<h2>Selected topics</h2>
${showTable({ ...request, name: 'selected', caption: 'Selected topics', rows: topics, columns, empty: 'No topic is selected.' })}`
  return showPage({ title: 'Restore', body, backup, tab: 'Restore', trail: [] })
}

function showGroups(section: Manifest['consumer_groups']): Html | string {
  if (section?.state === 'failed') return html`${badge('bad', 'failed')} ${section.error}`
  return section?.state === 'taken' ? plural(section.groups, 'group') : 'none'
}

const columns: readonly Column<PlannedTopic>[] = [
  { key: 'topic', title: 'Topic', order: one => one.label, cell: one => one.label },
  {
    ...{ key: 'target', title: 'Name on the target', order: one => one.target },
    cell: one => (one.target === one.topic.name ? one.target : html`<strong>${one.target}</strong>`),
  },
  {
    ...{ key: 'partitions', title: 'Partitions', isNumber: true, order: one => one.topic.partitions.length },
    cell: one => formatCount(one.topic.partitions.length),
  },
  {
    ...{ key: 'records', title: 'Records', isNumber: true, order: one => totalsOf([one.topic]).records },
    cell: one => formatCount(totalsOf([one.topic]).records),
  },
  {
    ...{ key: 'gaps', title: 'Gaps', isNumber: true, order: one => totalsOf([one.topic]).gaps },
    cell: one => formatCount(totalsOf([one.topic]).gaps),
  },
]

const fields: readonly (readonly [name: string, label: string, hint: string])[] = [
  ['as-of', 'State committed by (UTC)', 'the newest'],
  ['include', 'Topics', '* or orders, payments.*'],
  ['exclude', 'Without topics', 'audit.*'],
  ['rename', 'Other names', 'orders=orders-restored'],
  ['start', 'Records from (UTC)', '2026-01-31T08:00:00Z'],
  ['end', 'Records before (UTC)', '2026-01-31T09:00:00Z'],
  ['servers', 'Target cluster', 'kafka:9092'],
]

function showForm({ generation }: RestoreChoice, { query, rawPath }: Shown): Html {
  return html`<form class="query" method="get" action="${rawPath}"><div class="fields">
${generation !== undefined ? html`<input type="hidden" name="generation" value="${generation}">` : nothing}
${fields.map(
  ([name, label, hint]) =>
    html`<div><label for="${name}">${label}</label><input id="${name}" name="${name}" value="${query.get(name) ?? ''}" placeholder="${hint}" autocomplete="off" spellcheck="false"></div>`,
)}
<div><button>Show</button> <a href="${rawPath}">Clear</a></div></div></form>`
}
