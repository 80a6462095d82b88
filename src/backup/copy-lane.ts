import { KafkaBackupError } from '../errors.ts'
import { brokerError } from '../kafka/broker-errors.ts'
import type { Fetched, Fetcher } from '../kafka/fetcher.ts'
import type { Clock } from '../lib/clock.ts'
import type { OnProgress } from '../observe/progress.ts'
import { type Chunk, cutChunk, isOtherTail, walkAnswer } from './chunk.ts'
import { TruncationError } from './find-truncation.ts'
import type { PartitionCopy } from './partition-copy.ts'

interface LaneParts {
  fetcher: Pick<Fetcher, 'fetch'>
  /** Partitions with an open segment at a time. */
  maxActive: number
  clock: Clock
  onProgress: OnProgress
  /** Told after each answer, so that partitions need not wait for the rest of their lane before they are tried elsewhere. */
  onLeave: (leavers: readonly Leaver[]) => void
}

/** Why a partition left its lane before its end: something went wrong, or another replica is nearer. */
export type Leaver = { copy: PartitionCopy; error: KafkaBackupError } | { copy: PartitionCopy; nearest: number }

const EMPTY_PAUSE_MS = 300
const EMPTY_ANSWERS = 20

type AnswerPart = Fetched['partitions'][number]

/**
 * Copies partitions of one broker over one connection. The next fetch is on its way while the last answer is stored, so
 * broker, network and store work at the same time. Partitions that need another leader, or another look at their bounds,
 * leave; a failure that concerns the connection or the store is thrown.
 */
export async function copyLane(copies: readonly PartitionCopy[], parts: LaneParts, signal: AbortSignal): Promise<void> {
  const lane = new Lane(copies, parts, signal)
  let pending = lane.fetchNext()
  try {
    while (pending) {
      const fetched = await pending
      const steps = lane.take(fetched)
      if (lane.leavers.length > 0) parts.onLeave(lane.leavers.splice(0))
      pending = lane.fetchNext()
      // An answer that fails while this one is stored is met at the next turn.
      pending?.catch(() => undefined)
      try {
        await lane.storeAll(fetched, steps)
      } finally {
        fetched.release()
      }
      await lane.settleOldest(parts.maxActive)
    }
    await lane.settleOldest(0)
  } catch (error) {
    await pending?.then(
      fetched => fetched.release(),
      () => undefined,
    )
    throw error
  }
}

interface Step {
  copy: PartitionCopy
  chunk: Chunk
  part: AnswerPart
}

interface FetchPosition {
  /** Where the next fetch begins: ahead of what is stored by the answer in hand. */
  offset: bigint
  /** Where what is stored ends: below the offset by a hole. */
  start: bigint
  epoch: number
  /** Consecutive empty responses without a known reason. */
  emptyAnswers: number
}

class Lane {
  /** Of the last answer. */
  readonly leavers: Leaver[] = []
  readonly #parts: LaneParts
  readonly #signal: AbortSignal
  readonly #waiting: PartitionCopy[]
  readonly #finished: PartitionCopy[] = []
  /** In the order of the next request. What got nothing for want of room moves to the front. */
  #active = new Map<PartitionCopy, FetchPosition>()
  #pauseMs = 0

  constructor(copies: readonly PartitionCopy[], parts: LaneParts, signal: AbortSignal) {
    this.#waiting = copies.filter(copy => !copy.isDone)
    this.#parts = parts
    this.#signal = signal
  }

  fetchNext(): Promise<Fetched> | undefined {
    while (this.#active.size < this.#parts.maxActive) {
      const copy = this.#waiting.shift()
      if (!copy) break
      this.#active.set(copy, { offset: copy.fetchFrom, start: copy.position, epoch: copy.lastEpoch, emptyAnswers: 0 })
    }
    return this.#active.size === 0 ? undefined : this.#fetchActive()
  }

