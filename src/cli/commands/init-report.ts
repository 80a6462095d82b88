import { isAbsolute, resolve } from 'node:path'
import type { Connection } from '../../init/connection.ts'
import type { PlannedJob } from '../../init/format-job.ts'
import type { PlannedRestore } from '../../init/format-restore-job.ts'
import type { SurveyedTopic } from '../../init/propose-topics.ts'
import type { ClusterSurvey } from '../../jobs/survey-cluster.ts'
import { shellQuote } from '../../lib/shell.ts'
import { formatBytes, formatCount } from '../../lib/units.ts'
import type { CheckReport } from '../../observe/finding.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { formatTable, formatText } from '../table.ts'
import { plural, printable } from '../text.ts'
import { formatReport } from './check.ts'

const MOST_TOPICS = 20

export interface InitResult {
  job: PlannedJob
  text: string
  /** Undefined where the job is printed. */
  file: string | undefined
  survey: ClusterSurvey | undefined
  report: CheckReport | undefined
}

/** The topics of a cluster, the largest first. */
export function formatSurvey({ clusterId, brokers, topics }: ClusterSurvey, style: OutputStyle): string[] {
  const own = topics.filter(({ isInternal }) => !isInternal)
  const bySize = own.toSorted((a, b) => (b.bytes ?? -1) - (a.bytes ?? -1) || (a.name < b.name ? -1 : 1))
  const hidden = bySize.slice(MOST_TOPICS)
  const more = `and ${plural(hidden.length, 'topic')} more, ${sizeOf(hidden)}`
  return [
    `Cluster ${printable(clusterId ?? 'unnamed')}: ${plural(brokers, 'broker')}, ${plural(own.length, 'topic')}, ${sizeOf(own)}`,
    '',
    ...(own.length === 0 ? ['No topics yet.'] : formatTopics(bySize.slice(0, MOST_TOPICS), style)),
    ...(hidden.length === 0 ? [] : [style.dim(more)]),
    '',
  ]
}

function formatTopics(topics: readonly SurveyedTopic[], style: OutputStyle): string[] {
  return formatTable<SurveyedTopic>(
    [
      { title: 'TOPIC', cell: ({ name }) => name, shrinks: true },
      { title: 'PARTITIONS', align: 'right', dropAs: 2, cell: ({ partitions }) => formatCount(partitions) },
      { title: 'SIZE', align: 'right', cell: ({ bytes }) => (bytes === null ? '-' : formatBytes(bytes)) },
      { title: 'POLICY', dropAs: 1, cell: ({ isCompacted }) => (isCompacted ? 'compact' : 'delete') },
      {
        title: 'MISSING PERMISSIONS',
        wraps: true,
        cell: ({ missing }) => missing.join(', '),
        paint: text => style.bad(text),
      },
    ],
    topics,
    style,
  )
}

function sizeOf(topics: readonly SurveyedTopic[]): string {
  if (topics.length > 0 && topics.every(({ bytes }) => bytes === null)) return 'sizes are not known'
  return formatBytes(topics.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0))
}

/** The result: what was written, what failed, and the commands to run next. */
export function printInit(session: Session, { job, text, file, survey, report }: InitResult): void {
  const { style } = session
  const next = nextSteps(job, file, report)
  if (report) session.tell(errorStyle => ['', ...formatReport(report, false, errorStyle), ''])
  session.print(
    () => (file === undefined ? [text.trimEnd()] : [`Wrote ${printable(file)}. Next:`, ...formatNext(next, style)]),
    () => ({
      file: file ?? null,
      job: text,
      cluster_id: survey?.clusterId ?? null,
      topics: (job.taken ?? []).map(({ name, partitions, bytes, missing }) => ({ name, partitions, bytes, missing })),
      schedule: job.schedule.text,
      variables: job.connection.secrets.map(({ variable, origin }) => ({ variable, origin })),
      notes: job.origin?.notes ?? job.connection.notes,
      ok: report?.ok ?? null,
      checks: report?.checks ?? [],
      next: next.map(({ command }) => command),
    }),
  )
}

