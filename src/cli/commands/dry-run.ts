import type { DryRun, DryRunTopic } from '../../backup/dry-run.ts'
import type { BackupJob } from '../../config/load-job.ts'
import { formatBytes, formatCount } from '../../lib/units.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { formatFields, formatTable } from '../table.ts'
import { plural, printable } from '../text.ts'
import { formatGaps, formatWarnings } from './gap-table.ts'
import { rereadDocuments } from './rereads.ts'

/** `backup --dry-run`. */
export async function showDryRun(session: Session, job: BackupJob): Promise<number> {
  const plan = await session.actions.dryRunJob(job, session.signal)
  const message = `${plural(plan.leaderless.length, 'partition')} without a leader would not be copied`
  session.outcome.note({ warnings: plan.warnings.length, ...(plan.leaderless.length > 0 && { problem: { message } }) })
  session.print(
    () => formatPlan(plan, session.style),
    () => documentOf(plan),
  )
  return plan.leaderless.length > 0 ? PARTIAL : 0
}

/** As the run would exit. */
const PARTIAL = 4

function documentOf(plan: DryRun) {
  const { backupId, clusterId, location, resumesFrom, topics, totals, leaderless, gaps, rereads, schemas, warnings } =
    plan
  return {
    dry_run: true,
    backup_id: backupId,
    cluster_id: clusterId,
    location,
    resumes_from: resumesFrom,
    topics: topics.map(({ isNew, ...topic }) => ({ ...topic, is_new: isNew })),
    totals,
    leaderless,
    gaps,
    ...(rereads.length > 0 && { rereads: rereadDocuments(rereads) }),
    ...(schemas && { schemas }),
    warnings,
  }
}

function formatPlan(plan: DryRun, style: OutputStyle): string[] {
  const { totals, topics, schemas } = plan
  const without = plan.leaderless.length
  const size = totals.bytes === null ? '' : `, about ${formatBytes(totals.bytes)}`
  const extent = `${plural(totals.topics, 'topic')}, ${plural(totals.partitions, 'partition')}, ${plural(totals.offsets, 'offset')}${size}`
  return [
    `Dry run of ${style.bold(printable(plan.backupId))}: nothing is written`,
    ...formatFields(
      [
        ['  Cluster', plan.clusterId ?? 'unnamed'],
        ['  Location', plan.location],
        [
          '  Continues from',
          plan.resumesFrom === null ? 'nothing: this is the first run' : `generation ${plan.resumesFrom}`,
        ],
        ['  Would copy', extent],
        ['  No leader', without === 0 ? undefined : `${plural(without, 'partition')}, which would not be copied`],
        ['  Schemas', schemas && `${plural(schemas.subjects, 'subject')}, ${plural(schemas.versions, 'version')}`],
      ],
      style,
    ),
    ...(topics.length === 0 ? [] : ['', ...formatTopics(topics, style)]),
    ...formatGaps('Gaps: lost at the source, can no longer be copied', plan.gaps, style),
    ...formatWarnings(plan.warnings, style),
  ]
}

function formatTopics(topics: readonly DryRunTopic[], style: OutputStyle): string[] {
  return formatTable<DryRunTopic>(
    [
      { title: 'TOPIC', cell: topic => topic.name, shrinks: true, paint: text => style.bold(text) },
      { title: 'PARTITIONS', align: 'right', cell: topic => formatCount(topic.partitions) },
      { title: 'OFFSETS', align: 'right', cell: topic => formatCount(topic.offsets) },
      { title: 'BYTES', align: 'right', cell: topic => (topic.bytes === null ? '?' : `~${formatBytes(topic.bytes)}`) },
      { title: '', cell: topic => (topic.isNew ? 'new' : ''), paint: text => style.good(text) },
    ],
    topics,
    style,
  )
}
