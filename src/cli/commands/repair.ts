import type { RepairReport } from '../../archive/repair.ts'
import type { LostOffsets, OffsetRange } from '../../archive/salvage-lists.ts'
import { writerTermOf } from '../../jobs/prune.ts'
import type { Storage } from '../../storage/storage.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { formatTable, formatText } from '../table.ts'
import { plural, printable } from '../text.ts'
import { agrees, refuseDryRunWithYes } from './agree.ts'
import { withBackup } from './backups-at.ts'
import { formatProblems, formatRanges } from './verify.ts'

const DAMAGE_FOUND = 3
const PARTLY_DONE = 4

export async function run(session: Session): Promise<number> {
  refuseDryRunWithYes(session.options)
  return withBackup(session, (storage, backupId, job) =>
    repair(session, { storage, backupId, ...writerTermOf(job, { match: [backupId] }) }),
  )
}

interface Place {
  storage: Storage
  backupId: string
  writerTtlMs?: number
}

async function repair(session: Session, place: Place): Promise<number> {
  const { dryRun, yes } = session.options
  session.outcome.isAbout(place.backupId)
  if (!yes) {
    const plan = await act(session, place, true)
    if (dryRun || !plan.needed) return show(session, plan)
    const ask = () => session.confirm(questionOf(plan))
    const formatted = (style: OutputStyle) => formatRepair(plan, style)
    if (!(await agrees(session, { plan: formatted, ask, nothing: 'nothing was repaired' }))) return 0
  }
  return show(session, await act(session, place, false))
}

function act(session: Session, { storage, backupId, ...term }: Place, isDryRun: boolean): Promise<RepairReport> {
  const { deep } = session.options
  return session.withProgress('repair', 'reading the log', onProgress =>
    session.actions.repairAt(storage, backupId, { deep, isDryRun, onProgress, ...term }, session.signal),
  )
}

function questionOf(report: RepairReport): string {
  const { generation, marker } = report
  const loss = lossOf(report)
  const steps = [
    ...(marker ? ['write the marker again'] : []),
    ...(generation === undefined ? [] : [`commit what is readable as generation ${generation}`]),
  ].join(' and ')
  return `${capitalized(loss)}. ${capitalized(steps)}?`
}

function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

function show(session: Session, report: RepairReport): number {
  session.print(
    () => formatRepair(report, session.style),
    () => report,
  )
  if (!report.needed) return 0
  if (report.dry_run) return DAMAGE_FOUND
  return report.lost.length + report.lost_commits.length > 0 ? PARTLY_DONE : 0
}

function formatRepair(report: RepairReport, style: OutputStyle): string[] {
  const { needed, unreadable, problems, lost, lost_commits: commits, from_older: older } = report
  const { unnamed_topics: unnamed } = report
  const facts = [
    ...(unreadable.length > 0 ? [`generations that cannot be read: ${formatRanges(unreadable)}`] : []),
    ...(needed && report.generation !== undefined ? [`based on generation ${report.base}`] : []),
    ...(commits.length > 0
      ? [
          `lost commits: ${formatRanges(commits)}; the next run copies what only they had added, if the source still has it`,
        ]
      : []),
    ...(unnamed.length > 0
      ? [`topics with stored records that no readable commit names, as a lost one may have: ${formatNames(unnamed)}`]
      : []),
    ...(needed && older.length > 0 ? [`taken from older generations: ${formatOffsets(older)}`] : []),
  ]
  return [
    ...formatText(`${printable(report.backup_id)}: ${verdictOf(report)}`, style),
    ...facts.flatMap(fact => formatText(fact, style, '  ')),
    ...formatProblems(problems, style),
    ...formatLost(lost, style),
  ]
}

/** Ranges or topics that a line names. */
const MAX_NAMED = 5

function formatOffsets(ranges: readonly OffsetRange[]): string {
  const named = ranges
    .slice(0, MAX_NAMED)
    .map(one => `${printable(one.topic)}/${one.partition} from offset ${one.from} to ${one.to}`)
  const more = ranges.length > MAX_NAMED ? ` and ${plural(ranges.length - MAX_NAMED, 'more range')}` : ''
  return `${named.join(', ')}${more}`
}

function formatNames(names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? ` and ${plural(names.length - MAX_NAMED, 'more topic')}` : ''
  return `${names.slice(0, MAX_NAMED).map(printable).join(', ')}${more}`
}

function verdictOf(report: RepairReport): string {
  const { format_version, needed, dry_run, generation, marker, deep } = report
  if (format_version === 1) {
    return 'nothing to repair: in format version 1 each generation is complete by itself. If `verify` finds damage, restore an earlier one with --generation'
  }
  if (!needed) return `nothing to repair${deep ? '' : '; --deep reads every byte'}`
  const steps = [
    ...(marker ? [`${dry_run ? 'write' : 'wrote'} the marker again`] : []),
    ...(generation === undefined ? [] : [`${dry_run ? 'commit' : 'committed'} generation ${generation}`]),
  ].join(' and ')
  return `${dry_run ? 'would ' : ''}${steps}, ${lossOf(report)}`
}

function lossOf({ lost, lost_commits }: RepairReport): string {
  const commits = lost_commits.reduce((sum, { from, to }) => sum + to - from + 1, 0)
  const losses = [
    ...(lost.length > 0 ? [`${plural(lost.length, 'range')} of offsets lost`] : []),
    ...(commits > 0 ? [`${plural(commits, 'commit')} lost`] : []),
  ]
  return losses.join(', ') || 'nothing is lost'
}

/** An ID as the tools of Kafka show it, to find the topic at the source. */
function nameOf({ topic, topic_id }: LostOffsets): string {
  return topic_id === undefined ? topic : `ID ${Buffer.from(topic_id, 'hex').toString('base64url')}`
}

function becomesOf({ at_end, may_be_cut_off }: LostOffsets): string {
  const becomes = at_end ? 'the next run copies it if the source has it' : 'a gap'
  return may_be_cut_off ? `${becomes}; retention may have cut it off in a lost commit` : becomes
}

function formatLost(lost: readonly LostOffsets[], style: OutputStyle): string[] {
  if (lost.length === 0) return []
  const rows = formatTable<LostOffsets>(
    [
      { title: 'TOPIC', cell: nameOf, shrinks: true },
      { title: 'PARTITION', cell: one => String(one.partition) },
      { title: 'FROM', cell: one => String(one.from) },
      { title: 'TO', cell: one => String(one.to) },
      {
        title: 'BECOMES',
        wraps: true,
        cell: becomesOf,
      },
    ],
    lost,
    style,
  )
  return ['', ...rows]
}
