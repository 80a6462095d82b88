import { KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { Clock } from '../lib/clock.ts'
import { runPool } from '../lib/pool.ts'
import { RateLimiter } from '../lib/rate-limiter.ts'
import { Turns } from '../lib/turns.ts'
import type { OnProgress } from '../observe/progress.ts'
import { type StreamProgress, writeProgress } from './progress.ts'
import { confirmFilled, reconcileAll } from './reconcile.ts'
import { Replay } from './replay.ts'
import type { RestoreOptions } from './restore-options.ts'
import { assertNotTakenOver, confirmClaim, continuesEarlier, failNote, type RunMark } from './run-mark.ts'
import type { Stream } from './stream.ts'
import { countActive } from './stream-memory.ts'
import { type NoteSome, noteWithGroups, type OnTopic, TopicFinisher } from './topic-finisher.ts'

export interface FillParts {
  cluster: Cluster
  clock: Clock
  requestTimeoutMs: number
  onProgress: OnProgress
  /** Called with one topic after the other, when all its records are on the target and noted there, while others are filled. */
  onTopicFilled?: OnTopic
}

const CONCURRENCY = 8
const LAST_NOTE_MS = 5000

/** Progress is committed before the first record, so records without progress are not from this restore. */
export async function fill(
  options: RestoreOptions,
  { restoreId, mark }: { restoreId: string; mark: RunMark },
  streams: readonly Stream[],
  parts: FillParts,
  signal: AbortSignal,
): Promise<Writing> {
  const { cluster, clock, onProgress, requestTimeoutMs } = parts
  await claim(parts, restoreId, mark, streams, signal)
  const isShared = options.existingTopics === 'append'
  await reconcileAll(streams, { cluster, isShared, mayBeBehind: continuesEarlier(mark) }, signal)
  const begun = streams.filter(stream => stream.begin())
  if (begun.length > 0) await note(parts, restoreId, mark, begun, signal)
  const begunAt = clock.monotonic()
  await announce(streams, options, onProgress)
  const { bytesPerSecond, connectionsPerBroker } = options
  const limiter = bytesPerSecond === undefined ? {} : { limiter: new RateLimiter(bytesPerSecond, clock) }
  const maxActive = countActive(options)
  const stop = new AbortController()
  const scoped = AbortSignal.any([signal, stop.signal])
  const orStop = (error: unknown) => stop.abort(error)
  // One after the other: a note that was begun earlier must not replace a later one.
  const notes = new Turns()
  const noteSome: NoteSome = (some, groups) =>
    notes.take(() => {
      const write = () => note(parts, restoreId, mark, some, scoped)
      return groups ? noteWithGroups(some, groups, write) : write()
    })
  const finishing = new TopicFinisher(streams, { ...parts, isShared, noteSome, onFailure: orStop }, scoped)
  const targeted = { cluster, onProgress, connectionsPerBroker, maxActive, requestTimeoutMs, isShared, ...limiter }
  const replay = new Replay({ ...targeted, onFilled: stream => finishing.filled(stream) })
  const noting = notePeriodically(options.commitIntervalMs, () => noteSome(streams), parts, scoped)
  noting.catch(orStop)
  try {
    await replay.run(streams, scoped)
    const ms = clock.monotonic() - begunAt
    await finishing.settled()
    scoped.throwIfAborted()
    await confirmFilled(streams, { cluster, isShared }, scoped)
    return describeWriting(streams, { ms, waitedMs: replay.waitedMs }, options)
  } finally {
    stop.abort(stop.signal.reason)
    await noting.catch(() => undefined)
    await finishing.settled()
    await noteAtLast(parts, restoreId, mark, streams)
  }
}

/** How records were written, in one run. */
export interface Writing {
  ms: number
  bytes: number
  /** What the streams waited for most; null where nothing was written. */
  limitedBy: 'backup' | 'target' | 'rate_limit' | null
}

/** The pace of a limit is kept to a twentieth. */
const NEAR_LIMIT = 0.95

/** Pure. */
export function describeWriting(
  streams: readonly Pick<Stream, 'records'>[],
  { ms, waitedMs }: { ms: number; waitedMs: Replay['waitedMs'] },
  { bytesPerSecond = Number.POSITIVE_INFINITY }: Pick<RestoreOptions, 'bytesPerSecond'>,
): Writing {
  const bytes = streams.reduce((sum, { records }) => sum + records.bytes, 0)
  const isAtLimit = bytes / (Math.max(ms, 1) / 1000) >= bytesPerSecond * NEAR_LIMIT
  const waited = waitedMs.backup > waitedMs.target ? 'backup' : 'target'
  return { ms, bytes, limitedBy: bytes === 0 ? null : isAtLimit ? 'rate_limit' : waited }
}

/** After the look at the target: what is there already is not counted. */
async function announce(
  streams: readonly Stream[],
  { timeWindow, filter }: RestoreOptions,
  onProgress: OnProgress,
): Promise<void> {
  const counted = await runPool(streams, CONCURRENCY, async stream => ({
    topic: stream.topic,
    records: await stream.countLeft(),
  }))
  const byTopic = [...Map.groupBy(counted, ({ topic }) => topic)].map(([topic, own]) => ({
    topic,
    records: own.reduce((sum, { records }) => sum + records, 0),
  }))
  const left = byTopic.reduce((sum, { records }) => sum + records, 0)
  const isWhole = timeWindow.start === undefined && timeWindow.end === undefined && filter === undefined
  const most = isWhole ? {} : { isMost: true }
  const plan = { topics: byTopic.length, partitions: streams.length, offsets: BigInt(left), byTopic }
  onProgress({ type: 'planned', ...plan, unit: 'records', ...most })
}

/** A note that is late costs the next run a look at what came after the last one, so that a passing fault ends nothing. */
async function notePeriodically(
  commitIntervalMs: number,
  noteAll: () => Promise<void>,
  parts: FillParts,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const slept = await parts.clock.sleep(commitIntervalMs, signal).then(
      () => true,
      () => false,
    )
    if (!slept) return
    await noteAll().catch(error => {
      signal.throwIfAborted()
      if (!(error instanceof KafkaBackupError) || !error.retryable) throw error
      parts.onProgress({ type: 'retry', what: error.message, delayMs: commitIntervalMs })
    })
  }
}

