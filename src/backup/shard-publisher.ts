import { freshKey } from '../archive/commit.ts'
import { FORMAT_VERSION, type Segment } from '../archive/manifest.ts'
import { type Shard, writeShard } from '../archive/shard.ts'
import { formatUtc } from '../lib/clock.ts'
import type { OnProgress } from '../observe/progress.ts'
import { draftTopics } from './draft-topics.ts'
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
  readonly #storeSignal = new AbortController().signal
  #attempt = 1
  #key = ''

  constructor(
    options: BackupOptions,
    prepared: Prepared,
    shard: ShardNumber,
    parts: BackupParts,
    carried: ReadonlyMap<string, readonly Segment[]>,
  ) {
    this.run = parts.newRun()
    this.carried = carried
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

  #draft({ copies, complete, warnings }: Published): Shard {
    const { observed, previous } = this.#prepared
    const { backupId, topics } = this.#options
    const withFresh = copies.filter(({ fresh }) => fresh.length > 0)
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
      topics: draftTopics(this.#prepared.plan, copies),
      segments: Object.fromEntries(withFresh.map(copy => [freshKey(copy.topicId, copy.partition), [...copy.fresh]])),
      warnings: [...warnings],
    }
  }
}
