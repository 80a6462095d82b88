import { formatCount } from '../../lib/units.ts'
import type { LossNote } from '../../registry/restore/plan/restore-step.ts'
import { type Loss, type Losses, lossesOf, openLosses } from '../../registry/restore/schema-report.ts'
import type { OutputStyle } from '../output-style.ts'
import { formatTable, formatText } from '../table.ts'

/** The exit code if the target registry cannot store everything and the job does not accept the loss. */
export const LOSSY = 4

const NOTHING_LOST = 'No loss is expected: the target registry can keep everything that the job restores.'
const FIELD = 'enterprise.schema_registry.restore.accept_loss'

/** There are losses that the job does not accept. */
export function isOpen(schemas: Losses | undefined): boolean {
  return schemas !== undefined && openLosses(schemas).length > 0
}

/** One row per kind of loss; empty without losses. */
export function formatLosses(title: string, schemas: Losses, style: OutputStyle): string[] {
  const losses = lossesOf(schemas)
  if (losses.length === 0) return []
  const table = formatTable<Loss>(
    [
      { title: 'LOSS', cell: loss => loss.kind, paint: text => style.bold(text) },
      { title: 'SUBJECTS', align: 'right', cell: ({ subjects }) => formatCount(subjects.length) },
      {
        title: 'ACCEPTED',
        cell: ({ isAccepted }) => (isAccepted ? 'yes' : 'NO'),
        paint: (text, { isAccepted }) => (isAccepted ? style.good(text) : style.bad(text)),
      },
      { title: 'MEANING', wraps: true, cell: loss => loss.meaning },
    ],
    losses,
    style,
  )
  return ['', style.warn(title), ...table]
}

/** Every loss with its subject. */
export function formatLossDetails(schemas: Losses, style: OutputStyle): string[] {
  const notes = lossesOf(schemas).flatMap(loss => loss.notes)
  if (notes.length === 0) return []
  const table = formatTable<LossNote>(
    [
      { title: 'LOSS', cell: note => note.loss },
      { title: 'SUBJECT', cell: note => note.subject ?? '-', shrinks: true },
      { title: 'DETAIL', wraps: true, cell: note => note.message },
    ],
    notes,
    style,
  )
  return ['', ...table]
}

/** What to do about losses, in a plan. */
export function formatAcceptance(schemas: Losses, style: OutputStyle): string[] {
  const open = openLosses(schemas)
  if (lossesOf(schemas).length === 0) return ['', ...formatText(style.good(NOTHING_LOST), style)]
  if (open.length === 0) return ['', ...formatText(style.good(`${FIELD} accepts every loss.`), style)]
  return [
    '',
    ...formatText(
      `Not accepted: ${open.join(', ')}. A restore completes everything else and ends with exit code 4.`,
      style,
    ),
    'To accept these losses, set in the job:',
    '  enterprise:',
    '    schema_registry:',
    '      restore:',
    '        accept_loss:',
    ...[...new Set([...schemas.acceptLoss, ...open])].map(kind => `          - ${kind}`),
  ]
}

/** For programs. */
export function lossDocument(schemas: Losses) {
  return {
    lossy: lossesOf(schemas).length > 0,
    losses: lossesOf(schemas).map(({ kind, meaning, subjects, notes, isAccepted }) => ({
      kind,
      meaning,
      subjects,
      notes: notes.length,
      accepted: isAccepted,
    })),
    unaccepted_losses: openLosses(schemas),
  }
}
