import { KafkaBackupError } from '../../errors.ts'
import { policyOf, writerTermOf } from '../../jobs/prune.ts'
import { formatBytes } from '../../lib/units.ts'
import { type KeepRules, keepFields, periodRules } from '../../retention/keep-rules.ts'
import { addReports, describeClockDoubt, type PruneReport, totalsOf } from '../../retention/outcome.ts'
import type { RetentionPolicy } from '../../retention/policy.ts'
import type { Storage } from '../../storage/storage.ts'
import type { CommandOptions } from '../option-specs.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { plural } from '../text.ts'
import { agrees, refuseDryRunWithYes } from './agree.ts'
import { withBackupsAt } from './backups-at.ts'
import { durationOption } from './option-values.ts'
import { formatPrune, pruneDocument } from './prune-report.ts'

export async function run(session: Session): Promise<number> {
  const given = rulesOf(session.options)
  return withBackupsAt(session, async (storage, job) => {
    if (session.options.keep.length > 0) return keepExpired(session, storage)
    return prune(session, storage, { policy: policyOf(job, given), ...writerTermOf(job, given) })
  })
}

async function keepExpired(session: Session, storage: Storage): Promise<number> {
  const { keep, dryRun } = session.options
  if (dryRun) throw new KafkaBackupError('USAGE', '--dry-run and --keep exclude each other: --keep has no plan to show')
  for (const id of keep) {
    await session.withProgress('prune', 'keeping expired backups', onProgress =>
      session.actions.keepExpiredAt(storage, id, { onProgress }, session.signal),
    )
  }
  session.print(
    () => keep.map(id => `backup ${session.style.bold(id)} is kept`),
    () => ({ taken_back: keep }),
  )
  return 0
}

interface Rules {
  policy: RetentionPolicy
  writerTtlMs?: number
  trustsClock?: boolean
}

const NOT_ALL_DONE = 4

async function prune(session: Session, storage: Storage, rules: Rules): Promise<number> {
  const { dryRun, yes } = session.options
  refuseDryRunWithYes(session.options)
  if (!yes) {
    const plan = await act(session, storage, rules, true)
    if (dryRun) return show(session, plan)
    const isIdle = isNothing(plan)
    if (isIdle && plan.clockDoubt === undefined) return show(session, { ...plan, isDryRun: false })
    const ask = () => session.confirm(questionOf(plan))
    const proposal = { plan: (style: OutputStyle) => formatPrune(plan, style), ask, nothing: 'nothing was removed' }
    if (!isIdle && !(await agrees(session, proposal))) return 0
  }
  const report = await act(session, storage, rules, false)
  if (yes || report.clockDoubt === undefined || !session.canAsk) return show(session, report)
  return pruneByThisClock(session, storage, { ...rules, trustsClock: true }, report)
}

/** Shows what the clock of this machine would expire, and removes it only if the user types a word. */
async function pruneByThisClock(
  session: Session,
  storage: Storage,
  rules: Rules,
  report: PruneReport,
): Promise<number> {
  const plan = await act(session, storage, rules, true)
  session.tell(style => formatPrune(plan, style))
  const question = `${report.clockDoubt}. Type the word prune to remove by this clock nevertheless:`
  if (!(await session.confirmByTyping(question, 'prune'))) return show(session, report)
  return show(session, addReports(report, await act(session, storage, rules, false)))
}

function questionOf(plan: PruneReport): string {
  const { backups, segments, generations, removed } = totalsOf(plan.backups)
  const parts = [
    backups > 0 ? plural(backups, 'backup') : '',
    segments > 0 ? plural(segments, 'segment') : '',
    generations > 0 ? plural(generations, 'old generation') : '',
    removed.objects > 0 ? `${plural(removed.objects, 'object')} (${formatBytes(removed.bytes)})` : '',
  ]
  return `Remove ${parts.filter(part => part !== '').join(', ')}?`
}

function act(session: Session, storage: Storage, { policy, ...term }: Rules, isDryRun: boolean): Promise<PruneReport> {
  return session.withProgress('prune', 'reading the backups', onProgress =>
    session.actions.pruneAt(storage, policy, { onProgress }, { isDryRun, ...term }, session.signal),
  )
}

function show(session: Session, report: PruneReport): number {
  session.print(
    () => formatPrune(report, session.style),
    () => pruneDocument(report),
  )
  const message = describeClockDoubt(report)
  if (message === undefined) return 0
  session.outcome.note({ problem: { message } })
  return NOT_ALL_DONE
}

/** There is nothing to remove, so no confirmation is needed. */
function isNothing({ backups }: PruneReport): boolean {
  const totals = totalsOf(backups)
  return totals.backups + totals.segments + totals.generations + totals.removed.objects === 0
}

/** The retention rules of the options. */
function rulesOf(options: CommandOptions): Partial<RetentionPolicy> {
  const generations = generationRulesOf(options.keepGenerations)
  const counts = keepFields.map(field => [field, parseCount(field, options[field])] as const)
  const olderThanMs = durationOption('older-than', options.olderThan)
  const graceMs = durationOption('grace', options.grace)
  return {
    ...Object.fromEntries(counts.filter(([, count]) => count !== undefined)),
    ...(generations && { generations }),
    ...(olderThanMs !== undefined && { olderThanMs }),
    ...(graceMs !== undefined && { graceMs }),
    ...(options.match.length > 0 && { match: options.match }),
  }
}

/** `daily=7` of `--keep-generations`. */
function generationRulesOf(texts: readonly string[]): KeepRules | undefined {
  if (texts.length === 0) return undefined
  const names = new Map(
    ['keep_last', ...periodRules.map(([rule]) => rule)].map((rule, at) => [rule.replace('keep_', ''), keepFields[at]]),
  )
  const rules = texts.map(text => {
    const [, name = '', count] = /^([a-z]+)=(\d{1,9})$/.exec(text) ?? []
    const field = names.get(name)
    if (field !== undefined) return [field, Number(count)] as const
    const help = `write ${[...names.keys()].join('=N, ')}=N`
    throw new KafkaBackupError('USAGE', `--keep-generations ${JSON.stringify(text)} is not a rule: ${help}`)
  })
  return Object.fromEntries(rules)
}

function parseCount(field: string, text: string | undefined): number | undefined {
  if (text === undefined || /^\d{1,9}$/.test(text)) return text === undefined ? undefined : Number(text)
  const name = field.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
  throw new KafkaBackupError('USAGE', `--${name} ${JSON.stringify(text)} is not a whole number`)
}