/** Best effort, also after trouble and when the run is to end: the log tells the next run as much. */
async function noteAtLast(
  parts: FillParts,
  restoreId: string,
  mark: RunMark,
  streams: readonly Stream[],
): Promise<void> {
  const stop = new AbortController()
  const cancel = parts.clock.after(LAST_NOTE_MS, () => stop.abort())
  await note(parts, restoreId, mark, streams, stop.signal).catch(() => undefined)
  cancel()
}

/** The first note of a run, which no other run may have replaced. */
export async function claim(
  parts: Pick<FillParts, 'cluster' | 'clock'>,
  restoreId: string,
  mark: RunMark,
  streams: readonly Stream[],
  signal: AbortSignal,
): Promise<void> {
  await note(parts, restoreId, mark, streams, signal)
  await confirmClaim(parts, restoreId, mark, streams, signal)
}

/** Says of each stream what is acknowledged. How far the restore as a whole is, only its end can say. */
export async function note(
  { cluster }: Pick<FillParts, 'cluster'>,
  restoreId: string,
  mark: RunMark,
  streams: readonly Stream[],
  signal: AbortSignal,
  stage: Pick<StreamProgress, 'isFilled' | 'isDone' | 'isFilledByShard'> = { isFilled: false, isDone: false },
): Promise<void> {
  const notes: StreamProgress[] = streams.map(({ progress }) => ({ ...progress, ...stage }))
  await writeProgress(cluster, restoreId, { ...mark, streams: notes }, signal, noted =>
    assertNotTakenOver(restoreId, mark, noted, notes),
  ).catch(failNote)
}
