import { formatCount } from '../../lib/units.ts'
import type { Note, PlannedVersion } from '../../registry/restore/plan/restore-step.ts'
import type { SchemaDryRun, SchemaReport } from '../../registry/restore/schema-report.ts'
import { type Losses, lossesOf } from '../../registry/restore/schema-report.ts'
import type { OutputStyle } from '../output-style.ts'
import { type Field, formatTable } from '../table.ts'
import { plural } from '../text.ts'
import { isOpen, lossDocument } from './loss-table.ts'

const MOST_IDS = 20

/** Lines of a larger block. */
export function schemaFields(schemas: SchemaReport, style: OutputStyle): Field[] {
  const { subjects, versions, wasComplete } = schemas
  return [
    ['  Schemas', wasComplete && subjects > 0 ? 'all exist already' : formatExtent(subjects, versions, doneWords)],
    ['  ID mapping', formatMapping(schemas)],
    ['  Lossy', formatLoss(schemas), isOpen(schemas) ? style.bad : style.warn],
  ]
}

export function plannedFields(plan: SchemaDryRun, style: OutputStyle): Field[] {
  const subjects = new Set(plan.versions.map(({ subject }) => subject)).size
  return [
    ['  Schemas', subjects === 0 ? 'none to restore' : formatExtent(subjects, plan.counts, plannedWords)],
    ['  Lossy', formatLoss(plan), isOpen(plan) ? style.bad : style.warn],
  ]
}

function formatLoss(schemas: Losses): string | undefined {
  if (lossesOf(schemas).length === 0) return undefined
  const accepted = isOpen(schemas) ? '' : '; restore.accept_loss accepts it'
  return `the registry cannot store everything in the backup${accepted}`
}

type Words = Record<PlannedVersion['action'], string>

const doneWords: Words = {
  register: 'registered',
  keep: 'kept',
  replace: 'replaced',
  merge: 'merged with others',
  leave: 'left',
  conflict: 'in conflict',
}

const plannedWords: Words = {
  register: 'to register',
  keep: 'to keep',
  replace: 'to replace',
  merge: 'to merge with others',
  leave: 'to leave',
  conflict: 'in conflict',
}

function formatExtent(subjects: number, counts: SchemaReport['versions'], words: Words): string {
  if (subjects === 0) return 'none in the backup'
  const parts = Object.entries(words).flatMap(([action, word]) => {
    const count = counts[action as keyof Words]
    return count === 0 ? [] : [`${formatCount(count)} ${word}`]
  })
  const versions = Object.values(counts).reduce((sum, count) => sum + count, 0)
  return `${plural(subjects, 'subject')}, ${plural(versions, 'version')}: ${parts.join(', ')}`
}

function formatMapping({ ids, unmappedIds }: SchemaReport): string | undefined {
  if (ids.length + unmappedIds.length === 0) return undefined
  const others = ids.filter(({ source, target }) => source !== target).length
  const without = unmappedIds.length === 0 ? '' : `; ${plural(unmappedIds.length, 'ID')} not mapped to the target`
  if (others === 0) return `${plural(ids.length, 'ID')}, all unchanged${without}`
  return `${formatCount(others)} of ${plural(ids.length, 'ID')} changed${without}`
}

/** Changed IDs come first; JSON output contains all. */
export function formatIds({ ids }: Pick<SchemaReport, 'ids'>, style: OutputStyle): string[] {
  if (ids.length === 0) return []
  const isSame = ({ source, target }: SchemaReport['ids'][number]) => source === target
  const rows = [...ids.filter(id => !isSame(id)), ...ids.filter(isSame)]
  const shown = rows.slice(0, MOST_IDS)
  const hasContexts = ids.some(({ context }) => context !== '.')
  const table = formatTable<SchemaReport['ids'][number]>(
    [
      ...(hasContexts ? [{ title: 'CONTEXT', cell: (id: SchemaReport['ids'][number]) => id.context }] : []),
      // IDs have no thousands separators.
      { title: 'SOURCE ID', align: 'right', cell: id => String(id.source) },
      { title: 'TARGET ID', align: 'right', cell: id => String(id.target) },
      { title: '', cell: id => (isSame(id) ? 'same' : ''), paint: text => style.dim(text) },
    ],
    shown,
    style,
  )
  const more = rows.length - shown.length
  return ['', ...table, ...(more === 0 ? [] : [`and ${formatCount(more)} more; --format json shows all`])]
}

/** A titled table; empty without rows. */
export function formatNotes(notes: readonly Note[], style: OutputStyle): string[] {
  if (notes.length === 0) return []
  const table = formatTable<Note>(
    [
      {
        title: '',
        cell: note => (note.kind === 'lossy' ? note.loss : note.kind),
        paint: (text, { kind }) => (kind === 'lossy' ? style.bad : style.warn)(text),
      },
      { title: 'SUBJECT', cell: note => note.subject ?? '-', shrinks: true },
      { title: 'NOTE', wraps: true, cell: note => note.message },
    ],
    notes,
    style,
  )
  return ['', style.warn('Notes on the schemas'), ...table]
}

export function schemaDocument(schemas: SchemaReport) {
  const { flavour, registryVersion, wasComplete, subjects, versions, ids, unmappedIds, notes } = schemas
  const { register, keep, replace, merge, leave } = versions
  return {
    registry_flavour: flavour,
    registry_version: registryVersion,
    already_complete: wasComplete,
    ...lossDocument(schemas),
    subjects,
    versions: { registered: register, kept: keep, replaced: replace, merged: merge, left: leave },
    id_mapping: ids,
    unmapped_ids: unmappedIds,
    notes,
    requests: schemas.requests,
    duration_ms: Math.round(schemas.durationMs),
  }
}

export function planDocument(plan: SchemaDryRun) {
  const { flavour, registryVersion, counts, versions, writes, conflicts, notes } = plan
  return {
    registry_flavour: flavour,
    registry_version: registryVersion,
    ...lossDocument(plan),
    counts,
    versions,
    writes,
    conflicts,
    notes,
  }
}
