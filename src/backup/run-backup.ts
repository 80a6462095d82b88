import { latestManifest } from '../archive/catalog.ts'
import type { Gap, Manifest } from '../archive/manifest.ts'
import { hasCode, KafkaBackupError, toKafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { type Clock, formatUtc } from '../lib/clock.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import { CopyScheduler } from './copy-scheduler.ts'
import { type ObservedSource, observeSource } from './observe-source.ts'
import type { BackupOptions } from './options.ts'
import { type BackupPlan, planBackup } from './plan.ts'
import { planLanes } from './plan-lanes.ts'
import { BackupSession } from './session.ts'

export interface BackupParts {
  cluster: Cluster
  storage: Storage
  clock: Clock
  /** A short random name for this run. */
  run: string
  toolVersion: string
  onProgress: OnProgress
}

export interface BackupReport {
  manifest: Manifest
  durationMs: number
  /** What this run added, not what the backup holds. */
  copied: { records: number; bytes: number; partitions: number }
  newGaps: (Omit<Gap, 'found_at'> & { topic: string; partition: number })[]
  warnings: string[]
}

/**
 * Copies what the source has beyond the newest committed state and commits it. When it is interrupted or fails, what is
 * durable is committed as an incomplete generation before the error is thrown; the next run goes on from there.
 */
export async function runBackup(
  options: BackupOptions,
  parts: BackupParts,
  signal: AbortSignal,
): Promise<BackupReport> {
  const startedAt = parts.clock.monotonic()
  const { observed, plan, previous } = await prepareBackup(options, parts, signal)
  const tally = new Tally(plan, parts.onProgress)
  const storeStop = new AbortController()
  const sessionParts = { ...parts, storeSignal: storeStop.signal, onProgress: tally.onProgress }
  const session = new BackupSession(options, observed, plan, previous, sessionParts)
  tally.announce(session)
  try {
    await copyAll(session, observed, options, { ...parts, onProgress: tally.onProgress }, signal)
  } catch (error) {
    const saved = await saveWhatIsDurable(session, tally, error)
    throw saved && !signal.aborted ? partialError(saved, error) : error
  }
  const manifest = await session.commit(true, tally.warnings)
  if (tally.gaps.length > 0 && options.onGap === 'fail') throw gapError(tally.gaps)
  const { copied, gaps, warnings } = tally
  return { manifest, durationMs: parts.clock.monotonic() - startedAt, copied, newGaps: gaps, warnings }
}

/** Everything up to the first byte: also what a dry run shows. */
export async function prepareBackup(
  options: BackupOptions,
  parts: Pick<BackupParts, 'cluster' | 'storage' | 'clock'>,
  signal: AbortSignal,
): Promise<{ observed: ObservedSource; plan: BackupPlan; previous: Manifest | undefined }> {
  const previous = await latestManifest(parts.storage, options.backupId, signal)
  const observed = await observeSource(options, parts.cluster, signal)
  return { observed, previous, plan: planBackup(observed, previous, formatUtc(parts.clock.now())) }
}

async function copyAll(
  session: BackupSession,
  observed: ObservedSource,
  options: BackupOptions,
  { cluster, storage, onProgress }: BackupParts,
  signal: AbortSignal,
): Promise<void> {
  const lanes = planLanes(observed.brokers, { ...options, writerBytes: storage.writerBytes })
  const scheduler = new CopyScheduler({ cluster, lanes, onProgress })
  const stop = new AbortController()
  const scoped = AbortSignal.any([signal, stop.signal])
  const committing = session.commitPeriodically(scoped).catch(error => {
    stop.abort(error)
    throw error
  })
  // Its failure is thrown below, when the lanes have stopped; until then it must not end the process as unheard.
  committing.catch(() => undefined)
  try {
    await scheduler.run(session.copies, scoped)
    for (const copy of session.copies) await copy.settle()
  } finally {
    stop.abort(stop.signal.reason)
    await committing
  }
}

/** Best effort, because something has gone wrong already: partitions that cannot be finished stay at their last segment. */
async function saveWhatIsDurable(session: BackupSession, tally: Tally, cause: unknown): Promise<Manifest | undefined> {
  await Promise.all(session.copies.map(copy => copy.settle().catch(() => copy.abort())))
  if (!session.hasFresh || hasCode(cause, 'WRITER_CONFLICT')) return undefined
  try {
    return await session.commit(false, tally.warnings)
  } catch (error) {
    const { message } = toKafkaBackupError(error)
    tally.onProgress({ type: 'warning', message: `what was copied since the last commit is not kept: ${message}` })
    return undefined
  }
}

function partialError({ generation }: Manifest, cause: unknown): KafkaBackupError {
  const { message, help } = toKafkaBackupError(cause)
  return new KafkaBackupError(
    'BACKUP_PARTIAL',
    `${message}; what was copied until then is kept as generation ${generation}`,
    {
      cause,
      help: `${help} Then run the same command to go on.`,
    },
  )
}

function gapError(gaps: BackupReport['newGaps']): KafkaBackupError {
  const list = gaps
    .slice(0, 10)
    .map(({ topic, partition, from, to }) => `${topic}/${partition} ${from} to ${to ?? 'unknown'}`)
  return new KafkaBackupError('GAP_FOUND', `the source lost records before they were read: ${list.join(', ')}`)
}

/** Sums up what the events of a run say. */
class Tally {
  readonly copied = { records: 0, bytes: 0, partitions: 0 }
  readonly gaps: BackupReport['newGaps'] = []
  readonly warnings: string[]
  readonly #seen = new Set<string>()
  readonly #forward: OnProgress

  constructor(plan: BackupPlan, forward: OnProgress) {
    this.#forward = forward
    this.warnings = [...plan.warnings]
    for (const topic of plan.topics) {
      for (const { durable, newGaps } of topic.partitions) {
        for (const { from, to, reason } of newGaps) {
          this.#addGap({ topic: topic.name, partition: durable.partition, from, to, reason })
        }
      }
    }
  }

  announce(session: BackupSession): void {
    for (const message of this.warnings) this.#forward({ type: 'warning', message })
    const offsets = session.copies.reduce((sum, { end, position }) => sum + (end > position ? end - position : 0n), 0n)
    const topics = new Set(session.copies.map(copy => copy.topicId)).size
    this.#forward({ type: 'planned', topics, partitions: session.copies.length, offsets })
  }

  readonly onProgress: OnProgress = event => {
    if (event.type === 'copied') {
      this.copied.records += event.records
      this.copied.bytes += event.bytes
      this.#seen.add(`${event.topic}/${event.partition}`)
      this.copied.partitions = this.#seen.size
    }
    if (event.type === 'warning') this.warnings.push(event.message)
    if (event.type === 'gap') {
      const { topic, partition, from, to, reason } = event
      this.#addGap({ topic, partition, from, to, reason })
    }
    this.#forward(event)
  }

  #addGap(gap: BackupReport['newGaps'][number]): void {
    this.gaps.push(gap)
    const { topic, partition, from, to, reason } = gap
    this.warnings.push(
      `${topic}/${partition}: offsets ${from} to ${to ?? 'unknown'} are lost to this backup (${reason})`,
    )
  }
}
