import type { RestoreJob } from '../../config/load-job.ts'
import { errorTable } from '../../error-table.ts'
import { formatBytes, formatCount } from '../../lib/units.ts'
import type { HeldSetting, Precision, RestoreDryRunTopic } from '../../restore/dry-run.ts'
import { refusalCode } from '../../restore/refusal.ts'
import type { ShownDryRun as RestoreDryRun } from '../actions.ts'
import type { OutputStyle } from '../output-style.ts'
import { restoreDryRunFacts } from '../result/data-facts.ts'
import type { Session } from '../session.ts'
import { formatFields, formatTable } from '../table.ts'
import { formatInstant, plural, printable } from '../text.ts'
import { accessPlanDocument, formatAccess } from './access-rules.ts'
import { formatPlannedGroups, plannedGroupsDocument } from './carried-groups.ts'
import { formatFindings } from './finding-table.ts'
import { formatWarnings } from './gap-table.ts'
import { formatLosses, isOpen, LOSSY } from './loss-table.ts'
import { estimateDocument, estimateFields, probeOf } from './restore-estimate.ts'
import { formatWindow, windowDocument } from './restore-window.ts'
import { formatPlannedIds } from './restored-ids.ts'
import { planDocument, plannedFields } from './schema-report.ts'

/** `restore --dry-run`: the exit code is that of the restore if it would be refused or lose something. */
export async function showRestoreDryRun(session: Session, job: RestoreJob): Promise<number> {
  const plan = await session.actions.dryRunRestoreJob(job, session.signal, probeOf(session))
  session.outcome.note(restoreDryRunFacts(plan))
  session.print(
    () => formatPlan(plan, job, session.style),
    () => documentOf(plan, job),
  )
  if (isRefused(plan)) return errorTable[refusalCode(plan.findings)].exitCode
  return isOpen(plan.schemas) ? LOSSY : 0
}

const FILTERED = 'only records that meet restore.filter: a scan counts them where a topic is small'

function conditionsDocument({ keyPrefixes, notDecoded, ...rest }: NonNullable<RestoreJob['restore']['filter']>) {
  return { ...rest, key_prefixes: keyPrefixes, not_decoded: notDecoded }
}

function isRefused({ findings }: RestoreDryRun): boolean {
  return findings.some(({ severity }) => severity === 'error')
}

function documentOf(plan: RestoreDryRun, job: RestoreJob) {
  const { restoreId, backupId, generation, location, targetCluster, state, topics, totals, findings, warnings } = plan
  const { isEstimate: is_estimate, precision: records_precision, ...sums } = totals
  return {
    dry_run: true,
    ok: !isRefused(plan) && !isOpen(plan.schemas),
    restore_id: restoreId,
    backup_id: backupId,
    generation,
    generation_created_at: plan.generationCreatedAt,
    location,
    target_cluster_id: targetCluster,
    state,
    time_window: windowDocument(job),
    ...(job.restore.filter && { filter: conditionsDocument(job.restore.filter) }),
    topics: topics.map(({ isEstimate, precision, heldBack, idCheck, ...topic }) => ({
      ...topic,
      is_estimate: isEstimate,
      records_precision: precision,
      held_back: heldBack.map(({ name, whileFilling, ...rest }) => ({ name, while_filling: whileFilling, ...rest })),
      ...(idCheck && { schema_id_check: idCheck }),
    })),
    totals: { ...sums, is_estimate, records_precision },
    estimate: plan.estimate ? estimateDocument(plan.estimate) : null,
    schemas: plan.schemas ? planDocument(plan.schemas) : null,
    ...(plan.consumerGroups && { consumer_groups: plannedGroupsDocument(plan.consumerGroups) }),
    ...(plan.access && { access: accessPlanDocument(plan.access) }),
    findings,
    warnings,
  }
}

const states: Record<RestoreDryRun['state'], string> = {
  new: 'not started',
  begun: 'started by an earlier run; this run continues it',
  complete: 'complete: a run would write nothing',
}

const qualifiers: Record<Precision, string> = { exact: '', at_most: 'at most ', about: 'about ' }

