import type { KafkaBackupError } from '../errors.ts'
import type { Fetched, Fetcher } from '../kafka/fetcher.ts'
import type { Clock } from '../lib/clock.ts'
import { numberedName } from '../lib/numbered-name.ts'
import type { OnProgress } from '../observe/progress.ts'
import { type AbortedStart, type Chunk, cutChunk, walkAnswer } from './chunk.ts'
import {
  type Answer,
  type AnswerPart,
  abortedIn,
  behind,
  compareTail,
  endsWithTail,
  type FetchPosition,
  nextBase,
  offsetToFetch,
} from './fetch-position.ts'
import { lostTail, notThere, olderEpoch, otherTail, partError, unreadable } from './lane-errors.ts'
import type { PartitionCopy } from './partition-copy.ts'
import { TailProof } from './prove-tails.ts'

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
/** Of an answer, beyond its usual size: a batch of a megabyte in front of another needs twice the room of one. */
const MAX_GROWTH = 64

/**
 * Copies partitions of one broker over one connection. The next fetch is on its way while the last answer is stored, so
 * broker, network and store work at the same time. Partitions that need another leader, or another look at their bounds,
 * leave; a failure that concerns the connection or the store is thrown. The last segments may still be on their way to the store when this resolves.
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
  aborted: readonly AbortedStart[]
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
  #growth = 1
  readonly #proof: TailProof

  constructor(copies: readonly PartitionCopy[], parts: LaneParts, signal: AbortSignal) {
    this.#waiting = copies.filter(copy => !copy.isDone)
    this.#parts = parts
    this.#signal = signal
    this.#proof = new TailProof(parts.fetcher)
  }

  fetchNext(): Promise<Fetched> | undefined {
    while (this.#active.size < this.#parts.maxActive) {
      const copy = this.#waiting.shift()
      if (!copy) break
      const { fetchFrom: offset, position: start, lastEpoch: epoch, expectedTail: tail } = copy
      this.#active.set(copy, { offset, start, epoch, tail, emptyAnswers: 0 })
    }
    return this.#active.size === 0 ? undefined : this.#fetchActive()
  }

  /** Walks the response, advances the fetch offset of each partition and returns what to store. */
  take(fetched: Fetched): Step[] {
    const parts = new Map(fetched.partitions.map(part => [numberedName(part.topicId, part.partition), part]))
    const steps: Step[] = []
    const hungry: [PartitionCopy, FetchPosition][] = []
    const fed: [PartitionCopy, FetchPosition][] = []
    const { isByName } = fetched
    let [isIdle, isCramped] = [true, false]
    for (const [copy, place] of this.#active) {
      const part = parts.get(numberedName(copy.topicId, copy.partition))
      if (part && this.#leaves(copy, part)) continue
      const answer = part && { part, headers: walkAnswer(fetched.bytes, part, copy.name) }
      const seen = answer && this.#compareTail(copy, place, answer, fetched)
      if (seen && (seen === 'other' || seen === 'lost' || !isByName)) isIdle = false
      if (seen === 'other' || seen === 'lost') {
        this.leavers.push({ copy, error: seen === 'other' ? otherTail(copy) : lostTail(copy) })
        continue
      }
      if (seen && !isByName) copy.expectedTail = undefined
      const chunk = answer && cutChunk(answer.headers, place.start, copy.end, part.converted)
      if (!isByName && (seen === 'same, alone' || (seen === 'same' && !chunk))) {
        fed.push([copy, { ...place, offset: copy.fetchFrom, tail: undefined }])
        continue
      }
      const truncation = chunk && olderEpoch(copy, chunk, place.epoch)
      if (truncation) {
        isIdle = false
        this.leavers.push({ copy, error: truncation })
      } else if (chunk) {
        isIdle = false
        copy.isEpochUnknown = false
        copy.isReadByName ||= isByName
        steps.push({ copy, chunk, aborted: abortedIn(place, answer) })
        if (chunk.nextOffset < copy.end) fed.push([copy, behind(chunk, fetched)])
        else this.#finished.push(copy)
      } else if (answer && nextBase(place, answer, fetched) >= copy.end) {
        // A batch at or beyond the end proves that there is none before it.
        isIdle = false
        copy.skipToEnd()
        this.#finished.push(copy)
      } else {
        const isTailAlone = isByName && answer && seen && endsWithTail(place, answer)
        isCramped ||= seen !== undefined && !isTailAlone
        hungry.push([copy, isTailAlone ? { ...place, isTailAlone } : place])
      }
    }
    const patient = isIdle ? hungry.filter(([copy, place]) => !this.#isUnreadable(copy, place, fetched)) : hungry
    this.#active = new Map([...this.#withoutFirst(patient, parts), ...fed, ...patient])
    this.#adapt(isIdle, isCramped)
    return steps
  }

  #compareTail(copy: PartitionCopy, place: FetchPosition, answer: Answer, fetched: Fetched) {
    if (!place.isTailAlone) return compareTail(copy, place, answer, fetched)
    const { part } = answer
    return part.end > part.start ? this.#proof.verdictOf(copy) : undefined
  }

  /** An empty answer had room for the first one, so it waits for something else, such as remote storage: others go before it. */
  #withoutFirst(
    hungry: readonly [PartitionCopy, FetchPosition][],
    parts: ReadonlyMap<string, AnswerPart>,
  ): readonly [PartitionCopy, FetchPosition][] {
    const [first] = this.#active.keys()
    const part = first && parts.get(numberedName(first.topicId, first.partition))
    return part && part.start < part.end ? hungry : hungry.filter(([copy]) => copy !== first)
  }

  /** Where the batch that is shown first leaves no room for the next one, more is asked for; where nothing comes, later. */
  #adapt(isIdle: boolean, isCramped: boolean): void {
    this.#growth = isCramped ? Math.min(this.#growth * 2, MAX_GROWTH) : 1
    this.#pauseMs = isIdle && (!isCramped || this.#growth === MAX_GROWTH) ? EMPTY_PAUSE_MS : 0
  }

  async storeAll(fetched: Fetched, steps: readonly Step[]): Promise<void> {
    const failures: unknown[] = []
    const storing: Promise<void>[] = []
    for (const step of steps) {
      try {
        const work = this.#store(fetched, step)
        if (work) storing.push(work.catch(error => void failures.push(error)))
      } catch (error) {
        failures.push(error)
      }
    }
    await Promise.all(storing)
    // The memory of the response is free only now.
    if (failures.length > 0) throw failures[0]
  }

  #store(fetched: Fetched, step: Step): Promise<void> | undefined {
    const { copy, chunk, aborted } = step
    const offsets = chunk.nextOffset - copy.position
    const stored = copy.store(fetched.bytes, chunk, aborted)
    if (stored instanceof Promise) return stored.then(done => this.#noteStored(fetched, copy, offsets, done))
    this.#noteStored(fetched, copy, offsets, stored)
    return undefined
  }

  #noteStored(
    { isByName }: Fetched,
    copy: PartitionCopy,
    offsets: bigint,
    { records, bytes }: { records: number; bytes: number },
  ): void {
    if (isByName) copy.expectedTail = copy.lastBatch
    const { topic, partition, isReread } = copy
    const event = { type: 'copied', topic, partition, offsets, records, bytes } as const
    this.#parts.onProgress(isReread ? { ...event, isReread } : event)
  }

  /** A segment that becomes durable in the background still holds memory and a file: only so many may. */
  async settleOldest(maxUnsettled: number): Promise<void> {
    while (this.#finished.length > maxUnsettled) {
      const copy = this.#finished.shift()
      if (copy && !copy.isHanded) await copy.handed()
    }
  }

  async #fetchActive(): Promise<Fetched> {
    const active = [...this.#active]
    const targets = active.map(([copy, place]) => ({
      topic: copy.topic,
      topicId: copy.topicId,
      partition: copy.partition,
      leaderEpoch: -1,
      offset: offsetToFetch(place),
      // After a hole the stored epoch may have ended, which is not a divergence.
      lastFetchedEpoch: copy.isEpochUnknown || place.offset > place.start ? -1 : place.epoch,
    }))
    if (this.#pauseMs > 0) await this.#parts.clock.sleep(this.#pauseMs, this.#signal)
    const fetched = await this.#parts.fetcher.fetch(targets, this.#signal, this.#growth)
    try {
      await this.#proof.prove(fetched, active, this.#signal)
      return fetched
    } catch (error) {
      fetched.release()
      throw error
    }
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
   * a hole from a broker that could not read: after many such answers in a row the rest counts as lost where the broker
   * claims to have it, and as not there yet where it does not. Remote storage that is slow is answered for in the same way,
   * and has no holes: what is in it is never counted as lost.
   */
  #isUnreadable(copy: PartitionCopy, place: FetchPosition, { partitions, isByName }: Fetched): boolean {
    if (++place.emptyAnswers < EMPTY_ANSWERS) return false
    const part = partitions.find(one => one.topicId === copy.topicId && one.partition === copy.partition)
    // By name, each part has the batch that was stored last.
    const isEmpty = isByName || partitions.every(one => one.start === one.end)
    const isClaimed = part !== undefined && part.lastStableOffset >= copy.end
    const isLost = isEmpty && isClaimed && !copy.isTiered
    this.leavers.push({ copy, error: isLost ? unreadable(copy) : notThere(copy, part) })
    return true
  }
}
