import type { GenerationListing, GenerationSummary } from '../../archive/generations.ts'
import type { HoldFacts } from '../../archive/holds.ts'
import { readFailureOf } from '../../archive/read-failure.ts'
import { errorTable } from '../../error-table.ts'
import { type ErrorCode, usageError } from '../../errors.ts'
import { largest } from '../../lib/largest.ts'
import { formatBytes, formatCount } from '../../lib/units.ts'
import type { Storage } from '../../storage/storage.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { type Column, formatTable } from '../table.ts'
import { formatInstant, printable } from '../text.ts'
import { withOpen } from './backups-at.ts'

type Readable = Exclude<GenerationSummary, { error: string }>

const DEFAULT_LIMIT = 20

/** `list --generations`: the committed states of one backup, newest first. */
export async function runGenerations(session: Session): Promise<number> {
  const limit = readLimit(session.options.limit)
  const listing = await withOneBackup(session, (storage, backupId) =>
    session.actions.listGenerationsOf(storage, backupId, { limit }, session.signal),
  )
  session.outcome.note({ warnings: listing.warnings.length })
  session.print(
    () => formatListing(listing, session.clock.now(), session.style),
    () => listing,
  )
  const codes = listing.generations.flatMap(one => ('error' in one ? [one.code] : []))
  return largest(codes.map(code => errorTable[code].exitCode))
}

async function withOneBackup(
  session: Session,
  work: (storage: Storage, backupId: string) => Promise<GenerationListing>,
): Promise<GenerationListing> {
  const { actions, signal } = session
  const { paths, configs, backupId } = session.options
  const [[path], [config]] = [paths, configs]
  if (paths.length + configs.length !== 1) throw usageError('--generations needs one --path or one --config')
  if (config !== undefined) {
    const job = await session.loadClusterlessJob(config)
    const storage = await actions.openJobStorage(job, session.givenKeys(), signal)
    return withOpen(storage, opened => work(opened, backupId ?? job.backupId))
  }
  if (session.options.set.length > 0) throw usageError('--set needs --config')
  if (path === undefined || backupId === undefined) throw usageError('--generations needs --backup-id or --config')
  const storage = await actions.openLocation(path, session.givenKeys(), signal)
  return withOpen(storage, opened => work(opened, backupId))
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw usageError(`--limit ${JSON.stringify(text)} is not a whole number from 1`)
}

function formatListing(
  { generations, more, warnings }: GenerationListing,
  nowMs: number,
  style: OutputStyle,
): string[] {
  const broken = generations.filter(one => 'error' in one)
  const notes = [
    ...generations.flatMap(({ generation, hold }) => (hold ? [describeHold(generation, hold)] : [])),
    ...broken.map(one => `${style.bad(`generation ${one.generation}`)}: ${printable(one.error)}`),
    ...warnings.map(one => style.warn(printable(one))),
    ...(more ? [style.dim('There are older generations; --limit lists more of them.')] : []),
  ]
  const rows = formatTable(columns(nowMs, style), generations, style)
  return [...rows, ...(notes.length > 0 ? ['', ...notes] : [])]
}

function describeHold(generation: number, { created_at, reason }: HoldFacts): string {
  const since = created_at === null ? '' : ` since ${formatInstant(created_at)}`
  return `generation ${generation} is held${since}${reason === '' ? '' : `: ${printable(reason)}`}`
}

function columns(nowMs: number, style: OutputStyle): Column<GenerationSummary>[] {
  const of = (pick: (one: Readable) => string) => (one: GenerationSummary) => ('error' in one ? '-' : pick(one))
  return [
    { title: 'GEN', align: 'right', cell: one => String(one.generation), paint: text => style.bold(text) },
    { title: 'COMMITTED', cell: of(one => formatInstant(one.created_at)) },
    { title: 'AGE', align: 'right', cell: of(one => formatAge(nowMs - Date.parse(one.created_at))) },
    { title: 'STATE', cell: stateOf, paint: (text, one) => paintState(text, one, style) },
    { title: 'TOPICS', dropAs: 1, align: 'right', cell: of(one => formatCount(one.topics)) },
    { title: 'RECORDS', align: 'right', cell: of(one => formatCount(one.records)) },
    { title: 'STORED', align: 'right', cell: of(one => formatBytes(one.stored_bytes)) },
    {
      title: 'GAPS',
      align: 'right',
      cell: of(one => (one.gaps === 0 ? '-' : formatCount(one.gaps))),
      paint: text => (text === '-' ? text : style.warn(text)),
    },
    { title: 'HELD', cell: one => (one.hold ? 'yes' : '-') },
  ]
}

function stateOf(one: GenerationSummary): string {
  if ('error' in one) return formatFailure(one)
  return one.complete ? 'complete' : 'incomplete'
}

/** In capitals, except for a missing key, which is not a fault. */
export function formatFailure({ code }: { code: ErrorCode }): string {
  const failure = readFailureOf(code)
  return failure === 'encrypted, no key' ? failure : failure.toUpperCase()
}

function paintState(text: string, one: GenerationSummary, style: OutputStyle): string {
  if ('error' in one) return style.bad(text)
  return one.complete ? style.good(text) : style.warn(text)
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
] as const

/** `3d 4h`, `5h 12m`, `7m`; `-` for a time that is not valid or in the future. */
export function formatAge(ms: number): string {
  if (!(ms >= 0)) return '-'
  const at = units.findIndex(([, size]) => ms >= size)
  const first = units[at]
  if (!first) return `${Math.floor(ms / 1000)}s`
  const [unit, size] = first
  const next = units[at + 1]
  const rest = next ? Math.floor((ms % size) / next[1]) : 0
  return `${Math.floor(ms / size)}${unit}${next && rest > 0 ? ` ${rest}${next[0]}` : ''}`
}
