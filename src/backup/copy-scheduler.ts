import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { Fetcher } from '../kafka/fetcher.ts'
import { fetchBounds, type PartitionBounds } from '../kafka/offsets.ts'
import { formatUtc } from '../lib/clock.ts'
import type { RateLimiter } from '../lib/rate-limiter.ts'
import { backoffMs } from '../lib/retry.ts'
import type { OnProgress } from '../observe/progress.ts'
import { copyLane, type Leaver } from './copy-lane.ts'
import { TruncationError } from './find-truncation.ts'
import { LaneBuffers } from './lane-buffers.ts'
import { refuseUnexplained } from './named-topics.ts'
import type { PartitionCopy } from './partition-copy.ts'
import { dealOut, type FetchSource, type GapReason, placeCopies } from './place-copies.ts'
import type { LanePlan } from './plan-lanes.ts'

export { LaneBuffers }

interface SchedulerParts {
  cluster: Cluster
  lanes: LanePlan
  buffers?: LaneBuffers | undefined
  onProgress: OnProgress
  /** Empty to read from leaders only. */
  rack: string
  limiter?: RateLimiter
}

type Failure = Extract<Leaver, { error: unknown }>

/** Longer than any election or rolling restart should leave a partition without a leader. */
const MAX_STALL_MS = 120_000
/** For one answer out of remote storage. Kafka 3.6 and 3.7 stop reading after it, later ones after remote.fetch.max.wait.ms. */
const REMOTE_WAIT_MS = 5000
const BACKOFF = { attempts: Number.POSITIVE_INFINITY, baseDelayMs: 100, maxDelayMs: 3000 }

/**
 * Brings every partition to its end. Partitions are dealt out to lanes at their leaders; what leaves a lane (the leader
 * moved, the broker died, retention was faster) is assigned again while the other lanes continue.
 */
export class CopyScheduler {
  readonly #parts: SchedulerParts
  readonly #buffers: ReturnType<LaneBuffers['open']>
  /** Replicas that leaders pointed to. */
  readonly #nearest = new Map<PartitionCopy, number>()
  /** What a near replica could not serve is read from its leader for the rest of the run. */
  readonly #leaderOnly = new Set<PartitionCopy>()
  /** Partitions without progress for too long; the others are completed before the error is thrown. */
  readonly #stalled = new Map<PartitionCopy, KafkaBackupError>()
  readonly #progressAt = new Map<PartitionCopy, { position: bigint; at: number; failures: number }>()

  constructor(parts: SchedulerParts) {
    this.#parts = parts
    this.#buffers = (parts.buffers ?? new LaneBuffers()).open(parts.lanes)
  }

