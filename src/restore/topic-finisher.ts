import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { Turns } from '../lib/turns.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { GivenOffset, NoteGiven } from '../offsets/given-offsets.ts'
import { streamKey } from './progress.ts'
import { confirmFilled } from './reconcile.ts'
import type { Stream } from './stream.ts'

/** `noteGiven` notes groups that got their offsets with the progress of their partitions. */
export type OnTopic = (topic: string, noteGiven: NoteGiven, signal: AbortSignal) => Promise<void>

type GivenByStream = ReadonlyMap<string, readonly GivenOffset[]>

/** Notes the progress of streams, with the groups that have got their offsets on them. */
export type NoteSome = (streams: readonly Stream[], groups?: GivenByStream) => Promise<void>

interface FinisherParts {
  cluster: Cluster
  onProgress: OnProgress
  isShared: boolean
  noteSome: NoteSome
  onTopicFilled?: OnTopic
  /** Called at once with a failure that ends the run. */
  onFailure: (error: unknown) => void
}

/**
 * Reports each topic when its last partition is filled. Where something follows for the topic, it comes after a look at the
 * target, which finds other writers, and after the progress is noted, one topic after the other.
 */
export class TopicFinisher {
  readonly #parts: FinisherParts
  readonly #signal: AbortSignal
  readonly #byTopic: Map<string, Stream[]>
  readonly #open: Map<string, number>
  readonly #turns = new Turns()
  #done = 0

  constructor(streams: readonly Stream[], parts: FinisherParts, signal: AbortSignal) {
    this.#parts = parts
    this.#signal = signal
    this.#byTopic = Map.groupBy(streams, ({ topic }) => topic)
    this.#open = new Map([...this.#byTopic].map(([topic, own]) => [topic, own.length]))
  }

  filled({ topic }: Pick<Stream, 'topic'>): void {
    const left = (this.#open.get(topic) ?? 1) - 1
    this.#open.set(topic, left)
    if (left > 0) return
    this.#parts.onProgress({ type: 'filled', topic, done: ++this.#done, total: this.#byTopic.size })
    const { onTopicFilled } = this.#parts
    if (onTopicFilled) this.#turns.take(() => this.#finish(topic, onTopicFilled)).catch(this.#parts.onFailure)
  }

  /** When what follows for the topics so far has ended. */
  settled(): Promise<void> {
    return this.#turns.settled()
  }

  async #finish(topic: string, onTopicFilled: NonNullable<FinisherParts['onTopicFilled']>): Promise<void> {
    const { cluster, isShared, noteSome, onProgress } = this.#parts
    const own = this.#byTopic.get(topic) ?? []
    try {
      this.#signal.throwIfAborted()
      await confirmFilled(own, { cluster, isShared }, this.#signal)
      await noteSome(own)
      await onTopicFilled(topic, offsets => this.#noteGiven(offsets), this.#signal)
    } catch (error) {
      this.#signal.throwIfAborted()
      // The end of the restore does the same for all topics, so that trouble that may pass ends nothing.
      if (!(error instanceof KafkaBackupError) || !error.retryable) throw error
      onProgress({ type: 'warning', message: `${topic}: its consumer groups wait for the end: ${error.message}` })
    }
  }

  async #noteGiven(offsets: readonly GivenOffset[]): Promise<void> {
    const groups = Map.groupBy(offsets, streamKey)
    const streams = [...this.#byTopic.values()].flat().filter(stream => groups.has(streamKey(stream)))
    await this.#parts.noteSome(streams, groups)
  }
}

/**
 * Notes the groups with the progress of the streams. A later note must not have what a broker refuses: where it takes too little metadata,
 * the groups are noted at the end, when notes of fewer groups are safe.
 */
export async function noteWithGroups(
  streams: readonly Stream[],
  groups: GivenByStream,
  note: () => Promise<void>,
): Promise<void> {
  const given = streams.map(stream => stream.give(groups.get(streamKey(stream)) ?? []))
  try {
    await note()
  } catch (error) {
    if (!hasCode(error, 'KAFKA_REFUSED')) throw error
    for (const undo of given) undo()
    throw new KafkaBackupError('KAFKA_NOT_READY', error.message, { cause: error, help: error.help })
  }
}
