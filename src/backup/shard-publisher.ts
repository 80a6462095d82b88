import { incarnationKey } from '../archive/incarnation.ts'
import { FORMAT_VERSION, type ManifestTopic, type Segment } from '../archive/manifest.ts'
import { type Shard, segmentsOf, writeShard } from '../archive/shard.ts'
import { formatUtc } from '../lib/clock.ts'
import type { OnProgress } from '../observe/progress.ts'
import { draftSegments, draftTopics } from './draft-topics.ts'
import type { BackupOptions } from './options.ts'
import type { BackupParts, Prepared } from './round.ts'
import type { Published, Publisher } from './session.ts'
import type { ShardNumber } from './shards.ts'

/** Writes down what a shard has, whole each time; a commit reads the document that got furthest. */
export class ShardPublisher implements Publisher {
  readonly run: string
  readonly carried: ReadonlyMap<string, readonly Segment[]>
  readonly #options: BackupOptions
  readonly #prepared: Prepared
  readonly #shard: ShardNumber
  readonly #parts: BackupParts
  /** Topics of an earlier run of this shard that are not there any more: what it copied of them is kept. */
  readonly #gone: readonly ManifestTopic[]
  readonly #storeSignal = new AbortController().signal
  #attempt = 1
  #key = ''

  constructor(
    options: BackupOptions,
    prepared: Prepared,
    shard: ShardNumber,
    parts: BackupParts,
    before: readonly Shard[],
  ) {
    this.run = parts.newRun()
    this.carried = segmentsOf(before)
    const planned = new Set(prepared.plan.topics.map(incarnationKey))
    this.#gone = before.flatMap(({ topics }) => topics).filter(topic => !planned.has(incarnationKey(topic)))
    this.#options = options
    this.#prepared = prepared
    this.#shard = shard
    this.#parts = parts
  }

  /** The document that was written last. */
  get key(): string {
    return this.#key
  }

  async publish(state: Published, onProgress: OnProgress): Promise<string> {
    const shard = this.#draft(state)
    this.#key = await writeShard(this.#parts.storage, shard, this.#attempt++, this.#storeSignal)
    onProgress({ type: 'shard_written', key: this.#key, complete: state.complete })
    return this.#key
  }

  #draft({ complete, warnings, ...state }: Published): Shard {
    const { observed, previous } = this.#prepared
    const { backupId, topics } = this.#options
    const segments = [...draftSegments(this.carried, state)]
    return {
      format: 'kafka-backup-shard',
      format_version: FORMAT_VERSION,
      tool_version: this.#parts.toolVersion,
      backup_id: backupId,
      generation: (previous?.generation ?? 0) + 1,
      shard: this.#shard.index,
      shards: this.#shard.count,
      run: this.run,
      complete,
      created_at: formatUtc(this.#parts.clock.now()),
      cluster: { id: observed.clusterId, brokers: observed.brokers },
      selection: { include: [...topics.include], exclude: [...topics.exclude] },
      topics: [...this.#gone, ...draftTopics(this.#prepared.plan, state)],
      segments: Object.fromEntries(segments.map(([key, some]) => [key, [...some]])),
      warnings: [...warnings],
    }
  }
}
