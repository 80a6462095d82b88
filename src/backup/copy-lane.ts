import { KafkaBackupError } from '../errors.ts'
import { brokerError } from '../kafka/broker-errors.ts'
import type { Fetched, Fetcher } from '../kafka/fetcher.ts'
import type { Clock } from '../lib/clock.ts'
import type { OnProgress } from '../observe/progress.ts'
import { type Chunk, cutChunk } from './chunk.ts'
import type { PartitionCopy } from './partition-copy.ts'

export interface LaneParts {
  fetcher: Fetcher
  /** Partitions with an open segment at a time. */
  maxActive: number
  clock: Clock
  onProgress: OnProgress
}

/** Why a partition left its lane before its end. */
export interface Leaver {
  copy: PartitionCopy
  error: KafkaBackupError
}

const EMPTY_PAUSE_MS = 300
const EMPTY_ANSWERS = 20

type AnswerPart = Fetched['partitions'][number]

/**
 * Copies partitions of one broker over one connection. The next fetch is on its way while the last answer is stored, so
 * broker, network and store work at the same time. Returns those that need another leader, or another look at their
 * bounds; a failure that concerns the connection or the store is thrown.
 */
export async function copyLane(
  copies: readonly PartitionCopy[],
  parts: LaneParts,
  signal: AbortSignal,
): Promise<Leaver[]> {
  const lane = new Lane(copies, parts, signal)
  let pending = lane.fetchNext()
  try {
    while (pending) {
      const fetched = await pending
      const steps = lane.take(fetched)
      pending = lane.fetchNext()
      // An answer that fails while this one is stored is met at the next turn.
      pending?.catch(() => undefined)
      try {
        await lane.storeAll(fetched, steps)
      } finally {
        fetched.release()
      }
    }
    await lane.settled()
  } catch (error) {
    await pending?.then(
      fetched => fetched.release(),
      () => undefined,
    )
    throw error
  }
  return lane.leavers
}

interface Step {
  copy: PartitionCopy
  chunk: Chunk
  part: AnswerPart
}

interface Place {
  /** Where the next fetch begins: ahead of what is stored by the answer in hand. */
  offset: bigint
  epoch: number
  /** Answers in a row that had nothing although nothing stood in the way. */
  emptyAnswers: number
}

class Lane {
  readonly leavers: Leaver[] = []
  readonly #parts: LaneParts
  readonly #signal: AbortSignal
  readonly #waiting: PartitionCopy[]
  readonly #finished: PartitionCopy[] = []
  /** In the order of the next request. What got nothing for want of room moves to the front. */
  #active = new Map<PartitionCopy, Place>()
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
      this.#active.set(copy, { offset: copy.position, epoch: copy.lastEpoch, emptyAnswers: 0 })
    }
    return this.#active.size === 0 ? undefined : this.#fetchActive()
  }

  /** Walks the answer, moves each partition's fetch position on and says what there is to store. */
  take(fetched: Fetched): Step[] {
    const parts = new Map(fetched.partitions.map(part => [`${part.topicId}/${part.partition}`, part]))
    const steps: Step[] = []
    const hungry: [PartitionCopy, Place][] = []
    const fed: [PartitionCopy, Place][] = []
    for (const [copy, place] of this.#active) {
      const part = parts.get(`${copy.topicId}/${copy.partition}`)
      if (part && this.#leaves(copy, part)) continue
      const chunk = part && cutChunk(fetched.bytes, part, place.offset, copy.end)
      if (chunk) {
        steps.push({ copy, chunk, part })
        const next = { offset: chunk.nextOffset, epoch: chunk.lastEpoch, emptyAnswers: 0 }
        if (next.offset < copy.end) fed.push([copy, next])
        else this.#finished.push(copy)
      } else if (!part || !this.#endsHere(copy, place, part, fetched.bytes, steps.length === 0)) {
        hungry.push([copy, place])
      }
    }
    this.#active = new Map([...hungry, ...fed])
    this.#pauseMs = steps.length === 0 && hungry.length > 0 ? EMPTY_PAUSE_MS : 0
    return steps
  }

  async storeAll(fetched: Fetched, steps: readonly Step[]): Promise<void> {
    const results = await Promise.allSettled(
      steps.map(async ({ copy, chunk, part }) => {
        const offsets = chunk.nextOffset - copy.position
        const stored = await copy.store(fetched.bytes, chunk, part.abortedTransactions)
        this.#parts.onProgress({ type: 'copied', topic: copy.topic, partition: copy.partition, offsets, ...stored })
      }),
    )
    // Only now is nobody reading the answer's memory any more.
    const failed = results.find(result => result.status === 'rejected')
    if (failed) throw failed.reason
  }

  async settled(): Promise<void> {
    for (const copy of this.#finished) await copy.settled()
  }

  async #fetchActive(): Promise<Fetched> {
    const targets = [...this.#active].map(([copy, { offset, epoch }]) => ({
      topicId: copy.topicId,
      partition: copy.partition,
      leaderEpoch: -1,
      offset,
      lastFetchedEpoch: epoch,
    }))
    if (this.#pauseMs > 0) await this.#parts.clock.sleep(this.#pauseMs, this.#signal)
    return this.#parts.fetcher.fetch(targets, this.#signal)
  }

  #leaves(copy: PartitionCopy, part: AnswerPart): boolean {
    const error = partError(copy, part)
    if (error) this.leavers.push({ copy, error })
    return error !== undefined
  }

  /**
   * Whether an answer without a batch below the end means that there is none. A batch at or beyond the end proves it. With
   * an empty answer only patience can tell a hole from a broker that could not read (tiered storage answers so when it
   * is slow): after many of them the rest counts as lost, and is said to be.
   */
  #endsHere(copy: PartitionCopy, place: Place, part: AnswerPart, bytes: Buffer, hadRoom: boolean): boolean {
    const isEmpty = part.end === part.start
    const isPastEnd = !isEmpty && firstOffset(bytes, part) >= copy.end
    if (isEmpty && hadRoom && part.lastStableOffset >= copy.end) place.emptyAnswers++
    if (!isPastEnd && place.emptyAnswers < EMPTY_ANSWERS) return false
    if (isPastEnd) copy.skipToEnd()
    else this.leavers.push({ copy, error: unreadable(copy) })
    if (isPastEnd) this.#finished.push(copy)
    return true
  }
}

function unreadable(copy: PartitionCopy): KafkaBackupError {
  const range = `${copy.position} to ${copy.end}`
  return new KafkaBackupError('SOURCE_UNREADABLE', `${copy.name}: the broker returns nothing for the offsets ${range}`)
}

function partError(copy: PartitionCopy, part: AnswerPart): KafkaBackupError | undefined {
  if (part.errorCode !== 0) return brokerError(part.errorCode, `reading ${copy.name}`)
  if (part.divergesAt === undefined || part.divergesAt >= copy.position) return undefined
  const message = `${copy.name}: the source went back to offset ${part.divergesAt} and continued differently`
  return new KafkaBackupError('SOURCE_TRUNCATED', message)
}

/** Base offset of the first batch of a part; an answer may hold only a fragment of it. */
function firstOffset(bytes: Buffer, part: AnswerPart): bigint {
  return part.end - part.start >= 8 ? bytes.readBigInt64BE(part.start) : -1n
}