  async run(copies: readonly PartitionCopy[], signal: AbortSignal): Promise<void> {
    const open = copies.filter(copy => !copy.isDone)
    if (open.length === 0) return
    const stop = new AbortController()
    const scoped = AbortSignal.any([signal, stop.signal])
    try {
      await this.#deal(open, scoped, stop)
    } catch (error) {
      // The first failure stopped the other lanes; it, and not their "stopped", is what went wrong.
      throw stop.signal.aborted && !signal.aborted ? stop.signal.reason : error
    }
    if (this.#stalled.size > 0) throw stalledError([...this.#stalled.values()])
  }

  async #deal(copies: readonly PartitionCopy[], signal: AbortSignal, stop: AbortController): Promise<void> {
    const { places, leavers } = await this.#findBrokers(copies, signal)
    const lanes = places.flatMap(({ place, led }) =>
      dealOut(led, this.#parts.lanes.lanesPerBroker).map(share => ({ place, share })),
    )
    const results = await Promise.allSettled([
      ...lanes.map(({ place, share }) => this.#guard(() => this.#runLane(place, share, signal, stop), stop)),
      this.#guard(() => this.#returnToDeal(leavers, signal, stop), stop),
    ])
    const failed = results.find(result => result.status === 'rejected')
    if (failed) throw failed.reason
  }

  /** One failure stops all: what is durable is committed, and a partial success is never called one. */
  async #guard(work: () => Promise<void>, stop: AbortController): Promise<void> {
    try {
      await work()
    } catch (error) {
      stop.abort(error)
      throw error
    }
  }

  async #runLane(
    place: FetchSource,
    share: PartitionCopy[],
    signal: AbortSignal,
    stop: AbortController,
  ): Promise<void> {
    const before = share.map(copy => copy.position)
    const gone = new Set<PartitionCopy>()
    const elsewhere: Promise<void>[] = []
    const onLeave = (leavers: readonly Leaver[]) => {
      for (const { copy } of leavers) gone.add(copy)
      const work = this.#guard(() => this.#returnToDeal(leavers, signal, stop), stop)
      work.catch(() => undefined)
      elsewhere.push(work)
    }
    await this.#guard(async () => {
      const error = await this.#tryLane(place, share, onLeave, signal)
      // Last segments may still be on their way. One that cannot be stored stops the other lanes, too.
      for (const copy of share) if (!copy.isHanded) copy.handed().catch(failure => stop.abort(failure))
      // What only waited its turn while others of its lane moved on has not stalled.
      if (share.some((copy, i) => copy.position !== before[i])) for (const copy of share) this.#progressAt.delete(copy)
      const left = error ? share.filter(copy => !copy.isDone && !gone.has(copy)) : []
      await this.#returnToDeal(error ? left.map(copy => ({ copy, error })) : [], signal, stop)
    }, stop).finally(() => Promise.allSettled(elsewhere))
    await Promise.all(elsewhere)
  }

  /** The trouble at the source that ended the lane, if any; whatever else goes wrong is thrown. */
  async #tryLane(
    place: FetchSource,
    share: PartitionCopy[],
    onLeave: (leavers: readonly Leaver[]) => void,
    signal: AbortSignal,
  ): Promise<KafkaBackupError | undefined> {
    const { cluster, lanes, onProgress, limiter } = this.#parts
    try {
      const { isRemote, ...at } = place
      const how = isRemote
        ? { buffers: this.#buffers.remote(), maxWaitMs: REMOTE_WAIT_MS }
        : { buffers: this.#buffers.local, maxWaitMs: 0 }
      const options = { ...at, ...how, maxBytes: lanes.fetchBytes, ...(limiter && { limiter }) }
      const fetcher = await Fetcher.open(cluster, options, signal)
      try {
        const parts = { fetcher, maxActive: lanes.maxActive, clock: cluster.clock, onProgress, onLeave }
        await copyLane(share, parts, signal)
        return undefined
      } finally {
        fetcher.close()
      }
    } catch (error) {
      signal.throwIfAborted()
      if (!isSourceTrouble(error)) throw error
      return error
    }
  }

  async #returnToDeal(given: readonly Leaver[], signal: AbortSignal, stop: AbortController): Promise<void> {
    if (given.length === 0) return
    const leavers = given.map(leaver => this.#checkHint(leaver))
    const failed = leavers.filter(leaver => this.#isFailure(leaver))
    const waits = failed.map(leaver => this.#judge(leaver))
    const outOfRange = failed.filter(({ error }) => error.code === 'OFFSET_OUT_OF_RANGE').map(({ copy }) => copy)
    if (outOfRange.length > 0) await this.#passOverLost(outOfRange, signal)
    const rest = leavers.map(({ copy }) => copy).filter(copy => !copy.isDone && !this.#stalled.has(copy))
    if (rest.length === 0) return
    const delayMs = waits.reduce((longest, one) => Math.max(longest, one), 0)
    const first = failed[0]
    if (first) this.#parts.onProgress({ type: 'retry', what: first.error.message, delayMs })
    if (delayMs > 0) await this.#parts.cluster.clock.sleep(delayMs, signal)
    await this.#deal(rest, signal, stop)
  }

  /** Only a leader points elsewhere, and only a client with a rack. One that does so otherwise would be followed forever. */
  #checkHint(leaver: Leaver): Leaver {
    const { copy } = leaver
    const isAsked = this.#parts.rack !== '' && !this.#leaderOnly.has(copy) && !this.#nearest.has(copy)
    return 'nearest' in leaver && !isAsked ? { copy, error: misled(copy, leaver.nearest) } : leaver
  }

  /** Moving to a nearby replica, or back to the leader, is not a failure: only the leader decides. */
  #isFailure(leaver: Leaver): leaver is Failure {
    if ('nearest' in leaver) {
      this.#nearest.set(leaver.copy, leaver.nearest)
      return false
    }
    if (!this.#nearest.delete(leaver.copy)) return true
    this.#leaderOnly.add(leaver.copy)
    return false
  }

  /** How long to wait before this partition is tried again; throws when there is no point in trying. */
  #judge({ copy, error }: Failure): number {
    if (error.code === 'SOURCE_UNREADABLE') {
      this.#recordGap(copy, null, 'unreadable')
      return 0
    }
    if (!callsForAnotherLook(error)) throw error
    const now = this.#parts.cluster.clock.monotonic()
    const seen = this.#progressAt.get(copy)
    const record = seen?.position === copy.position ? seen : { position: copy.position, at: now, failures: 0 }
    record.failures++
    this.#progressAt.set(copy, record)
    if (now - record.at > MAX_STALL_MS) this.#stalled.set(copy, error)
    return backoffMs(record.failures, BACKOFF, 0.5)
  }

  async #findBrokers(
    copies: readonly PartitionCopy[],
    signal: AbortSignal,
  ): Promise<{ places: { place: FetchSource; led: PartitionCopy[] }[]; leavers: Leaver[] }> {
    const { cluster, rack } = this.#parts
    try {
      const facts = { rack, nearest: this.#nearest, leaderOnly: this.#leaderOnly }
      const { places, leaderless, gone } = await placeCopies(copies, cluster, facts, signal)
      for (const { copy, reason } of gone) this.#recordGap(copy, null, reason)
      return { places, leavers: leaderless.map(copy => ({ copy, error: noLeader(copy) })) }
    } catch (error) {
      signal.throwIfAborted()
      if (!isSourceTrouble(error)) throw error
      return { places: [], leavers: copies.map(copy => ({ copy, error })) }
    }
  }

  /** The log start moved past the position (or seems to have): what is gone is a gap, what is left is copied. */
  async #passOverLost(copies: readonly PartitionCopy[], signal: AbortSignal): Promise<void> {
    let bounds: Map<string, PartitionBounds>
    try {
      bounds = await fetchBounds(this.#parts.cluster, copies, signal)
    } catch (error) {
      signal.throwIfAborted()
      // Unknown at the moment; the next fetch asks again.
      if (callsForAnotherLook(error)) return
      throw error
    }
    for (const copy of copies) {
      const bound = bounds.get(copy.name)
      if (!bound) continue
      if (bound.highWatermark < copy.position) throw truncated(copy, bound.highWatermark)
      refuseUnexplained(copy, bound.logStart, this.#parts.cluster.clock.now())
      // What is still there has to be shown: by name, another topic may answer by now.
      if (bound.logStart >= copy.position) copy.expectedTail = undefined
      if (bound.logStart > copy.fetchFrom) this.#recordGap(copy, bound.logStart, 'retention')
      // The position is there, so it was the epoch that the leader does not know; its batches tell whether it ever did.
      else copy.isEpochUnknown = true
    }
  }

  #recordGap(copy: PartitionCopy, to: bigint | null, reason: GapReason): void {
    const from = copy.position
    copy.recordGap({ from, to, reason, found_at: formatUtc(this.#parts.cluster.clock.now()) })
    // What expires while it is read again was stored before: nothing is lost.
    if (copy.isReread) return
    this.#parts.onProgress({ type: 'gap', topic: copy.topic, partition: copy.partition, from, to, reason })
  }
}

function isSourceTrouble(error: unknown): error is KafkaBackupError {
  return error instanceof KafkaBackupError && error.retryable && !/^(STORAGE|CREDENTIALS|KMS)_/.test(error.code)
}

/** Retention, deletion and re-creation show as final errors of a fetch; what they mean is seen in the metadata. */
function callsForAnotherLook(error: unknown): boolean {
  return isSourceTrouble(error) || hasCode(error, 'OFFSET_OUT_OF_RANGE', 'TOPIC_NOT_FOUND')
}

function noLeader(copy: PartitionCopy): KafkaBackupError {
  return new KafkaBackupError('KAFKA_NOT_READY', `partition ${copy.name} has no leader at the moment`, {
    details: copy.details,
  })
}

function misled({ name }: PartitionCopy, broker: number): KafkaBackupError {
  const message = `the broker that was asked for partition ${name} points to broker ${broker} without being asked for a replica`
  return new KafkaBackupError('KAFKA_NOT_READY', message)
}

/** Names them all, up to a screenful. */
function stalledError(errors: readonly KafkaBackupError[]): KafkaBackupError {
  const [first] = errors
  const more = errors.length > 10 ? `; and ${errors.length - 10} more` : ''
  const messages = new Set(errors.slice(0, 10).map(({ message }) => message))
  return new KafkaBackupError(first?.code ?? 'KAFKA_NOT_READY', `${[...messages].join('; ')}${more}`, { cause: first })
}

function truncated(copy: PartitionCopy, highWatermark: bigint): KafkaBackupError {
  const message = `${copy.name} ends at ${highWatermark}, but it was already read up to ${copy.position}`
  return new TruncationError(copy.topic, message)
}
