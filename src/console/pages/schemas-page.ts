import type { RegistrySubject } from '../../archive/registry-section.ts'
import type { OpenedBackup } from '../archive-reader.ts'
import { type Html, html } from '../html.ts'
import { subjectLink } from '../links.ts'
import { type PageRequest, textIn } from '../page-request.ts'
import { showPage } from './layout.ts'
import { type Column, fitsFilter, showTable } from './table.ts'
import { badge, facts, plural, showTime } from './words.ts'

/** Pure. The page of the subjects that a generation holds. */
export function schemasPage(backup: OpenedBackup, request: Pick<PageRequest, 'query' | 'rawPath'>): Html {
  const { schema_registry: section } = backup.manifest
  const filter = textIn(request.query, 'subjects-filter')
  const subjects = (section?.subjects ?? []).filter(({ name }) => fitsFilter(name, filter))
  const total = section?.subjects.length ?? 0
  const versions = (section?.subjects ?? []).reduce((sum, one) => sum + one.versions.length, 0)
  const body = html`<h1>Schemas</h1>
${
  section
    ? facts([
        ['Read', showTime(section.backup_timestamp)],
        ['Registry', section.schema_registry_version],
        ['Subjects', plural(total, 'subject')],
        ['Versions', plural(versions, 'version')],
      ])
    : html`<p class="none">No schema registry belongs to this backup.</p>`
}
${
  section &&
  showTable<RegistrySubject>({
    ...{ ...request, name: 'subjects', caption: 'Subjects', rows: subjects, columns: columnsOf(backup) },
    empty: filter === undefined ? 'The registry had no subjects.' : 'No subject has this in its name.',
    ...(total > 10 && { filter: { label: 'Name contains', text: filter } }),
  })
}`
  return showPage({ title: 'Schemas', body, backup, tab: 'Schemas', trail: [] })
}

function columnsOf({ place }: OpenedBackup): Column<RegistrySubject>[] {
  const live = (one: RegistrySubject) => one.versions.filter(({ deleted }) => !deleted)
  return [
    {
      ...{ key: 'name', title: 'Subject', order: one => one.name },
      cell: one => html`<a href="${subjectLink(place, one.name)}">${one.name}</a>`,
    },
    {
      ...{ key: 'type', title: 'Type', order: one => one.schema_type },
      cell: one => (one.schema_type === null ? html`<span class="none">none</span>` : badge('plain', one.schema_type)),
    },
    {
      ...{ key: 'versions', title: 'Versions', isNumber: true, order: one => one.versions.length },
      cell: one => {
        const deleted = one.versions.length - live(one).length
        return html`${one.versions.length}${deleted > 0 && html` ${badge('warn', `${deleted} deleted`)}`}`
      },
    },
    {
      ...{ key: 'id', title: 'Latest ID', isNumber: true, order: one => live(one).at(-1)?.id ?? null },
      cell: one => String(live(one).at(-1)?.id ?? ''),
    },
    {
      ...{ key: 'compatibility', title: 'Compatibility', order: one => one.compatibility },
      cell: one =>
        one.compatibility === null
          ? html`<span class="none">default of the registry</span>`
          : html`${one.compatibility} <small>set by ${one.compatibility_source}</small>`,
    },
  ]
}
