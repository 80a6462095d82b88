import { describeFinding } from '../observe/finding.ts'
import type { OnProgress, ProgressEvent } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import { type CompareReport, compareRestore } from './compare.ts'
import { type FillParts, fill, note } from './fill.ts'
import { locateSurveyed } from './locate-restore.ts'
import { openStreams } from './open-streams.ts'
import { applySettings } from './prepare-topics.ts'
import type { RestoreProgress } from './progress.ts'
import { idWarnings, type RestoreReport, reportGaps, reportTopics, sumTopics } from './report.ts'
import type { Stream } from './stream.ts'
import type { RecordsSurvey } from './survey-records.ts'

export interface RecordParts extends FillParts {
  storage: Storage
}

/**
 * Creates topics, writes their records and applies their settings. Progress is written to the target: the next run
 * continues a killed one, without losing a record or writing one twice.
 */
export async function restoreRecords(
  survey: RecordsSurvey,
  parts: RecordParts,
  signal: AbortSignal,
): Promise<RestoreReport> {
  const startedAt = parts.clock.monotonic()
  const { plan, preflight, isComplete: wasComplete } = survey
  // The topics of a complete restore are in use by now, so that only newer generations of the backup are reported.
  const done = plan.notice === undefined ? [] : [plan.notice]
  const warnings = wasComplete ? done : [...plan.warnings, ...preflight.findings.map(describeFinding)]
  for (const message of warnings) parts.onProgress({ type: 'warning', message })
  const times = new TopicTimes(parts.clock.monotonic)
  const onProgress: OnProgress = event => {
    times.add(event)
    parts.onProgress(event)
  }
  const written = wasComplete
    ? { streams: [], isDone: true, ...(await verify(survey, parts, signal, endsOf(survey.progress))) }
    : await writeRecords(survey, { ...parts, onProgress }, signal)
  const { streams, isDone, verification, refused = [] } = written
  const topics = reportTopics(survey, streams, topic => times.durationOf(topic))
  const unknown = idWarnings(topics, plan)
  for (const message of unknown) parts.onProgress({ type: 'warning', message })
  return {
    restoreId: survey.restoreId,
    backupId: plan.backupId,
    generation: plan.generation,
    generationCreatedAt: plan.generationCreatedAt,
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

interface WrittenRecords {
  streams: Stream[]
  isDone: boolean
  verification?: CompareReport
  /** Settings that the target refused. */
  refused?: string[]
}

async function writeRecords(survey: RecordsSurvey, parts: RecordParts, signal: AbortSignal): Promise<WrittenRecords> {
  const { options, plan, restoreId } = survey
  const { streams, mark } = await openStreams(options, survey, parts, signal)
  // What an earlier run has filled may have its settings and its writers by now, although the rest was deleted since.
  const unfilled = streams.filter(stream => !stream.progress.isFilled)
  if (unfilled.length > 0) {
    await fill(options, { restoreId, mark }, unfilled, parts, signal)
    await note(parts, restoreId, mark, streams, signal, { isFilled: true, isDone: false })
  }
  // Before settings are applied: they let retention and compaction remove records.
  const verified = await verify(survey, parts, signal)
  if (verified.verification?.ok === false) return { streams, isDone: false, ...verified }
  // From here on the topics may have settings, and writers, that a replay could not continue with.
  const made = new Set(streams.filter(({ progress }) => progress.isMade).map(({ topic }) => topic))
  const refused = await applySettings(parts.cluster, plan.topics, made, signal)
  for (const message of refused) parts.onProgress({ type: 'warning', message })
  await note(parts, restoreId, mark, streams, signal, { isFilled: true, isDone: true })
  return { streams, isDone: true, refused, ...verified }
}

/** Compares the target with the backup, where the job asks for it. */
async function verify(
  survey: RecordsSurvey,
  parts: RecordParts,
  signal: AbortSignal,
  ends?: ReadonlyMap<string, bigint>,
): Promise<{ verification?: CompareReport }> {
  if (!survey.options.verify) return {}
  const located = await locateSurveyed(survey, parts, signal)
  return { verification: await compareRestore(located, { ...parts, ...(ends && { ends }) }, signal) }
}

/** Where the restore ended: topics that are in use by now have later records. */
function endsOf(progress: RestoreProgress | undefined): Map<string, bigint> {
  return new Map([...(progress?.streams ?? [])].map(([key, { targetOffset }]) => [key, targetOffset]))
}

/** How long each topic was worked on, as the events tell it. */
export class TopicTimes {
  readonly #now: () => number
  readonly #spans = new Map<string, { first: number; last: number }>()

  constructor(now: () => number) {
    this.#now = now
  }

  add(event: ProgressEvent): void {
    if (event.type !== 'begun' && event.type !== 'copied') return
    const now = this.#now()
    const span = this.#spans.get(event.topic)
    if (!span) this.#spans.set(event.topic, { first: now, last: now })
    else if (event.type === 'copied') span.last = now
  }

  /** From the begin of its first partition to the last batch of any. */
  durationOf(topic: string): number {
    const { first, last } = this.#spans.get(topic) ?? { first: 0, last: 0 }
    return last - first
  }
}
