import { formatAgo, formatBytes, formatCount } from '../../lib/units.ts'
import { resourceKinds } from '../../operator/crd/resource.ts'
import type { ActiveRun, EndedRun } from '../../operator/crd/status.ts'
import type { Description, ShownPod } from '../../operator/kubectl/describe.ts'
import type { ShownEvent } from '../../operator/kubectl/run-pods.ts'
import type { ResourceSummary } from '../../operator/kubectl/summarize.ts'
import type { OutputStyle } from '../output-style.ts'
import { type Column, formatTable, formatText } from '../table.ts'
import { printable } from '../text.ts'

/** A row for each resource, the ones with trouble first, and below it what is wrong. */
export function formatSummaries(all: readonly ResourceSummary[], nowMs: number, style: OutputStyle): string[] {
  if (all.length === 0) return ['No resources found.']
  const rows = all.toSorted((one, other) => Number(isWell(one)) - Number(isWell(other)))
  const isOne = new Set(all.map(({ namespace }) => namespace)).size === 1
  const namespace: Column<ResourceSummary> = { title: 'NAMESPACE', cell: row => row.namespace, shrinks: true }
  const columns: Column<ResourceSummary>[] = [
    ...(isOne ? [] : [namespace]),
    { title: 'KIND', cell: row => row.kind, dropAs: 1 },
    { title: 'NAME', cell: row => row.name, shrinks: true, paint: text => style.bold(text) },
    { title: 'READY', cell: row => row.ready, paint: (text, row) => paintReady(row, style)(text) },
    { title: 'PHASE', cell: row => (row.suspended ? `${row.phase}, suspended` : row.phase) },
    { title: 'LAST SUCCESS', align: 'right', cell: row => lastSuccess(row, nowMs) },
    { title: 'NEXT', cell: row => row.nextScheduleTime ?? '-', dropAs: 2 },
    { title: 'DONE', align: 'right', cell: row => percent(row) },
  ]
  const notes = rows
    .filter(row => !isWell(row))
    .flatMap(row => {
      const name = isOne ? row.name : `${row.namespace}/${row.name}`
      return formatText(printable(`${row.kind} ${name}: ${row.reason}: ${row.message}`), style).map(style.warn)
    })
  return [...formatTable(columns, rows, style), ...(notes.length > 0 ? [''] : []), ...notes]
}

function isWell({ ready, recoveryPoint = 'True', reason }: ResourceSummary): boolean {
  return ready === 'True' && recoveryPoint === 'True' && reason === ''
}

function paintReady(row: ResourceSummary, style: OutputStyle): (text: string) => string {
  if (row.ready === 'True') return isWell(row) ? style.good : style.warn
  return row.active.length > 0 ? style.warn : style.bad
}

function percent({ active, progress }: ResourceSummary): string {
  if (active.length === 0) return '-'
  return progress?.percent === undefined ? 'running' : `${progress.percent} %`
}

/** The status of a storage has only the last validation, so there may have been an earlier success. */
function lastSuccess({ lastSuccessfulTime, kind }: ResourceSummary, nowMs: number): string {
  if (lastSuccessfulTime !== undefined) return formatAgo(lastSuccessfulTime, nowMs)
  return isStorage(kind) ? '-' : 'never'
}

function isStorage(kind: string): boolean {
  return kind === resourceKinds().storage.kind
}

/** What is wrong comes first, then what runs, what ran, and what happened. */
export function formatDescription(found: Description, nowMs: number, style: OutputStyle): string[] {
  const { kind, namespace, name, problems, runs, pods, events } = found
  const sections: [title: string, lines: string[]][] = [
    ['Problems', problems.flatMap(one => formatText(printable(`${one.type} (${one.reason}): ${one.message}`), style))],
    ['Runs', runs.length === 0 ? [] : formatTable(runColumns(nowMs, style), runs, style)],
    [
      isStorage(kind) ? 'Pods of validations' : 'Pods of the newest run',
      pods.length === 0 ? [] : formatTable(podColumns, pods, style),
    ],
    ['Events', formatEvents(events, nowMs, style)],
    ['Next', nextSteps(found)],
  ]
  return [
    `${style.bold(`${kind} ${name}`)} in namespace ${namespace}`,
    ...factsOf(found, nowMs).map(([label, text]) => `  ${`${label}:`.padEnd(16)}${printable(text)}`),
    ...sections.flatMap(([title, lines]) =>
      lines.length === 0 ? [] : ['', style.bold(title), ...lines.map(line => `  ${line}`)],
    ),
  ]
}

