import type { OnProgress, ProgressEvent } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import { type CompareReport, compareRestore, hasDifferences, joinComparisons } from './compare.ts'
import { type FillParts, fill, note, type Writing } from './fill.ts'
import { locateSurveyed } from './locate-restore.ts'
import { openStreams } from './open-streams.ts'
import type { PlannedTopic } from './plan.ts'
import { applySettings, type OnTopicsCreated } from './prepare-topics.ts'
import { type RestoreProgress, streamKey } from './progress.ts'
import {
  filterWarnings,
  idWarnings,
  preflightWarnings,
  type RestoreReport,
  reportGaps,
  reportTopics,
  sumTopics,
} from './report.ts'
import type { Stream } from './stream.ts'
import type { RecordsSurvey } from './survey-records.ts'
import type { OnTopic } from './topic-finisher.ts'

export interface RecordParts extends Omit<FillParts, 'onTopicFilled'> {
  storage: Storage
  /** Of the program. */
  version: string
  /** Called when the topics are created, before the first record is written. */
  onTopicsCreated?: OnTopicsCreated
  /** Called when a topic is restored, and equals the backup where the job asks for a comparison, while others are filled. */
  onTopicRestored?: OnTopic
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
  const warnings = wasComplete ? done : [...plan.warnings, ...preflightWarnings(preflight)]
  for (const message of warnings) parts.onProgress({ type: 'warning', message })
  const times = new TopicTimes(parts.clock.monotonic)
  const onProgress: OnProgress = event => {
    times.add(event)
    parts.onProgress(event)
  }
  const written = wasComplete
    ? { streams: [], isDone: true, ...(await verify(survey, parts, signal, { ends: endsOf(survey.progress) })) }
    : await writeRecords(survey, { ...parts, onProgress }, signal)
  const { streams, isDone, verification, writing, refused = [] } = written
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
    warnings: [...warnings, ...refused, ...unknown, ...filterWarnings(plan.filter)],
    ...(plan.filter && { filter: { ...plan.filter.counts } }),
    ...(verification && { verification }),
    ...(writing && { writing }),
  }
}

interface WrittenRecords {
  streams: Stream[]
  isDone: boolean
  writing?: Writing
  verification?: CompareReport
  /** Settings that the target refused. */
  refused?: string[]
}

async function writeRecords(survey: RecordsSurvey, parts: RecordParts, signal: AbortSignal): Promise<WrittenRecords> {
  const { options, restoreId } = survey
  const { streams, mark } = await openStreams(options, survey, parts, signal)
  // What an earlier run has filled may have its settings and its writers by now, although the rest was deleted since.
  const unfilled = streams.filter(stream => !stream.progress.isFilled)
  const compared: CompareReport[] = []
  let writing: Writing | undefined
  if (unfilled.length > 0) {
    const filling = { ...parts, ...whenFilled(survey, streams, compared, parts) }
    writing = await fill(options, { restoreId, mark }, unfilled, filling, signal)
    await note(parts, restoreId, mark, unfilled, signal, { isFilled: true, isDone: false })
  }
  // Before settings are applied: they let retention and compaction remove records.
  const verified = await verify(survey, parts, signal, { compared, ends: endsOf(survey.progress) })
  const written = { streams, ...(writing && { writing }), ...verified }
  const undone = listUndone(survey)
  // What differs in a topic that is complete and in use stays so, and is reported.
  const isOpen = (target: string) => undone.some(({ name }) => name === target)
  if (verified.verification && hasDifferences(verified.verification, isOpen)) return { ...written, isDone: false }
  // From here on the topics may have settings, and writers, that a replay could not continue with.
  const made = new Set(streams.filter(({ progress }) => progress.isMade).map(({ topic }) => topic))
  const refused = await applySettings(parts.cluster, undone, made, signal)
  for (const message of refused) parts.onProgress({ type: 'warning', message })
  await note(parts, restoreId, mark, streams, signal, { isFilled: true, isDone: true })
  return { ...written, isDone: true, refused }
}

/**
 * A topic that something follows for is compared at once, where the job asks for it, and not again at the end. One that an earlier run
 * has noted as filled in part waits for the end: its groups could be noted only on the partitions that this run fills.
 */
function whenFilled(
  survey: RecordsSurvey,
  streams: readonly Stream[],
  compared: CompareReport[],
  { onTopicRestored, ...parts }: RecordParts,
): Pick<FillParts, 'onTopicFilled'> {
  if (!onTopicRestored) return {}
  const filledBefore = new Set(streams.filter(({ progress }) => progress.isFilled).map(({ topic }) => topic))
  return {
    onTopicFilled: async (topic, noteGiven, signal) => {
      if (filledBefore.has(topic)) return
      if (survey.options.verify) {
        // Records of other topics are still written: what they count must not be taken for theirs.
        const quiet = { ...parts, onProgress: () => undefined }
        const report = await compareTopics(survey, name => name === topic, quiet, signal)
        compared.push(report)
        if (!report.ok) return
      }
      await onTopicRestored(topic, noteGiven, signal)
    },
  }
}

interface VerifyOptions {
  /** What comes behind these offsets of the target is not compared. */
  ends?: ReadonlyMap<string, bigint>
  /** Of topics that are not compared again. */
  compared?: readonly CompareReport[]
}

/** Compares the target with the backup, where the job asks for it. */
async function verify(
  survey: RecordsSurvey,
  parts: RecordParts,
  signal: AbortSignal,
  { ends, compared = [] }: VerifyOptions,
): Promise<{ verification?: CompareReport }> {
  if (!survey.options.verify) return {}
  const known = new Set(compared.flatMap(({ topics }) => topics.map(({ target }) => target)))
  const isAll = compared.length > 0 && survey.plan.topics.every(({ name }) => known.has(name))
  const rest = isAll
    ? []
    : [await compareTopics(survey, name => !known.has(name), { ...parts, ...(ends && { ends }) }, signal)]
  const verification = joinComparisons(survey.plan, [...compared, ...rest])
  return verification ? { verification } : {}
}

async function compareTopics(
  survey: RecordsSurvey,
  isWanted: (topic: string) => boolean,
  parts: Omit<Parameters<typeof compareRestore>[1], 'maxDifferences'>,
  signal: AbortSignal,
): Promise<CompareReport> {
  const located = await locateSurveyed(survey, parts, signal)
  const topics = located.plan.topics.filter(({ name }) => isWanted(name))
  return compareRestore({ ...located, plan: { ...located.plan, topics } }, parts, signal)
}

/** Where an earlier run has completed partitions: they are in use by now, and have later records. */
function endsOf(progress: RestoreProgress | undefined): Map<string, bigint> {
  const done = [...(progress?.streams ?? [])].filter(([, { isDone }]) => isDone)
  return new Map(done.map(([key, { targetOffset }]) => [key, targetOffset]))
}

/** Without those that an earlier run has completed, where others were deleted since: users may have changed their settings. */
function listUndone({ plan, progress }: RecordsSurvey): PlannedTopic[] {
  const isDone = ({ name, streams }: PlannedTopic) =>
    streams.length > 0 &&
    streams.every(({ partition }) => progress?.streams.get(streamKey({ topic: name, partition }))?.isDone)
  return plan.topics.filter(topic => !isDone(topic))
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