  /** Walks the response, advances the fetch offset of each partition and returns what to store. */
  take(fetched: Fetched): Step[] {
    const parts = new Map(fetched.partitions.map(part => [`${part.topicId}/${part.partition}`, part]))
    const steps: Step[] = []
    const hungry: [PartitionCopy, FetchPosition][] = []
    const fed: [PartitionCopy, FetchPosition][] = []
    let isIdle = true
    for (const [copy, place] of this.#active) {
      const part = parts.get(`${copy.topicId}/${copy.partition}`)
      if (part && this.#leaves(copy, part)) continue
      const seen = part && this.#compareTail(copy, part, fetched)
      if (seen) isIdle = false
      if (seen === 'other') {
        this.leavers.push({ copy, error: otherTail(copy) })
        continue
      }
      const chunk = part && cutChunk(fetched.bytes, part, place.start, copy.end, copy.name)
      if (seen === 'same, alone' || (seen === 'same' && !chunk)) {
        fed.push([copy, { ...place, offset: copy.fetchFrom }])
        continue
      }
      const truncation = chunk && olderEpoch(copy, chunk, place.epoch)
      if (truncation) {
        isIdle = false
        this.leavers.push({ copy, error: truncation })
      } else if (chunk) {
        isIdle = false
        copy.isEpochUnknown = false
        steps.push({ copy, chunk, part })
        const next = { offset: chunk.nextOffset, start: chunk.nextOffset, epoch: chunk.lastEpoch, emptyAnswers: 0 }
        if (next.offset < copy.end) fed.push([copy, next])
        else this.#finished.push(copy)
      } else if (part && firstOffset(fetched.bytes, part) >= copy.end) {
        // A batch at or beyond the end proves that there is none before it.
        isIdle = false
        copy.skipToEnd()
        this.#finished.push(copy)
      } else {
        hungry.push([copy, place])
      }
    }
    const patient = isIdle ? hungry.filter(([copy, place]) => !this.#isUnreadable(copy, place, fetched)) : hungry
    this.#active = new Map([...patient, ...fed])
    this.#pauseMs = isIdle ? EMPTY_PAUSE_MS : 0
    return steps
  }

  async storeAll(fetched: Fetched, steps: readonly Step[]): Promise<void> {
    const results = await Promise.allSettled(
      steps.map(async ({ copy, chunk, part }) => {
        const offsets = chunk.nextOffset - copy.position
        const stored = await copy.store(fetched.bytes, chunk, part.abortedTransactions)
        const { topic, partition, isReread } = copy
        const amount = { offsets, ...stored, ...(isReread && { isReread }) }
        this.#parts.onProgress({ type: 'copied', topic, partition, ...amount })
      }),
    )
    // The memory of the response is free only now.
    const failed = results.find(result => result.status === 'rejected')
    if (failed) throw failed.reason
  }

  /** A segment that becomes durable in the background still holds memory and a file: only so many may. */
  async settleOldest(maxUnsettled: number): Promise<void> {
    while (this.#finished.length > maxUnsettled) await this.#finished.shift()?.handed()
  }

  async #fetchActive(): Promise<Fetched> {
    const targets = [...this.#active].map(([copy, { offset, start, epoch }]) => ({
      topicId: copy.topicId,
      partition: copy.partition,
      leaderEpoch: -1,
      offset,
      // After a hole the stored epoch may have ended, which is not a divergence.
      lastFetchedEpoch: copy.isEpochUnknown || offset > start ? -1 : epoch,
    }))
    if (this.#pauseMs > 0) await this.#parts.clock.sleep(this.#pauseMs, this.#signal)
    return this.#parts.fetcher.fetch(targets, this.#signal)
  }

  /**
   * Whether the source still has what is stored last; undefined where there is nothing to compare, or nothing came yet.
   * `same, alone` has nothing else of use: aborted transactions of the answer may have ended in what is stored, so that
   * what follows is asked for again from its own beginning.
   */
  #compareTail(
    copy: PartitionCopy,
    part: AnswerPart,
    { bytes }: Fetched,
  ): 'same' | 'same, alone' | 'other' | undefined {
    const { expectedTail: tail, position } = copy
    if (!tail) return undefined
    const headers = walkAnswer(bytes, part, copy.name)
    const last = headers.at(-1)
    if (!last) return undefined
    copy.expectedTail = undefined
    if (isOtherTail(bytes, headers, tail, position)) return 'other'
    const isAlone = last.lastOffset < position || part.abortedTransactions.length > 0
    return isAlone ? 'same, alone' : 'same'
  }

