import { KafkaBackupError } from '../errors.ts'
import { describeFinding } from '../observe/finding.ts'
import type { CarryPlan } from '../offsets/carry-plan.ts'
import type { SchemaReport } from '../registry/restore/schema-report.ts'
import { expectStream } from './expected.ts'
import { claim } from './fill.ts'
import { startOf } from './legs.ts'
import { openStreams } from './open-streams.ts'
import { isUntouched, type RestoreProgress, readProgress, type ShardPin, streamKey } from './progress.ts'
import { beginRestore, type RestoreParts } from './restore-backup.ts'
import { assignShards, findUnprepared, isSamePin, type Sharing, unprepared } from './shard-plan.ts'
import type { Stream } from './stream.ts'
import type { RecordsSurvey } from './survey-records.ts'
import { type RestoreRequest, surveyRestore } from './survey-restore.ts'

export interface PreparedRestore {
  restoreId: string
  backupId: string
  generation: number
  /** When the generation was committed. */
  generationCreatedAt: string
  durationMs: number
  /** An earlier run had prepared it for as many shards: nothing was changed on the target cluster. */
  wasPrepared: boolean
  /** An earlier run had finished the restore. */
  wasComplete: boolean
  topics: number
  /** What each shard writes, by its number; about so many records and bytes. */
  shards: ShardShare[]
  schemas?: SchemaReport
  warnings: string[]
}

interface ShardShare {
  partitions: number
  records: number
  bytes: number
}

/**
 * Everything of a restore that is done once before shards write records: refuses a blocked restore, registers the schemas,
 * creates the topics, and notes on the target the generation, the plan with its schema IDs, the producer and the shard of
 * each partition. Run again, also while shards are at work, it changes only what is missing.
 */
export async function prepareRestore(
  request: RestoreRequest,
  { count, version }: Pick<Sharing, 'count' | 'version'>,
  parts: RestoreParts,
  signal: AbortSignal,
): Promise<PreparedRestore> {
  const startedAt = parts.clock.monotonic()
  const sharing = { count, version, existingTopics: request.records.existingTopics }
  const survey = await surveyRestore(request, parts, signal)
  refuseMixed(survey.records, sharing)
  const pins = assignShards(survey.records.plan, sharing, survey.records.options)
  const { schemas, records } = await beginRestore(survey, parts, signal)
  const { plan, progress, preflight, isComplete } = records
  const found = isComplete
    ? []
    : [...plan.warnings, ...preflight.findings.map(describeFinding), ...releaseWarnings(survey.groups.plan)]
  for (const message of found) parts.onProgress({ type: 'warning', message })
  const wasPrepared = isComplete || (progress !== undefined && findUnprepared(plan, progress, sharing) === undefined)
  if (!wasPrepared) await pinStreams(records, pins, sharing, parts, signal)
  return {
    restoreId: records.restoreId,
    backupId: plan.backupId,
    generation: plan.generation,
    generationCreatedAt: plan.generationCreatedAt,
    durationMs: parts.clock.monotonic() - startedAt,
    wasPrepared,
    wasComplete: isComplete,
    topics: plan.topics.length,
    shards: sharesOf(records, wasPrepared ? notedPins(progress, pins, sharing) : pins, sharing),
    ...(schemas && { schemas: schemas.report }),
    warnings: [
      ...(schemas?.warnings ?? []),
      ...found,
      ...survey.groups.findings.map(describeFinding),
      ...(survey.access?.plan.findings ?? []).map(describeFinding),
    ],
  }
}

/** Pure. No shard knows when the others are done with a topic. */
export function releaseWarnings({ groups, release }: Pick<CarryPlan, 'groups' | 'release'>): string[] {
  if (release !== 'per_topic' || groups.length === 0) return []
  return [
    'restore.consumer_groups.release: per_topic has no effect with shards: `restore --finish` commits the offsets of all groups',
  ]
}

/** Two preparations at once may have noted two producers. What neither has written yet can be noted again. */
function refuseMixed({ progress, restoreId }: RecordsSurvey, { count }: Sharing): void {
  if (!progress?.isMixed || [...progress.streams.values()].every(isUntouched)) return
  const problem = 'two processes have begun it at the same time, and both have written records'
  throw unprepared(restoreId, `${problem}; delete its topics on the target`, count)
}

async function pinStreams(
  survey: RecordsSurvey,
  pins: ReadonlyMap<string, ShardPin>,
  sharing: Sharing,
  parts: RestoreParts,
  signal: AbortSignal,
): Promise<void> {
  const { options, plan, restoreId, progress } = survey
  const { streams, mark } = await openStreams(options, survey, parts, signal, pins)
  // Shards that are at work end where their notes are replaced, so that notes that fit stay as they are.
  const stale = streams.filter(stream => !isPinned(progress, stream))
  if (stale.length > 0) await claim(parts, restoreId, mark, stale, signal)
  const names = new Set(plan.topics.map(({ name }) => name))
  const problem = findUnprepared(plan, await readProgress(parts.cluster, restoreId, names, signal), sharing)
  if (problem === undefined) return
  throw new KafkaBackupError('RESTORE_CONFLICT', `another process has changed the restore ${restoreId}: ${problem}`, {
    help: 'Let the other process finish. When there is none any more, run the same command again.',
  })
}

/** One that is filled needs no shard, and may have its settings and its writers by now. */
function isPinned(progress: RestoreProgress | undefined, stream: Stream): boolean {
  const noted = progress?.streams.get(streamKey(stream))
  if (!noted || progress?.isMixed) return false
  return noted.isFilled || isSamePin(noted.shard, stream.progress.shard)
}

/** Where nothing was noted: the shards that the earlier run has chosen. Another `restore.order` would choose others. */
function notedPins(
  progress: RestoreProgress | undefined,
  pins: ReadonlyMap<string, ShardPin>,
  { count }: Sharing,
): ReadonlyMap<string, ShardPin> {
  const noted = (key: string) => progress?.streams.get(key)?.shard
  return new Map([...pins].map(([key, pin]) => [key, noted(key)?.count === count ? (noted(key) ?? pin) : pin]))
}

function sharesOf(
  { plan, options }: RecordsSurvey,
  pins: ReadonlyMap<string, ShardPin>,
  { count }: Sharing,
): ShardShare[] {
  const shares = Array.from({ length: count }, () => ({ partitions: 0, records: 0, bytes: 0 }))
  for (const { name, streams } of plan.topics) {
    for (const stream of streams) {
      const pin = pins.get(streamKey({ topic: name, partition: stream.partition }))
      const share = pin && shares[pin.index]
      if (!share) continue
      const { records, bytes } = expectStream(stream, startOf(stream), options.timeWindow)
      share.partitions++
      share.records += records
      share.bytes += bytes
    }
  }
  return shares
}
