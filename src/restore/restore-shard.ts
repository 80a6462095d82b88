import { fill, note } from './fill.ts'
import { type FoundRestore, findRestore, planWithIds } from './find-restore.ts'
import { openStreams } from './open-streams.ts'
import type { RestorePlan } from './plan.ts'
import { streamKey } from './progress.ts'
import { refuseBlocked } from './refusal.ts'
import {
  filterWarnings,
  idWarnings,
  preflightWarnings,
  type RestoreReport,
  reportGaps,
  reportTopics,
  sumTopics,
} from './report.ts'
import type { RestoreParts } from './restore-backup.ts'
import type { RestoreOptions } from './restore-options.ts'
import { TopicTimes } from './restore-records.ts'
import { withRestoredIds } from './schema-step.ts'
import {
  findUnprepared,
  isFilledStream,
  planOwn,
  type RestoreShard,
  refuseUnprepared,
  type Sharing,
  unprepared,
  withOwnLegs,
} from './shard-plan.ts'
import type { Stream } from './stream.ts'
import { surveyRecords } from './survey-records.ts'

export interface RestoreShardReport extends Omit<RestoreReport, 'isDone' | 'verification'> {
  shard: RestoreShard
}

export interface ShardRun {
  shard: RestoreShard
  version: string
  /** Waits for `restore --prepare` instead of refusing. */
  waits?: boolean
}

/**
 * Writes the records of one shard's partitions, and nothing else. Progress is noted on the target as by a restore with one
 * process: the same shard run again continues, and of two at the same time the one that started later does.
 */
export async function restoreShard(
  { records: wanted }: { records: RestoreOptions },
  run: ShardRun,
  parts: RestoreParts,
  signal: AbortSignal,
): Promise<RestoreShardReport> {
  const startedAt = parts.clock.monotonic()
  const sharing = { count: run.shard.count, version: run.version, existingTopics: wanted.existingTopics }
  const found = await (run.waits ? awaitPrepared : findRestore)(wanted, parts, signal, sharing)
  refuseUnprepared(found.plan, found.progress, sharing, found.restoreId)
  // `planWithIds` compares them with those of the preparation.
  const options = await withRestoredIds(wanted, found, parts.schemas, parts.storage, signal)
  const filled = await fillOwn(found, planWithIds(found, options), options, run, parts, signal)
  const { own, streams, times } = filled
  const survey = {
    plan: own,
    progress: found.progress,
    preflight: { existing: namesOf(own), findings: [], ends: new Map() },
  }
  const topics = reportTopics(survey, streams, topic => times.durationOf(topic))
  const unknown = idWarnings(topics, own)
  for (const message of unknown) parts.onProgress({ type: 'warning', message })
  return {
    restoreId: found.restoreId,
    backupId: own.backupId,
    generation: own.generation,
    generationCreatedAt: own.generationCreatedAt,
    shard: run.shard,
    wasComplete: streams.length === 0,
    durationMs: parts.clock.monotonic() - startedAt,
    topics,
    totals: sumTopics(topics),
    gaps: reportGaps(own.topics.map(withOwnLegs)),
    warnings: [...filled.warnings, ...unknown, ...filterWarnings(own.filter)],
    ...(own.filter && { filter: { ...own.filter.counts } }),
  }
}

const POLL_MS = 2000
const REPEAT_MS = 60_000
/** Longer than a preparation takes that replaces notes. */
const MAX_WAIT_MS = 3_600_000

/**
 * Until the notes of a preparation for as many shards by the same version are on the target. Notes that stay others are not waited for without end: in
 * a Job whose shard 0 is done, as when a topic was deleted since, nothing prepares the restore again.
 */
async function awaitPrepared(
  options: RestoreOptions,
  parts: RestoreParts,
  signal: AbortSignal,
  sharing: Sharing,
): Promise<FoundRestore> {
  let told = { message: '', atMs: 0 }
  let notedAtMs: number | undefined
  for (;;) {
    const found = await findRestore(options, parts, signal)
    const problem = findUnprepared(found.plan, found.progress, sharing)
    if (problem === undefined) return found
    const message = `waiting for shard 0 to prepare the restore ${found.restoreId}: ${problem}`
    const nowMs = parts.clock.monotonic()
    notedAtMs = found.progress ? (notedAtMs ?? nowMs) : undefined
    if (notedAtMs !== undefined && nowMs - notedAtMs >= MAX_WAIT_MS)
      throw unprepared(found.restoreId, problem, sharing.count)
    if (message !== told.message || nowMs - told.atMs >= REPEAT_MS) {
      parts.onProgress({ type: 'waiting', message })
      told = { message, atMs: nowMs }
    }
    await parts.clock.sleep(POLL_MS, signal)
  }
}

async function fillOwn(
  found: FoundRestore,
  whole: RestorePlan,
  options: RestoreOptions,
  { shard }: ShardRun,
  parts: RestoreParts,
  signal: AbortSignal,
): Promise<{ own: RestorePlan; streams: Stream[]; times: TopicTimes; warnings: string[] }> {
  const { progress, restoreId } = found
  const times = new TopicTimes(parts.clock.monotonic)
  const own = progress ? planOwn(whole, progress, shard.index) : { ...whole, topics: [] }
  const isOpen = ({ name, streams }: RestorePlan['topics'][number]) =>
    streams.some(({ partition }) => !isFilledStream(progress?.streams.get(streamKey({ topic: name, partition }))))
  if (!own.topics.some(isOpen)) return { own, streams: [], times, warnings: [] }
  const survey = await surveyRecords(found, own, options, parts, signal)
  refuseBlocked(survey.preflight.findings)
  // Some may be new since the preparation, such as the age of records.
  const warnings = preflightWarnings(survey.preflight)
  for (const message of warnings) parts.onProgress({ type: 'warning', message })
  const missing = own.topics.find(({ name }) => !survey.preflight.existing.has(name))
  // A shard creates no topics: the preparation decides what they look like.
  if (missing) throw unprepared(restoreId, `topic ${missing.name} was deleted since it was prepared`, shard.count)
  const { streams, mark } = await openStreams(options, survey, parts, signal)
  const open = streams.filter(stream => !isFilledStream(stream.progress))
  const onProgress: RestoreParts['onProgress'] = event => {
    times.add(event)
    parts.onProgress(event)
  }
  await fill(options, { restoreId, mark }, open, { ...parts, onProgress }, signal)
  await note(parts, restoreId, mark, open, signal, { isFilled: false, isDone: false, isFilledByShard: true })
  return { own: survey.plan, streams, times, warnings }
}

function namesOf({ topics }: RestorePlan): Set<string> {
  return new Set(topics.map(({ name }) => name))
}