function formatPlan(plan: RestoreDryRun, job: RestoreJob, style: OutputStyle): string[] {
  const { backupId, generation, location, targetCluster, restoreId, state, topics, totals } = plan
  const amount = `${qualifiers[totals.precision]}${plural(totals.records, 'record')}, ${ofBytes(totals)}${formatBytes(totals.bytes)}`
  return [
    `Dry run of the restore of ${style.bold(printable(backupId))}: ${formatEffect(plan)}`,
    ...formatFields(
      [
        ['  From', `generation ${generation}, committed ${formatInstant(plan.generationCreatedAt)}, at ${location}`],
        ['  To cluster', targetCluster ?? 'unnamed'],
        ['  Restore ID', restoreId],
        ['  State', states[state]],
        ['  Time window', formatWindow(job)],
        ['  Filter', job.restore.filter && FILTERED],
        [
          '  Would write',
          `${amount} into ${plural(totals.topics, 'topic')}, ${plural(totals.partitions, 'partition')}`,
        ],
        ...(plan.estimate ? estimateFields(plan.estimate) : []),
        ...(plan.schemas ? plannedFields(plan.schemas, style) : []),
        ['  Schema IDs', formatPlannedIds(topics)],
      ],
      style,
    ),
    ...(topics.length === 0 ? [] : ['', ...formatTopics(topics, style)]),
    ...formatHeld(topics, style),
    ...(plan.consumerGroups ? formatPlannedGroups(plan.consumerGroups, style) : []),
    ...(plan.access ? formatAccess(plan.access, style) : []),
    ...(plan.schemas ? formatLosses('Losses in the target registry', plan.schemas, style) : []),
    ...formatFindings('Preflight findings', plan.findings, style),
    ...formatWarnings(plan.warnings.map(printable), style),
    ...(isRefused(plan) ? ['', style.bad('The restore would be refused before it writes anything.')] : []),
  ]
}

function formatEffect({ estimate }: RestoreDryRun): string {
  const topic = estimate?.probeTopic
  if (!topic) return 'nothing is written'
  if (topic.isDeleted) return 'nothing is restored; the topic of the probe is deleted'
  return `nothing is restored, but the topic of the probe is still there: delete ${topic.name}`
}

function formatTopics(topics: readonly RestoreDryRunTopic[], style: OutputStyle): string[] {
  const marks: Record<Precision, string> = { exact: '', at_most: style.hasUnicode ? '≤' : '<=', about: '~' }
  return formatTable<RestoreDryRunTopic>(
    [
      { title: 'SOURCE', cell: topic => topic.source, shrinks: true },
      { title: 'TARGET', cell: topic => topic.target, shrinks: true, paint: text => style.bold(text) },
      { title: 'PARTITIONS', dropAs: 1, align: 'right', cell: topic => formatCount(topic.partitions) },
      { title: 'RECORDS', align: 'right', cell: topic => `${marks[topic.precision]}${formatCount(topic.records)}` },
      {
        title: 'BYTES',
        dropAs: 2,
        align: 'right',
        cell: topic => `${marks[bytesOf(topic)]}${formatBytes(topic.bytes)}`,
      },
      { title: '', cell: topic => (topic.exists ? 'exists' : 'would be created') },
    ],
    topics,
    style,
  )
}

/** If records were counted one by one, the bytes of their batches are an upper bound. */
function bytesOf({ isEstimate, precision }: Pick<RestoreDryRunTopic, 'isEstimate' | 'precision'>): Precision {
  if (!isEstimate) return 'exact'
  return precision === 'exact' ? 'at_most' : precision
}

function ofBytes(totals: RestoreDryRun['totals']): string {
  return qualifiers[bytesOf(totals)]
}

/** Settings with an explicit value; deferred broker defaults are only in the JSON output. */
function formatHeld(topics: readonly RestoreDryRunTopic[], style: OutputStyle): string[] {
  const held = topics.flatMap(({ target, heldBack }) =>
    heldBack.filter(({ afterwards }) => afterwards !== null).map(setting => ({ target, ...setting })),
  )
  if (held.length === 0) return []
  const rows = formatTable<HeldSetting & { target: string }>(
    [
      { title: 'TOPIC', cell: row => row.target, shrinks: true },
      { title: 'SETTING', cell: row => row.name },
      { title: 'DURING RESTORE', cell: row => row.whileFilling },
      { title: 'AFTERWARDS', cell: row => row.afterwards ?? 'unchanged' },
    ],
    held,
    style,
  )
  return ['', 'Settings deferred until all records are written', ...rows]
}
