import type { SchemaVersion } from '../../archive/registry-model.ts'
import { formatJson, formatJsonStart, isTooDeep, parseJson } from '../../lib/json.ts'
import type { OpenedBackup } from '../archive-reader.ts'
import { type Html, html, nothing } from '../html.ts'
import { backupLink, schemasLink, subjectLink } from '../links.ts'
import { numberIn, type PageRequest, textIn } from '../page-request.ts'
import { type ReferenceGraph, referencesOf, versionNotFound, versionsOf } from '../read-schemas.ts'
import { highlightJson, highlightProto } from './highlight.ts'
import { showPage } from './layout.ts'
import { showReferences } from './reference-graph.ts'
import { showDifference } from './text-difference.ts'
import { badge, facts, plural } from './words.ts'

/** The page of one subject: a version of it, compared with another where that is asked for, and what it refers to. */
export async function subjectPage(backup: OpenedBackup, request: PageRequest): Promise<Html> {
  const { query, signal } = request
  const name = textIn(query, 'name') ?? ''
  const versions = await versionsOf(backup, name, signal)
  const wanted = numberIn(query, 'version')
  const shown = wanted === undefined ? versions.at(-1) : versions.find(one => one.version === wanted)
  if (!shown) throw versionNotFound(name, wanted)
  const against = numberIn(query, 'against')
  const other = versions.find(one => one.version === against)
  const graph = await referencesOf(backup, shown, signal)
  return showSubject(backup, { versions, shown, other, graph })
}

interface SubjectData {
  versions: readonly SchemaVersion[]
  shown: SchemaVersion
  other: SchemaVersion | undefined
  graph: ReferenceGraph
}

/** Pure. */
function showSubject(backup: OpenedBackup, { versions, shown, other, graph }: SubjectData): Html {
  const { place } = backup
  const { subject } = shown
  const body = html`<h1>${subject} <small>version ${shown.version}</small></h1>
${facts([
  ['Type', badge('plain', shown.schemaType)],
  ['ID', String(shown.id)],
  ['GUID', shown.guid ?? undefined],
  ['State', shown.isDeleted ? badge('warn', 'deleted') : 'live'],
  [
    'References',
    shown.references.length === 0
      ? 'none'
      : shown.references.map(one => `${one.subject} version ${one.version}`).join(', '),
  ],
  ['Metadata', shown.metadata === null ? undefined : html`<code>${formatJson(shown.metadata)}</code>`],
])}
${showChoice(backup, { versions, shown, other })}
${other ? html`<h2>Difference from version ${other.version}</h2>${showDifference(readable(other), readable(shown))}` : nothing}
<h2>Text</h2><pre tabindex="0" class="text">${colored(shown)}</pre>
${shown.schema.length > MAX_SHOWN_CHARS && html`<p class="notice warn">Cut after 1 MiB; kafka-backup registry serve serves all of it.</p>`}
${graph.nodes.length > 1 ? html`<h2>References</h2>${showReferences(graph, place)}` : nothing}`
  const trail = [['Schemas', schemasLink(place)] as const]
  return showPage({ title: subject, body, backup, tab: 'Schemas', trail })
}

function showChoice({ place }: OpenedBackup, { versions, shown, other }: Omit<SubjectData, 'graph'>): Html {
  if (versions.length < 2) return nothing
  if (versions.length > MAX_CHOICES)
    return html`<p class="none">${plural(versions.length, 'version')}: choose one with <code>version=</code> in the address, and another to compare it with by <code>against=</code>.</p>`
  const choose = (id: string, label: string, chosen: number | undefined, none: boolean) =>
    html`<div><label for="${id}">${label}</label><select id="${id}" name="${id}">${none && html`<option value="">none</option>`}${versions.map(
      one =>
        html`<option value="${one.version}"${one.version === chosen && html` selected`}>${one.version} (ID ${one.id})</option>`,
    )}</select></div>`
  const before = versions.findLast(one => one.version < shown.version)
  return html`<form method="get" action="${backupLink({ ...place, generation: undefined })}/schemas/subject"><div class="fields">
<input type="hidden" name="name" value="${shown.subject}">${place.generation !== undefined && html`<input type="hidden" name="generation" value="${place.generation}">`}
${choose('version', 'Version', shown.version, false)}${choose('against', 'Compare with', other?.version, true)}<div><button>Show</button>
${before && !other ? html` <a href="${subjectLink(place, shown.subject, { version: shown.version, against: before.version })}">Compare with version ${before.version}</a>` : nothing}</div></div></form>`
}

/** JSON in lines; other texts, and what is not JSON after all, as they are, up to a limit. */
function readable({ schemaType, schema }: SchemaVersion): string {
  if (schema.length > MAX_SHOWN_CHARS) return schema.slice(0, MAX_SHOWN_CHARS)
  if (schemaType === 'PROTOBUF') return schema
  try {
    const parsed = parseJson(schema)
    const text = isTooDeep(parsed) ? schema : formatJsonStart(parsed, MAX_SHOWN_CHARS, 2)
    return text.length > MAX_SHOWN_CHARS ? schema : text
  } catch {
    return schema
  }
}

const MAX_SHOWN_CHARS = 1 << 20
/** Of versions. */
const MAX_CHOICES = 1000

function colored(version: SchemaVersion): Html {
  return version.schemaType === 'PROTOBUF' ? highlightProto(readable(version)) : highlightJson(readable(version))
}