  #leaves(copy: PartitionCopy, part: AnswerPart): boolean {
    const error = partError(copy, part)
    if (error) this.leavers.push({ copy, error })
    else if (part.preferredReplica >= 0) this.leavers.push({ copy, nearest: part.preferredReplica })
    else return false
    return true
  }

  /**
   * After an answer that brought nothing for anybody, so that none was passed over for want of room. Only patience can tell
   * a hole from a broker that could not read (tiered storage answers so when it is slow): after many such answers in a
   * row the rest counts as lost where the broker claims to have it, and as not there yet where it does not.
   */
  #isUnreadable(copy: PartitionCopy, place: FetchPosition, { partitions }: Fetched): boolean {
    if (++place.emptyAnswers < EMPTY_ANSWERS) return false
    const part = partitions.find(one => one.topicId === copy.topicId && one.partition === copy.partition)
    const isEmpty = partitions.every(one => one.start === one.end)
    const isClaimed = part !== undefined && part.lastStableOffset >= copy.end
    this.leavers.push({ copy, error: isEmpty && isClaimed ? unreadable(copy) : notThere(copy, part) })
    return true
  }
}

function unreadable(copy: PartitionCopy): KafkaBackupError {
  const range = `${copy.position} to ${copy.end}`
  return new KafkaBackupError(
    'SOURCE_UNREADABLE',
    `${copy.name}: the broker returns nothing for the offsets ${range}`,
    {
      details: { ...copy.details, offset: copy.position },
    },
  )
}

function notThere(copy: PartitionCopy, part: AnswerPart | undefined): KafkaBackupError {
  const stable = part ? `has decided offsets up to ${part.lastStableOffset}` : 'does not answer for it'
  const message = `${copy.name}: no whole batch comes at offset ${copy.position} of ${copy.end}; the broker ${stable}`
  return new KafkaBackupError('KAFKA_NOT_READY', message, { details: { ...copy.details, offset: copy.position } })
}

function partError(copy: PartitionCopy, part: AnswerPart): KafkaBackupError | undefined {
  if (part.errorCode !== 0) return brokerError(part.errorCode, `reading ${copy.name}`, null, copy.details)
  if (part.divergesAt === undefined) return undefined
  const history = `the history that this backup holds up to ${copy.position} is not the source's any more`
  const message = `${copy.name}: ${history}; they part at offset ${part.divergesAt} at the latest`
  return new TruncationError(copy.topic, message)
}

function otherTail(copy: PartitionCopy): KafkaBackupError {
  const message = `${copy.name} has another history than this backup: the batch before offset ${copy.position} is not the one that is stored`
  return new TruncationError(copy.topic, message)
}

/** Epochs only ever rise within a log: a batch of a lower one is from another history than what is stored before it. */
function olderEpoch(copy: PartitionCopy, { headers }: Chunk, storedEpoch: number): KafkaBackupError | undefined {
  const [first] = headers
  if (!first || first.leaderEpoch < 0 || first.leaderEpoch >= storedEpoch) return undefined
  const [epoch, offset] = [first.leaderEpoch, first.baseOffset]
  const message = `${copy.name}: the batch at offset ${offset} has leader epoch ${epoch}, but this backup holds epoch ${storedEpoch} before it`
  return new TruncationError(copy.topic, message)
}

/** Base offset of the first batch of a part; an answer may hold only a fragment of it. */
function firstOffset(bytes: Buffer, part: AnswerPart): bigint {
  return part.end - part.start >= 8 ? bytes.readBigInt64BE(part.start) : -1n
}
