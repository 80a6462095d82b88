import { describeFinding } from '../observe/finding.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import { type CompareReport, compareRestore } from './compare.ts'
import { type FillParts, fill, note } from './fill.ts'
import { openStreams } from './open-streams.ts'
import type { RestoreOptions } from './options.ts'
import { isComplete, type Prepared, prepareRestore } from './prepare-restore.ts'
import { applySettings } from './prepare-topics.ts'
import type { RestoreProgress } from './progress.ts'
import { idWarnings, type RestoreReport, reportGaps, reportTopics, sumTopics } from './report.ts'
import type { Stream } from './stream.ts'
import { TopicTimes } from './topic-times.ts'

export interface RestoreParts extends FillParts {
  storage: Storage
}

/**
 * Puts a backup back. What it has done is noted on the target, so that a run that was killed is gone on with by the next
 * one, without a record lost or written twice.
 */
export async function runRestore(
  options: RestoreOptions,
  parts: RestoreParts,
  signal: AbortSignal,
): Promise<RestoreReport> {
  const startedAt = parts.clock.monotonic()
  const prepared = await prepareRestore(options, parts, signal)
  const { plan, progress, preflight } = prepared
  const wasComplete = isComplete(plan, progress)
  // Of a restore that is done nothing is judged: its topics are in use by now. That the backup has gone on is told.
  const done = plan.notice === undefined ? [] : [plan.notice]
  const warnings = wasComplete ? done : [...plan.warnings, ...preflight.findings.map(describeFinding)]
  for (const message of warnings) parts.onProgress({ type: 'warning', message })
  const times = new TopicTimes(parts.clock.monotonic)
  const onProgress: OnProgress = event => {
    times.add(event)
    parts.onProgress(event)
  }
  const outcome = wasComplete
    ? { streams: [], isDone: true, ...(await verify(options, parts, signal, endsOf(progress))) }
    : await restore(options, prepared, { ...parts, onProgress }, signal)
  const { streams, isDone, verification, refused = [] } = outcome
  const topics = reportTopics(prepared, streams, topic => times.durationOf(topic))
  const unknown = idWarnings(topics, plan)
  for (const message of unknown) parts.onProgress({ type: 'warning', message })
  return {
    restoreId: prepared.restoreId,
    backupId: plan.backupId,
    generation: plan.generation,
    wasComplete,
    isDone,
    durationMs: parts.clock.monotonic() - startedAt,
    topics,
    totals: sumTopics(topics),
    gaps: reportGaps(plan.topics),
    warnings: [...warnings, ...refused, ...unknown],
    ...(verification && { verification }),
  }
}

interface Outcome {
  streams: Stream[]
  isDone: boolean
  verification?: CompareReport
  /** Settings that the target did not take. */
  refused?: string[]
}

async function restore(
  options: RestoreOptions,
  prepared: Prepared,
  parts: RestoreParts,
  signal: AbortSignal,
): Promise<Outcome> {
  const { plan, restoreId } = prepared
  const { streams, mark } = await openStreams(options, prepared, parts, signal)
  // What an earlier run has filled may have its settings and its writers by now, though the rest was deleted since.
  const unfilled = streams.filter(stream => !stream.progress.isFilled)
  if (unfilled.length > 0) {
    await fill(options, { restoreId, mark }, unfilled, parts, signal)
    await note(parts, restoreId, mark, streams, signal, { isFilled: true, isDone: false })
  }
  // Now or never: the settings that were held back let retention and compaction loose.
  const verified = await verify(options, parts, signal)
  if (verified.verification?.ok === false) return { streams, isDone: false, ...verified }
  // From here on the topics may have settings, and writers, that a replay could not go on with.
  const made = new Set(streams.filter(({ progress }) => progress.isMade).map(({ topic }) => topic))
  const refused = await applySettings(parts.cluster, plan.topics, made, signal)
  for (const message of refused) parts.onProgress({ type: 'warning', message })
  await note(parts, restoreId, mark, streams, signal, { isFilled: true, isDone: true })
  return { streams, isDone: true, refused, ...verified }
}

/** Nothing where the job does not ask for it. */
async function verify(
  options: RestoreOptions,
  parts: RestoreParts,
  signal: AbortSignal,
  ends?: ReadonlyMap<string, bigint>,
): Promise<{ verification?: CompareReport }> {
  if (!options.verify) return {}
  return { verification: await compareRestore(options, { ...parts, ...(ends && { ends }) }, signal) }
}

/** Where it ended: topics that are in use by now go on behind it. */
function endsOf(progress: RestoreProgress | undefined): Map<string, bigint> {
  return new Map([...(progress?.streams ?? [])].map(([key, { targetOffset }]) => [key, targetOffset]))
}
