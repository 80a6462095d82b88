import { formatCount } from '../../lib/units.ts'
import type { ListedSubject, SchemaListing, SchemaSource } from '../../registry/schema-listing.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { formatTable, formatText } from '../table.ts'
import { plural, printable } from '../text.ts'
import { chooseSide } from './schema-side.ts'

/** `schemas list`. */
export async function run(session: Session): Promise<number> {
  const { side } = await chooseSide(session)
  const listing = await session.actions.listSchemasJob(side, session, session.signal)
  session.print(
    () => formatListing(listing, session.style),
    () => documentOf(listing),
  )
  return 0
}

function documentOf(listing: SchemaListing) {
  return {
    ...sourceDocument(listing),
    compatibility: listing.compatibility,
    mode: listing.mode,
    subjects: listing.subjectList.map(subject => ({
      name: subject.name,
      schema_type: subject.schemaType,
      versions: subject.versions,
      latest_version: subject.latestVersion,
      latest_id: subject.latestId,
      compatibility: subject.compatibility,
      mode: subject.mode,
      alias: subject.alias,
      deleted_versions: subject.deletedVersions,
      pulled_in_versions: subject.pulledInVersions,
    })),
  }
}

/** The source and the number of schemas, for JSON output. */
export function sourceDocument(source: SchemaSource) {
  return {
    source: source.name,
    registry_flavour: source.flavour,
    registry_version: source.registryVersion,
    taken_at: source.takenAt,
    subjects_count: source.subjects,
    deleted_subjects_count: source.deletedSubjects,
    versions_count: source.versions,
    deleted_versions_count: source.deletedVersions,
  }
}

function formatListing(listing: SchemaListing, style: OutputStyle): string[] {
  const { name, compatibility, mode, subjectList } = listing
  const settings = `compatibility ${compatibility ?? 'not set'}, mode ${mode ?? 'not set'}`
  return [
    ...formatText(`${style.bold(printable(name))}: ${formatCounts(listing)}; ${printable(settings)}`, style),
    ...(subjectList.length === 0 ? [] : ['', ...formatSubjects(subjectList, style)]),
  ]
}

export function formatCounts({ subjects, deletedSubjects, versions, deletedVersions }: SchemaSource): string {
  const withDeleted = (count: number) => (count === 0 ? '' : ` and ${formatCount(count)} deleted`)
  const live = versions - deletedVersions
  return `${plural(subjects, 'subject')}${withDeleted(deletedSubjects)}, ${plural(live, 'version')}${withDeleted(deletedVersions)}`
}

function formatSubjects(subjects: readonly ListedSubject[], style: OutputStyle): string[] {
  return formatTable<ListedSubject>(
    [
      { title: 'SUBJECT', cell: subject => subject.name, shrinks: true, paint: text => style.bold(text) },
      { title: 'TYPE', dropAs: 2, cell: subject => subject.schemaType ?? '-' },
      { title: 'VERSIONS', align: 'right', cell: subject => formatCount(subject.versions) },
      // IDs have no thousands separators.
      { title: 'LATEST ID', align: 'right', cell: subject => String(subject.latestId ?? '-') },
      { title: 'COMPATIBILITY', dropAs: 1, cell: subject => subject.compatibility ?? '-' },
      { title: '', wraps: true, cell: formatRemarks, paint: text => style.warn(text) },
    ],
    subjects,
    style,
  )
}

function formatRemarks({ versions, deletedVersions, pulledInVersions, mode, alias }: ListedSubject): string {
  return [
    ...(deletedVersions === 0 ? [] : [deletedVersions === versions ? 'deleted' : `${deletedVersions} deleted`]),
    ...(pulledInVersions === 0
      ? []
      : [pulledInVersions === versions ? 'included by reference' : `${pulledInVersions} included by reference`]),
    ...(mode === null ? [] : [`mode ${mode}`]),
    ...(alias === null ? [] : [`alias of ${alias}`]),
  ].join(', ')
}
