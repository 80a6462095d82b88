import { restoredBy } from '../../jobs/schema-sides.ts'
import type { SchemaDifference } from '../../registry/diff-snapshots.ts'
import type { SchemaDiff } from '../../registry/schema-listing.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { formatFields, formatTable } from '../table.ts'
import { plural } from '../text.ts'
import { DIFFERENCES_FOUND } from './comparison.ts'
import { chooseOther, chooseSide } from './schema-side.ts'
import { formatCounts, sourceDocument } from './schemas-list.ts'

/** `schemas diff`. */
export async function run(session: Session): Promise<number> {
  const { actions, options, signal } = session
  const left = await chooseSide(session)
  const right = await chooseOther(session, left)
  const comparison = { wantsIds: options.ids, ...restoredBy(left, right) }
  const diff = await actions.diffSchemasJob(left.side, right.side, comparison, session, signal)
  session.print(
    () => formatDiff(diff, session.style),
    () => documentOf(diff),
  )
  return diff.ok ? 0 : DIFFERENCES_FOUND
}

function documentOf({ ok, left, right, differences, ids }: SchemaDiff) {
  return { ok, left: sourceDocument(left), right: sourceDocument(right), differences, id_differences: ids }
}

function formatDiff({ ok, left, right, differences, ids }: SchemaDiff, style: OutputStyle): string[] {
  const found = `${plural(differences.length, 'difference')}`
  return [
    ok ? style.good('The schemas are the same') : style.bad(`THE SCHEMAS DIFFER: ${found}`),
    ...formatFields(
      [
        ['  Left', `${left.name}: ${formatCounts(left)}`],
        ['  Right', `${right.name}: ${formatCounts(right)}`],
        [
          '  IDs',
          ids.length === 0
            ? undefined
            : `${plural(ids.length, 'version')} with another ID, a difference only with --ids`,
        ],
      ],
      style,
    ),
    ...formatDifferences(differences, style),
  ]
}

function formatDifferences(differences: readonly SchemaDifference[], style: OutputStyle): string[] {
  if (differences.length === 0) return []
  const table = formatTable<SchemaDifference>(
    [
      { title: 'SUBJECT', cell: row => row.subject ?? '(registry)', shrinks: true, paint: text => style.bold(text) },
      { title: 'VERSION', align: 'right', cell: row => String(row.version ?? '-') },
      { title: 'DIFFERENCE', wraps: 18, cell: row => row.kind.replace('_', ' '), paint: text => style.bad(text) },
      { title: 'LEFT', cell: row => row.left ?? '-', shrinks: true },
      { title: 'RIGHT', cell: row => row.right ?? '-', shrinks: true },
    ],
    differences,
    style,
  )
  return ['', ...table]
}
