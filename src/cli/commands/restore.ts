import type { RestoreJob } from '../../config/load-job.ts'
import { KafkaBackupError } from '../../errors.ts'
import { formatBytes, formatCount, formatDuration } from '../../lib/units.ts'
import { RestoreRefusal } from '../../restore/refusal.ts'
import type { RestoreReport } from '../../restore/run-restore.ts'
import { formatLocation } from '../../storage/location.ts'
import type { Look } from '../look.ts'
import type { Session } from '../session.ts'
import { formatFields, formatTable } from '../table.ts'
import { plural, printable } from '../text.ts'
import { formatFindings } from './finding-table.ts'
import { showRestoreDryRun } from './restore-dry-run.ts'
import { watchJob } from './watch.ts'

type ReportTopic = RestoreReport['topics'][number]

export async function run(session: Session): Promise<number> {
  const { actions, options, signal } = session
  const job = await session.loadRestoreJob(options.config ?? '')
  if (options.dryRun) return showRestoreDryRun(session, job)
  const shown = { label: 'restore', preparing: 'looking at the backup and the target' }
  const report = await watchJob(session, shown, hooks => actions.runRestoreJob(job, hooks, signal)).catch(error => {
    throw error instanceof RestoreRefusal ? showRefusal(session, error) : error
  })
  session.print(
    () => formatReport(report, job, session.look),
    () => documentOf(report, formatLocation(job.storage)),
  )
  return 0
}

/** People get a table, and an error that does not say it all again. Programs get the error with all in its message. */
function showRefusal(session: Session, refusal: RestoreRefusal): KafkaBackupError {
  const { findings, code, help } = refusal
  const isTold = session.tell(look => formatFindings('Found on the target', findings, look).slice(1))
  if (!isTold || session.options.format === 'json') return refusal
  const errors = findings.filter(({ severity }) => severity === 'error')
  const message = `the target is not fit for this restore: ${plural(errors.length, 'problem')}`
  return new KafkaBackupError(code, message, { cause: refusal, help })
}

function documentOf(report: RestoreReport, location: string) {
  const { restoreId, backupId, generation, wasComplete, durationMs, topics, warnings } = report
  const { partitions, records, bytes, rebuilt } = totalsOf(topics)
  return {
    restore_id: restoreId,
    backup_id: backupId,
    location,
    generation,
    already_complete: wasComplete,
    duration_ms: Math.round(durationMs),
    topics: topics.map(({ rebuilt: rebuilt_batches, ...topic }) => ({ ...topic, rebuilt_batches })),
    totals: { topics: topics.length, partitions, records, bytes, rebuilt_batches: rebuilt },
    warnings,
  }
}

function formatReport(report: RestoreReport, job: RestoreJob, look: Look): string[] {
  const { restoreId, backupId, generation, wasComplete, durationMs, topics, warnings } = report
  const { partitions, records, bytes, rebuilt } = totalsOf(topics)
  const rate = `${formatBytes(Math.round(bytes / Math.max(durationMs / 1000, 0.001)))}/s`
  const written = `${plural(records, 'record')}, ${formatBytes(bytes)} in ${formatDuration(durationMs)} (${rate})`
  const from = `${look.bold(printable(backupId))} from ${printable(formatLocation(job.storage))}`
  const isHeld = job.restore.retention === 'hold' && !wasComplete
  return [
    wasComplete ? `${look.good('Already complete:')} the restore of ${from}` : `${look.good('Restored')} ${from}`,
    ...formatFields(
      [
        ['  Wrote', wasComplete ? 'nothing: an earlier run has finished it' : written],
        ['  Into', `${plural(topics.length, 'topic')}, ${plural(partitions, 'partition')}`],
        ['  Rebuilt', rebuilt === 0 ? undefined : `${formatCount(rebuilt)} batches`],
        ['  Generation', String(generation)],
        ['  Restore id', restoreId],
        ['  Warnings', warnings.length === 0 ? undefined : formatCount(warnings.length), look.warn],
      ],
      look,
    ),
    ...(wasComplete || topics.length === 0 ? [] : ['', ...formatTopics(topics, look)]),
    ...(isHeld
      ? ['', look.warn('Retention is off on the topics that were made (restore.retention: hold). Set it when you can.')]
      : []),
  ]
}

function formatTopics(topics: readonly ReportTopic[], look: Look): string[] {
  return formatTable<ReportTopic>(
    [
      { title: 'SOURCE', cell: topic => topic.source, shrinks: true },
      { title: 'TARGET', cell: topic => topic.target, shrinks: true, paint: text => look.bold(text) },
      { title: 'PARTITIONS', align: 'right', cell: topic => formatCount(topic.partitions) },
      { title: 'RECORDS', align: 'right', cell: topic => formatCount(topic.records) },
      { title: 'BYTES', align: 'right', cell: topic => formatBytes(topic.bytes) },
      { title: 'REBUILT', align: 'right', cell: topic => formatCount(topic.rebuilt) },
    ],
    topics,
    look,
  )
}

function totalsOf(topics: readonly ReportTopic[]) {
  const sum = (pick: (topic: ReportTopic) => number) => topics.reduce((total, topic) => total + pick(topic), 0)
  return {
    partitions: sum(({ partitions }) => partitions),
    records: sum(({ records }) => records),
    bytes: sum(({ bytes }) => bytes),
    rebuilt: sum(({ rebuilt }) => rebuilt),
  }
}
