import type { Storage } from '../storage/storage.ts'
import { type FillParts, fill, note } from './fill.ts'
import { openStreams } from './open-streams.ts'
import type { RestoreOptions } from './options.ts'
import type { PlannedTopic } from './plan.ts'
import { isComplete, prepareRestore } from './prepare-restore.ts'
import { applySettings } from './prepare-topics.ts'
import { describeFinding } from './refusal.ts'
import type { Stream } from './stream.ts'

export interface RestoreParts extends FillParts {
  storage: Storage
}

export interface RestoreReport {
  restoreId: string
  backupId: string
  generation: number
  /** An earlier run had finished it: nothing was done. */
  wasComplete: boolean
  durationMs: number
  /** What this run has written; `rebuilt` counts batches that were not sent as they were stored. */
  topics: { source: string; target: string; partitions: number; records: number; bytes: number; rebuilt: number }[]
  warnings: string[]
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
  const { plan, restoreId, progress, preflight } = await prepareRestore(options, parts, signal)
  const wasComplete = isComplete(plan, progress)
  // Of a restore that is done nothing is judged: its topics are in use by now. That the backup has gone on is told.
  const done = plan.notice === undefined ? [] : [plan.notice]
  const warnings = wasComplete ? done : [...plan.warnings, ...preflight.findings.map(describeFinding)]
  for (const message of warnings) parts.onProgress({ type: 'warning', message })
  const report = (streams: readonly Stream[]): RestoreReport => ({
    restoreId,
    backupId: plan.backupId,
    generation: plan.generation,
    wasComplete,
    durationMs: parts.clock.monotonic() - startedAt,
    topics: plan.topics.map(topic => sumUp(topic, streams)),
    warnings,
  })
  if (wasComplete) return report([])
  const { streams, mark } = await openStreams(options, { plan, progress, preflight }, parts, signal)
  // What an earlier run has filled may have its settings and its writers by now, though the rest was deleted since.
  const unfilled = streams.filter(stream => !stream.progress.isFilled)
  if (unfilled.length > 0) {
    await fill(options, { restoreId, mark }, unfilled, parts, signal)
    await note(parts, restoreId, mark, streams, signal, { isFilled: true, isDone: false })
  }
  // From here on the topics may have settings, and writers, that a replay could not go on with.
  const made = new Set(streams.filter(({ progress }) => progress.isMade).map(({ topic }) => topic))
  const refused = await applySettings(parts.cluster, plan.topics, made, signal)
  for (const message of refused) parts.onProgress({ type: 'warning', message })
  warnings.push(...refused)
  await note(parts, restoreId, mark, streams, signal, { isFilled: true, isDone: true })
  return report(streams)
}

function sumUp(
  { source, name, streams: planned }: PlannedTopic,
  streams: readonly Stream[],
): RestoreReport['topics'][number] {
  const own = streams.filter(({ topic }) => topic === name)
  const sum = (pick: (stream: Stream) => number) => own.reduce((total, stream) => total + pick(stream), 0)
  return {
    source: source.name,
    target: name,
    partitions: planned.length,
    records: sum(({ records }) => records.sent),
    bytes: sum(({ records }) => records.bytes),
    rebuilt: sum(({ records }) => records.rebuilt),
  }
}
