import type { RestoreJob } from '../../config/load-job.ts'
import { KafkaBackupError } from '../../errors.ts'
import { formatBytes, formatCount, formatDuration } from '../../lib/units.ts'
import type { PreparedRestore } from '../../restore/prepare-restore.ts'
import { MAX_SHARDS } from '../../restore/progress.ts'
import type { RestoreShardReport } from '../../restore/restore-shard.ts'
import type { RestoreShard } from '../../restore/shard-plan.ts'
import { formatLocation } from '../../storage/location.ts'
import type { CommandOptions } from '../option-specs.ts'
import { preparedFacts, restoreShardFacts } from '../result/data-facts.ts'
import type { Session } from '../session.ts'
import { formatFields, formatTable } from '../table.ts'
import { formatInstant, plural, printable } from '../text.ts'
import { sameCommand } from './follow-up.ts'
import { formatWarnings } from './gap-table.ts'
import { keepReport } from './keep-report.ts'
import { amountsDocument, filterDocument } from './restore-report.ts'
import { formatTopics } from './restored-topics.ts'
import { schemaDocument } from './schema-report.ts'
import { parseShard } from './shard.ts'
import { watchJob } from './watch.ts'

/** The step of a restore that several processes share; `whole` is a restore with one process. */
export type RestoreStep =
  | { step: 'whole' | 'finish' }
  | { step: 'prepare'; count: number }
  | { step: 'shard'; shard: RestoreShard; prepares: boolean }

/** Pure. Which step the options ask for. */
export function planStep(options: CommandOptions): RestoreStep {
  const { prepare, shards, shard, finish, dryRun, report } = options
  refuseProbe(options)
  refuseTogether([dryRun && '--dry-run', report && '--report'])
  refuseTogether([dryRun && '--dry-run', prepare && '--prepare'])
  refuseTogether([
    dryRun && '--dry-run',
    finish && '--finish',
    shards !== undefined && '--shards',
    shard !== undefined && '--shard',
  ])
  refuseTogether([finish && '--finish', prepare && '--prepare'])
  if (finish) return { step: 'finish' }
  if (shard !== undefined) {
    const own = parseShard(shard, '--finish')
    refuseMany(own.count, '--shard')
    return { step: 'shard', shard: own, prepares: prepare }
  }
  if (!prepare && shards === undefined) return { step: 'whole' }
  if (!prepare) throw usage('--shards belongs to --prepare', prepareHelp)
  if (shards === undefined) throw usage('--prepare needs the number of shards', prepareHelp)
  if (!/^[1-9]\d{0,5}$/.test(shards)) throw usage(`--shards \`${shards}\` is not a number of shards`, prepareHelp)
  refuseMany(Number(shards), '--shards')
  return { step: 'prepare', count: Number(shards) }
}

/** The estimate is one of the whole restore with one process. */
function refuseProbe({ probe, probeTarget, prepare, shard, finish }: CommandOptions): void {
  const wanted = probeTarget ? '--probe-target' : probe && '--probe'
  for (const step of [prepare && '--prepare', shard !== undefined && '--shard', finish && '--finish']) {
    refuseTogether([wanted, step])
  }
}

const prepareHelp =
  'For four shards: `restore --prepare --shards 4`, then `--shard 0/4` to `--shard 3/4`, then `--finish`.'

function refuseMany(count: number, option: string): void {
  if (count > MAX_SHARDS) throw usage(`${option}: a restore has at most ${MAX_SHARDS} shards`)
}

function refuseTogether(given: readonly (string | false | undefined)[]): void {
  const [first, second] = given.filter(one => one)
  if (first && second) throw usage(`${first} and ${second} exclude each other`)
}

function usage(message: string, help?: string): KafkaBackupError {
  return new KafkaBackupError('USAGE', message, help === undefined ? {} : { help })
}

export async function runPrepare(session: Session, job: RestoreJob, count: number): Promise<number> {
  const { actions, signal } = session
  const shown = { label: 'restore', preparing: 'preparing the target' }
  const report = await watchJob(session, shown, hooks => actions.prepareRestoreJob(job, count, hooks, signal))
  session.outcome.note(preparedFacts(report))
  const document = preparedDocument(report, formatLocation(job.storage))
  session.print(
    () => formatPrepared(report, job, session),
    () => document,
  )
  await keepReport(session, job, document)
  return 0
}

export async function runShard(
  session: Session,
  job: RestoreJob,
  request: { shard: RestoreShard; prepares: boolean },
): Promise<number> {
  const { actions, signal } = session
  const { index, count } = request.shard
  const shown = { label: `shard ${index}/${count}`, preparing: 'checking the backup and the target' }
  const report = await watchJob(session, shown, hooks => actions.restoreShardJob(job, request, hooks, signal))
  session.outcome.note(restoreShardFacts(report))
  const document = shardDocument(report, formatLocation(job.storage))
  session.print(
    () => formatShard(report, job, session),
    () => document,
  )
  await keepReport(session, job, document)
  return 0
}

