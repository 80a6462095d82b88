import { schemaTotalsOf, totalsOf } from '../../archive/summary.ts'
import type { BackupReport } from '../../backup/run-backup.ts'
import { KafkaBackupError } from '../../errors.ts'
import type { BackupRun } from '../../jobs/backup.ts'
import { shellQuote } from '../../lib/shell.ts'
import { formatBytes, formatCount, formatDuration } from '../../lib/units.ts'
import { formatLocation } from '../../storage/location.ts'
import type { CommandOptions } from '../option-specs.ts'
import type { OutputStyle } from '../output-style.ts'
import { backupFacts, shardFacts } from '../result/data-facts.ts'
import type { Session } from '../session.ts'
import { formatFields } from '../table.ts'
import { formatRatio, plural, printable } from '../text.ts'
import { showDryRun } from './dry-run.ts'
import { formatGaps } from './gap-table.ts'
import { keepReport } from './keep-report.ts'
import { rereadDocuments } from './rereads.ts'
import { parseShard, showShard } from './shard.ts'
import { tuneCollector } from './tune-collector.ts'
import { watchJob } from './watch.ts'

const shown = { label: 'backup', preparing: 'reading the topics of the cluster' }

export async function run(session: Session): Promise<number> {
  const { actions, options, signal } = session
  const shard = options.shard === undefined ? undefined : parseShard(options.shard, '--commit')
  refuseTogether(options)
  const job = await loadRun(session)
  if (options.dryRun) return showDryRun(session, job)
  const isPart = shard !== undefined || options.commit
  if (isPart && job.backup.continuous) throw together('--shard and --commit', '`backup.continuous`')
  const location = formatLocation(job.storage)
  if (shard) {
    const report = await watchJob(session, shown, hooks => actions.runShardJob(job, shard, hooks, signal))
    session.outcome.note(shardFacts(report))
    await keepReport(session, job, showShard(session, report, location))
    return 0
  }
  const act = options.commit ? actions.commitShardsJob : actions.runBackupJob
  const report = await watchJob(session, shown, hooks =>
    act(job, job.backup.continuous ? tuneCollector(hooks) : hooks, signal),
  )
  session.outcome.note(backupFacts(report))
  session.print(
    () => formatReport(report, location, session.style),
    () => documentOf(report, location),
  )
  await keepReport(session, job, documentOf(report, location))
  return 0
}

/** `--dry-run`, `--shard` and `--commit` exclude each other. */
function refuseTogether({ dryRun, shard, commit, report }: CommandOptions): void {
  if (dryRun && report) throw together('--dry-run', '--report')
  const given = [dryRun && '--dry-run', shard !== undefined && '--shard', commit && '--commit'].filter(
    one => one !== false,
  )
  const [first, second] = given
  if (first && second) throw together(first, second)
}

/** Refuses --new-incarnation with several rounds or shards, because each would start another incarnation. */
async function loadRun(session: Session): Promise<BackupRun> {
  const job = await session.loadBackupJob(session.options.config ?? '')
  const { newIncarnation: newIncarnations, shard, commit } = session.options
  if (newIncarnations.length === 0) return job
  if (shard !== undefined) throw together('--new-incarnation', '--shard')
  if (commit) throw together('--new-incarnation', '--commit')
  if (job.backup.continuous)
    throw together(
      '--new-incarnation',
      '`backup.continuous` (stop it and run once with `--set backup.continuous=false`)',
    )
  return { ...job, newIncarnations }
}

function together(first: string, second: string): KafkaBackupError {
  return new KafkaBackupError('USAGE', `${first} and ${second} exclude each other`)
}

