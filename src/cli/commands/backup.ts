import { totalsOf } from '../../archive/summary.ts'
import type { BackupReport } from '../../backup/run-backup.ts'
import type { Job } from '../../config/load-job.ts'
import { formatBytes, formatCount, formatDuration } from '../../lib/units.ts'
import { formatLocation } from '../../storage/location.ts'
import type { Look } from '../look.ts'
import type { Session } from '../session.ts'
import { formatFields } from '../table.ts'
import { formatRatio, plural, printable, shellQuote } from '../text.ts'
import { showDryRun } from './dry-run.ts'
import { formatGaps } from './gap-table.ts'

export async function run(session: Session): Promise<number> {
  const job = await session.loadJob(session.options.config ?? '')
  if (session.options.dryRun) return showDryRun(session, job)
  const report = await copy(session, job)
  const location = formatLocation(job.storage)
  session.print(
    () => formatReport(report, location, session.look),
    () => documentOf(report, location),
  )
  return 0
}

async function copy(session: Session, job: Job): Promise<BackupReport> {
  const requests: Record<string, number> = {}
  const count = (name: string) => {
    requests[name] = (requests[name] ?? 0) + 1
  }
  const onRequest = session.log.has('info') ? { onRequest: count } : {}
  try {
    return await session.withProgress('backup', 'asking the cluster what there is to copy', onProgress =>
      session.actions.runBackupJob(job, { onProgress, ...onRequest }, session.signal),
    )
  } finally {
    const counts = Object.entries(requests).map(([name, times]) => `${name} ${formatCount(times)}`)
    session.log.write('info', `requests to Kafka: ${counts.join(', ') || 'none'}`, { requests })
  }
}

function documentOf({ manifest, durationMs, copied, newGaps, warnings }: BackupReport, location: string) {
  const { backup_id, generation, complete, created_at, cluster, topics } = manifest
  return {
    backup_id,
    location,
    generation,
    complete,
    created_at,
    cluster_id: cluster.id,
    duration_ms: Math.round(durationMs),
    copied,
    totals: totalsOf(topics),
    gaps: newGaps.map(({ topic, partition, from, to, reason }) => ({ topic, partition, from, to, reason })),
    warnings,
  }
}

function formatReport(report: BackupReport, location: string, look: Look): string[] {
  const { manifest, durationMs, copied, newGaps, warnings } = report
  const totals = totalsOf(manifest.topics)
  const rate = `${formatBytes(Math.round(copied.bytes / Math.max(durationMs / 1000, 0.001)))}/s`
  const amount = `${plural(copied.records, 'record')}, ${formatBytes(copied.bytes)}`
  const nothing = copied.records === 0 && copied.bytes === 0
  const stored = `${formatBytes(totals.stored_bytes)} stored (${formatRatio(totals.bytes, totals.stored_bytes)})`
  const id = manifest.backup_id
  return [
    `${look.good(nothing ? 'Nothing new for' : 'Backed up')} ${look.bold(printable(id))} at ${printable(location)}`,
    ...formatFields(
      [
        ['  Copied', nothing ? undefined : `${amount} in ${formatDuration(durationMs)} (${rate})`],
        [
          '  Holds',
          `${plural(totals.topics, 'topic')}, ${plural(totals.partitions, 'partition')}, ${plural(totals.records, 'record')}`,
        ],
        ['  Size', `${formatBytes(totals.bytes)}, ${stored}`],
        ['  Generation', String(manifest.generation)],
        ['  Warnings', warnings.length === 0 ? undefined : formatCount(warnings.length), look.warn],
      ],
      look,
    ),
    ...formatGaps('New gaps: lost at the source before they could be copied', newGaps, look),
    '',
    `Next: ${look.bold(`kafka-backup verify --path ${shellQuote(location)} --backup-id ${shellQuote(id)}`)}`,
  ]
}