export interface RestoreResult {
  plan: PlannedRestore
  text: string
  file: string | undefined
  importCommand: string
}

/** The same for the job of a restore, which nothing was checked for. */
export function printRestore(session: Session, { plan, text, file, importCommand }: RestoreResult): void {
  const name = shellQuote(file ?? 'restore.yaml')
  const next = [
    ...exportsOf(plan.connection),
    { command: importCommand, meaning: 'import the archive; the new job restores the imported backup' },
    { command: `kafka-backup check ${name}`, meaning: 'check connectivity and permissions' },
    { command: `kafka-backup restore ${name} --dry-run`, meaning: 'show what it would do, and every blocker' },
    { command: `kafka-backup restore ${name}`, meaning: 'restore' },
  ]
  session.print(
    () =>
      file === undefined
        ? [text.trimEnd()]
        : [`Wrote ${printable(file)}, unchecked. Next:`, ...formatNext(next, session.style)],
    () => ({
      ...{ file: file ?? null, job: text, cluster_id: null, topics: [], schedule: null },
      variables: plan.connection.secrets.map(({ variable, origin }) => ({ variable, origin })),
      ...{ notes: plan.origin.notes, ok: null, checks: [], next: next.map(({ command }) => command) },
    }),
  )
}

interface NextStep {
  command: string
  meaning: string
}

function nextSteps({ connection, schedule }: PlannedJob, file: string | undefined, report?: CheckReport): NextStep[] {
  const name = shellQuote(file ?? 'backup.yaml')
  const check = { command: `kafka-backup check ${name}`, meaning: 'check connectivity and permissions' }
  const acls = { command: `kafka-backup check ${name} --acls kafka-acls`, meaning: 'print the permissions to grant' }
  const backup = {
    command: `kafka-backup backup ${name}`,
    meaning: schedule.continuous ? 'run the backup until it is stopped, as a service' : 'run the first backup',
  }
  const cron = schedule.cron && {
    command: `(crontab -l; echo ${shellQuote(cronLine(schedule.cron, connection, file))}) | crontab -`,
    meaning: `schedule it (${schedule.text}, in the time zone of cron), ${cronNeeds(connection)}`,
  }
  const verify = { command: `kafka-backup verify --config ${name} --deep`, meaning: 'read every byte of it' }
  const status = { command: `kafka-backup status --config ${name}`, meaning: 'show its age, proofs and growth' }
  const first = report?.ok ? [] : report ? [acls, check] : [check]
  return [...exportsOf(connection), ...first, backup, verify, ...(cron ? [cron] : []), status]
}

function exportsOf({ secrets }: Connection): NextStep[] {
  return secrets.map(({ variable, origin }) => ({ command: `export ${variable}=…`, meaning: `set it to ${origin}` }))
}

/**
 * With a full path, because cron starts in the home folder; in this folder if the job has relative paths. Cron reads a `%` as
 * a line break.
 */
function cronLine(cron: string, { security }: Connection, file = 'backup.yaml'): string {
  const { ca_cert = '/', client_cert = '/', client_key = '/' } = security?.tls ?? {}
  const isRelative = [ca_cert, client_cert, client_key].some(one => !isAbsolute(one))
  const folder = isRelative ? `cd ${shellQuote(resolve('.'))} && ` : ''
  return `${cron} ${`${folder}kafka-backup backup ${shellQuote(resolve(file))}`.replaceAll('%', '\\%')}`
}

function cronNeeds({ secrets }: Connection): string {
  const path = 'with kafka-backup in the PATH of cron'
  const names = secrets.map(({ variable }) => variable).join(' and ')
  return names === '' ? path : `${path} and ${names} set there`
}

function formatNext(steps: readonly NextStep[], style: OutputStyle): string[] {
  return steps.flatMap(({ command, meaning }) => [
    // Each line is a comment, because a user copies the block into a shell.
    ...formatText(printable(meaning), style, '  # ').map(line => style.dim(line)),
    `  ${printable(command)}`,
  ])
}
