import type { VerifyReport } from '../../archive/verify.ts'
import type { Problem } from '../../archive/verify-objects.ts'
import type { Hooks } from '../../jobs/parts.ts'
import type { RecordedReport } from '../../jobs/verify.ts'
import { formatBytes } from '../../lib/units.ts'
import type { OutputStyle } from '../output-style.ts'
import { verifyFacts } from '../result/data-facts.ts'
import type { Session } from '../session.ts'
import { formatTable, formatText } from '../table.ts'
import { plural, printable } from '../text.ts'
import { withBackup } from './backups-at.ts'
import { formatGaps, formatWarnings, gapTitle } from './gap-table.ts'
import { choiceOf } from './generation-choice.ts'

const DAMAGE_FOUND = 3

export async function run(session: Session): Promise<number> {
  const options = { deep: session.options.deep, record: session.options.record, ...choiceOf(session.options) }
  return withBackup(session, async (storage, backupId, job) => {
    const { actions, signal } = session
    const report = await session.withProgress('verify', 'listing objects', onProgress => {
      const verify = (hooks: Hooks) =>
        actions.verifyBackup(storage, backupId, { ...options, onProgress: hooks.onProgress }, signal)
      return job?.metrics ? actions.watchVerify({ ...job, backupId }, { onProgress }, verify) : verify({ onProgress })
    })
    session.outcome.note(verifyFacts(report))
    session.print(
      () => formatReport(report, session.style),
      () => report,
    )
    return report.ok ? 0 : DAMAGE_FOUND
  })
}

function formatReport(report: RecordedReport, style: OutputStyle): string[] {
  return [
    formatVerdict(report, style),
    ...formatText(formatExtent(report), style, '  '),
    ...formatRecord(report, style),
    ...formatUnreadable(report),
    ...formatProblems(report.problems, style),
    ...formatGaps(gapTitle('lost at the source; the backup itself is intact', report.gaps), report.gaps, style),
    ...formatWarnings(report.warnings, style),
  ]
}

function formatVerdict({ backup_id, generation, ok, problems }: VerifyReport, style: OutputStyle): string {
  const verdict = ok ? style.good('intact') : style.bad(`DAMAGED, ${plural(problems.length, 'problem')}`)
  return `${style.bold(printable(backup_id))} generation ${generation}: ${verdict}`
}

function formatExtent({ deep, encrypted, objects, bytes, partitions, records }: VerifyReport): string {
  const extent = `${plural(objects, `${encrypted ? 'encrypted ' : ''}object`)}, ${formatBytes(bytes)}, ${plural(partitions, 'partition')}, ${plural(records, 'record')}`
  const depth = deep ? 'every byte was read' : 'presence, sizes and offsets; --deep reads every byte'
  return `${extent} (${depth})`
}

function formatRecord({ record }: RecordedReport, style: OutputStyle): string[] {
  if ('key' in record) return []
  return formatText(`this result is not recorded: ${record.not_recorded}`, style, '  ')
}

function formatUnreadable({ unreadable_generations: ranges }: VerifyReport): string[] {
  return ranges.length === 0 ? [] : [`  generations that cannot be read: ${formatRanges(ranges)}`]
}

export function formatRanges(ranges: readonly { from: number; to: number }[]): string {
  return ranges.map(({ from, to }) => (from === to ? `${from}` : `${from} to ${to}`)).join(', ')
}

export function formatProblems(problems: readonly Problem[], style: OutputStyle): string[] {
  if (problems.length === 0) return []
  const rows = formatTable<Problem>(
    [
      { title: 'OBJECT', cell: problem => problem.key },
      { title: 'PROBLEM', wraps: true, cell: problem => problem.problem, paint: text => style.bad(text) },
    ],
    problems,
    style,
  )
  return ['', ...rows]
}