function preparedDocument(report: PreparedRestore, location: string) {
  const { restoreId, backupId, generation, durationMs, wasPrepared, wasComplete, topics, shards, warnings } = report
  return {
    restore_id: restoreId,
    backup_id: backupId,
    location,
    generation,
    generation_created_at: report.generationCreatedAt,
    already_prepared: wasPrepared,
    already_complete: wasComplete,
    duration_ms: Math.round(durationMs),
    topics,
    shards: shards.map((share, shard) => ({ shard, ...share })),
    schemas: report.schemas ? schemaDocument(report.schemas) : null,
    warnings,
  }
}

function shardDocument(report: RestoreShardReport, location: string) {
  const { restoreId, backupId, generation, shard, wasComplete, durationMs, topics, totals, gaps, warnings } = report
  return {
    restore_id: restoreId,
    backup_id: backupId,
    location,
    generation,
    generation_created_at: report.generationCreatedAt,
    shard: shard.index,
    shards: shard.count,
    already_complete: wasComplete,
    duration_ms: Math.round(durationMs),
    topics: topics.map(({ source, target, origin, durationMs: ms, ...amounts }) => ({
      source,
      target,
      ...amountsDocument(amounts),
      duration_ms: Math.round(ms),
    })),
    totals: { topics: totals.topics, ...amountsDocument(totals) },
    gaps,
    warnings,
    ...(report.filter && { filter: filterDocument(report.filter) }),
  }
}

function formatPrepared(report: PreparedRestore, job: RestoreJob, session: Session): string[] {
  const { style } = session
  const { backupId, restoreId, generation, wasPrepared, wasComplete, topics, shards, warnings } = report
  const from = `${style.bold(printable(backupId))} from ${printable(formatLocation(job.storage))}`
  const done = wasComplete ? 'Already complete:' : wasPrepared ? 'Already prepared:' : 'Prepared'
  const last = shards.length - 1
  const command = sameCommand('restore', session)
  return [
    `${style.good(done)} the restore of ${from}`,
    ...formatFields(
      [
        [
          '  Into',
          `${plural(topics, 'topic')}, ${plural(
            sum(shards, one => one.partitions),
            'partition',
          )}`,
        ],
        ['  Generation', `${generation}, committed ${formatInstant(report.generationCreatedAt)}`],
        ['  Restore ID', restoreId],
      ],
      style,
    ),
    '',
    ...formatTable(
      [
        { title: 'SHARD', cell: row => `${row.shard}/${shards.length}` },
        { title: 'PARTITIONS', align: 'right', cell: row => formatCount(row.partitions) },
        { title: 'RECORDS', align: 'right', cell: row => formatCount(row.records) },
        { title: 'BYTES', align: 'right', cell: row => formatBytes(row.bytes) },
      ],
      shards.map((share, shard) => ({ shard, ...share })),
      style,
    ),
    ...formatWarnings(warnings.map(printable), style),
    ...(wasComplete
      ? []
      : [
          '',
          `Next, anywhere: ${style.bold(`${command} --shard 0/${shards.length}`)} to ${style.bold(`--shard ${last}/${shards.length}`)}, then ${style.bold(`${command} --finish`)}`,
        ]),
  ]
}

function formatShard(report: RestoreShardReport, job: RestoreJob, session: Session): string[] {
  const { style } = session
  const { backupId, restoreId, generation, shard, wasComplete, durationMs, topics, totals, warnings } = report
  const from = `${style.bold(printable(backupId))} from ${printable(formatLocation(job.storage))}`
  const amount = `${plural(totals.records, 'record')}, ${formatBytes(totals.bytes)} in ${formatDuration(durationMs)}`
  const command = `${sameCommand('restore', session)} --finish`
  return [
    `${style.good(wasComplete ? 'Already complete:' : 'Restored')} shard ${shard.index} of ${shard.count} of ${from}`,
    ...formatFields(
      [
        ['  Wrote', wasComplete ? 'nothing: no records are left for this shard' : amount],
        [
          '  Found',
          totals.found === 0 ? undefined : `${plural(totals.found, 'record')} of earlier runs, not written again`,
        ],
        ['  Into', `${plural(totals.topics, 'topic')}, ${plural(totals.partitions, 'partition')}`],
        ['  Generation', `${generation}, committed ${formatInstant(report.generationCreatedAt)}`],
        ['  Restore ID', restoreId],
      ],
      style,
    ),
    ...(wasComplete || topics.length === 0 ? [] : ['', ...formatTopics(report, style)]),
    ...formatWarnings(warnings.map(printable), style),
    '',
    `When all shards are done: ${style.bold(command)}`,
  ]
}

function sum<T>(all: readonly T[], pick: (one: T) => number): number {
  return all.reduce((total, one) => total + pick(one), 0)
}