function factsOf(found: Description, nowMs: number): [string, string][] {
  const { phase, ready, suspended, progress, storedBytes, gaps } = found
  const optional = (label: string, text: string | undefined): [string, string][] =>
    text === undefined ? [] : [[label, text]]
  const at = (time: string | undefined) => time && `${time} (${formatAgo(time, nowMs)})`
  return [
    ['Ready', `${ready}, phase ${phase}${suspended ? ', suspended' : ''}`],
    ...(found.recoveryPoint === undefined ? [] : optional('Last success', at(found.lastSuccessfulTime) ?? 'never')),
    ...(isStorage(found.kind) ? optional('Last success', at(found.lastSuccessfulTime)) : []),
    ...optional('Last failure', at(found.lastFailedTime)),
    ...optional('Last verify', at(found.lastVerifyTime)),
    ...optional('Schedule', found.schedule),
    ...optional(isStorage(found.kind) ? 'Next check' : 'Next run', found.nextScheduleTime),
    ...optional('Used by', found.users === undefined ? undefined : `${formatCount(found.users)} resources`),
    ...optional(
      isStorage(found.kind) ? 'Location' : 'Backup',
      [found.backupId, found.storage].filter(Boolean).join(' in ') || undefined,
    ),
    ...optional('Stored', storedBytes === undefined ? undefined : formatBytes(storedBytes)),
    ...optional(
      'Gaps',
      gaps ? `${formatCount(gaps)} in the last run: records expired before they were read` : undefined,
    ),
    ...optional('Progress', progress && progressText(progress)),
  ]
}

function progressText({
  phase,
  percent: done,
  records,
  bytes,
  remainingSeconds,
}: NonNullable<Description['progress']>) {
  const parts = [
    phase,
    done === undefined ? undefined : `${done} %`,
    `${formatCount(records)} records`,
    formatBytes(bytes),
  ]
  const left = remainingSeconds === undefined ? undefined : `about ${Math.ceil(remainingSeconds / 60)} min left`
  return [...parts, left].filter(part => part !== undefined).join(', ')
}

type AnyRun = ActiveRun | EndedRun

function runColumns(nowMs: number, style: OutputStyle): Column<AnyRun>[] {
  const phaseOf = (run: AnyRun) => ('phase' in run ? run.phase : 'Active')
  return [
    { title: 'RUN', cell: run => run.run },
    { title: 'FOR', cell: run => run.purpose },
    {
      title: 'PHASE',
      cell: phaseOf,
      paint: (text, run) => (phaseOf(run) === 'Failed' ? style.bad(text) : text),
    },
    { title: 'STARTED', align: 'right', cell: run => formatAgo(run.startTime, nowMs) },
    { title: 'RECORDS', align: 'right', cell: run => ('records' in run ? formatCount(run.records ?? 0) : '-') },
    {
      title: 'CAUSE',
      cell: run => ('reason' in run ? [run.reason, run.message].filter(Boolean).join(': ') : ''),
      wraps: 30,
    },
  ]
}

const podColumns: Column<ShownPod>[] = [
  { title: 'POD', cell: pod => pod.name },
  { title: 'PHASE', cell: pod => pod.phase },
  { title: 'NODE', cell: pod => pod.node || '-', dropAs: 1 },
  { title: 'STATE', cell: pod => pod.state, wraps: 30 },
]

function formatEvents(events: readonly ShownEvent[] | null, nowMs: number, style: OutputStyle): string[] {
  if (events === null) return ['not shown: your user may not list events']
  const columns: Column<ShownEvent>[] = [
    { title: 'SEEN', align: 'right', cell: event => formatAgo(event.time, nowMs) },
    { title: 'TYPE', cell: event => event.type, paint: text => (text === 'Warning' ? style.warn(text) : text) },
    { title: 'REASON', cell: event => (event.count > 1 ? `${event.reason} x${event.count}` : event.reason) },
    { title: 'MESSAGE', cell: event => event.message, wraps: 30 },
  ]
  return events.length === 0 ? [] : formatTable(columns, events, style)
}

/** Commands to copy. */
function nextSteps({ kind, namespace, name, pods, active, suspended }: Description): string[] {
  if (isStorage(kind)) return pods.slice(-1).map(pod => `kubectl logs ${pod.name} -n ${namespace}`)
  const about = `${kind.toLowerCase()}/${name} -n ${namespace}`
  return [
    ...(pods.length > 0 ? [`kubectl kafka-backup logs ${about}${active.length > 0 ? ' --follow' : ''}`] : []),
    ...(active.length === 0 && !suspended ? [`kubectl kafka-backup trigger ${about} --wait`] : []),
  ]
}