function documentOf(report: BackupReport, location: string) {
  const { manifest, changes, durationMs, copied, newGaps, warnings, reread, rereads } = report
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
    changed: {
      topics: changes.topics,
      schemas: changes.schemas,
      consumer_groups: changes.consumerGroups,
      access: changes.access,
    },
    ...(reread && { reread: { ...reread, topics: rereadDocuments(rereads ?? []) } }),
    totals: totalsOf(topics),
    schemas: schemaTotalsOf(manifest) ?? null,
    ...(manifest.consumer_groups && { consumer_groups: manifest.consumer_groups }),
    ...(manifest.access && { access: manifest.access }),
    gaps: newGaps.map(({ topic, partition, from, to, reason }) => ({ topic, partition, from, to, reason })),
    warnings,
  }
}

function formatReport(report: BackupReport, location: string, style: OutputStyle): string[] {
  const { manifest, durationMs, copied, reread, newGaps, warnings } = report
  const totals = totalsOf(manifest.topics)
  const rate = `${formatBytes(Math.round(copied.bytes / Math.max(durationMs / 1000, 0.001)))}/s`
  const amount = `${plural(copied.records, 'record')}, ${formatBytes(copied.bytes)}`
  const isCopied = copied.records > 0 || copied.bytes > 0
  const changed = changedParts(report.changes)
  const isNew = isCopied || changed.length > 0
  const again = reread && `${plural(reread.records, 'record')}, ${formatBytes(reread.bytes)} of compacted topics`
  const stored = `${formatBytes(totals.stored_bytes)} stored (${formatRatio(totals.bytes, totals.stored_bytes)})`
  const id = manifest.backup_id
  const schemas = schemaTotalsOf(manifest)
  return [
    `${style.good(isNew ? 'Backed up' : 'Nothing new for')} ${style.bold(printable(id))} at ${printable(location)}`,
    ...formatFields(
      [
        ['  Copied', isCopied ? `${amount} in ${formatDuration(durationMs)} (${rate})` : undefined],
        ['  Changed', isNew && !isCopied ? `${changed.join(', ')}; no new records` : undefined],
        ['  Read again', again],
        [
          '  Holds',
          `${plural(totals.topics, 'topic')}, ${plural(totals.partitions, 'partition')}, ${plural(totals.records, 'record')}`,
        ],
        ['  Schemas', schemas && `${plural(schemas.subjects, 'subject')}, ${plural(schemas.versions, 'version')}`],
        ['  Groups', groupsOf(manifest)],
        ['  Access', accessOf(manifest)],
        ['  Size', `${formatBytes(totals.bytes)}, ${stored}`],
        ['  Generation', String(manifest.generation)],
        ['  Warnings', warnings.length === 0 ? undefined : formatCount(warnings.length), style.warn],
      ],
      style,
    ),
    ...formatGaps('New gaps: lost at the source before they could be copied', newGaps, style),
    '',
    `Next: ${style.bold(`kafka-backup verify --path ${shellQuote(location)} --backup-id ${shellQuote(id)}`)}`,
  ]
}

function changedParts({ topics, schemas, consumerGroups, access }: BackupReport['changes']): string[] {
  return [
    ...(topics ? ['topics'] : []),
    ...(schemas ? ['schemas'] : []),
    ...(consumerGroups ? ['committed offsets of consumer groups'] : []),
    ...(access ? ['access rules'] : []),
  ]
}

/** Groups that could not be read, or are not backed up, are reported as warnings. */
function groupsOf({ consumer_groups: section }: BackupReport['manifest']): string | undefined {
  if (section?.state !== 'taken') return undefined
  return `${plural(section.groups, 'consumer group')}, ${plural(section.positions, 'committed offset')}`
}

/** ACLs, quotas and users in one line. */
function accessOf({ access }: BackupReport['manifest']): string | undefined {
  const count = (kind: 'acls' | 'quotas' | 'users', word: string) => {
    const said = access?.[kind]
    return said?.state === 'taken' ? [plural(said.count, word)] : []
  }
  const parts = [...count('acls', 'ACL'), ...count('quotas', 'quota'), ...count('users', 'user')]
  return parts.length === 0 ? undefined : parts.join(', ')
}
