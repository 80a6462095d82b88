import type { CopyReport } from '../../copy/sides.ts'
import type { ErrorCode } from '../../errors.ts'
import { formatBytes } from '../../lib/units.ts'
import type { OutputStyle } from '../output-style.ts'
import { plural, printable } from '../text.ts'
import { formatProblems } from './verify.ts'

/** A backup that could not be copied has an error. */
export type CopyRow = CopyReport | { backup_id: string; error: string; code: ErrorCode }

export function formatCopies(
  { rows, from, to }: { rows: CopyRow[]; from: string; to: string },
  style: OutputStyle,
): string[] {
  return [`From ${printable(from)} to ${printable(to)}`, ...rows.flatMap(row => formatRow(row, style))]
}

function formatRow(row: CopyRow, style: OutputStyle): string[] {
  const name = style.bold(printable(row.backup_id))
  if ('error' in row) return [`${name}: ${style.bad('NOT COPIED')}: ${printable(row.error)}`]
  return [
    `${name}: ${row.ok ? formatOutcome(row, style) : style.bad(`DAMAGED, ${plural(row.problems.length, 'problem')}; ${formatOutcome(row, style)}`)}`,
    ...formatExtent(row).map(line => `  ${line}`),
    ...formatProblems(row.problems, style),
  ]
}

function formatOutcome({ ok, dry_run, generations, newest_generation }: CopyReport, style: OutputStyle): string {
  const verb = dry_run ? 'would be copied' : 'copied'
  if (generations.length > 0) return style.good(`${formatGenerations(generations)} ${verb}`)
  if (newest_generation === null) return `no generation ${verb}`
  if (ok) return style.good(`up to date, generation ${newest_generation}`)
  return `no generation ${verb}; the latest at the target is generation ${newest_generation}`
}

function formatExtent(report: CopyReport): string[] {
  const { objects, bytes, existing_objects, existing_bytes, existing_verified, older_generations, dry_run } = report
  const verb = dry_run ? 'to copy' : 'copied and verified'
  const there = `${plural(existing_objects, 'object')}, ${formatBytes(existing_bytes)} existed before`
  const how = existing_verified && !dry_run ? ', read and compared' : ''
  const older = `${formatGenerations(older_generations)} of the source: older than all at the target, skipped`
  return [
    `${plural(objects, 'object')}, ${formatBytes(bytes)} ${verb}${existing_objects > 0 ? `; ${there}${how}` : ''}`,
    ...(older_generations.length > 0 ? [older] : []),
  ]
}

/** `generations 1 to 3, 5`. */
export function formatGenerations(generations: readonly number[]): string {
  const runs: [number, number][] = []
  for (const generation of generations) {
    const last = runs.at(-1)
    if (last && last[1] === generation - 1) last[1] = generation
    else runs.push([generation, generation])
  }
  const texts = runs.map(([first, last]) => (first === last ? `${first}` : `${first} to ${last}`))
  return `${generations.length === 1 ? 'generation' : 'generations'} ${texts.join(', ')}`
}
