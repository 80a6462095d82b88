import { newestState } from '../archive/catalog.ts'
import { incarnationKey } from '../archive/incarnation.ts'
import { FORMAT_VERSION, type ManifestTopic, type Segment } from '../archive/manifest.ts'
import { furthest, readShards, type Shard, segmentsOf, writeShard } from '../archive/shard.ts'
import { formatUtc } from '../lib/clock.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { BackupOptions } from './backup-options.ts'
import { draftSegments, draftTopics } from './draft-topics.ts'
import { type BackupParts, type Prepared, prepareRound, type RoundReport, runRound } from './round.ts'
import { confirmLease, type Published, type Publisher } from './session.ts'
import { observedBy, overlayShards, planShard, type ShardNumber } from './shards.ts'

export interface ShardReport extends RoundReport {
  backupId: string
  /** The generation that this is to be a part of. */
  generation: number
  shard: ShardNumber
  /** Where the shard wrote down what it has. */
  key: string
}

/**
 * Copies one shard's partitions and writes down what it has; nothing of it counts before `commitShards`. A shard that was
 * killed continues from the last document that it, or an earlier run of it, wrote.
 */
export async function runShard(
  options: BackupOptions,
  shard: ShardNumber,
  parts: BackupParts,
  signal: AbortSignal,
): Promise<ShardReport> {
  const { backupId } = options
  const { manifest: previous } = await newestState(parts.storage, backupId, signal)
  const generation = (previous?.generation ?? 0) + 1
  const own = furthest(await readShards(parts.storage, { backupId, generation, only: shard }, signal))
  const before = own ? [own] : []
  const known = overlayShards(previous, before)
  const prepared = await prepareRound(options, parts, previous, signal, known)
  const sliced = { ...prepared, observed: observedBy(prepared.observed, shard), plan: planShard(prepared.plan, shard) }
  const publisher = new ShardPublisher(options, sliced, shard, parts, before)
  const { missed, ...report } = await runRound(options, sliced, parts, publisher, signal)
  if (missed) throw missed
  return { ...report, backupId, generation, shard, key: publisher.key }
}

/** Writes down what a shard has, whole each time; a commit reads the document that got furthest. */
class ShardPublisher implements Publisher {
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
    const confirmSource = state.prepareConfirmation?.()
    const keys = Object.values(shard.segments).flatMap(segments => segments.map(({ key }) => key))
    const pending = { backupId: shard.backup_id, previous: this.#prepared.previous, keys }
    await confirmSource?.()
    await confirmLease(this.#parts, pending, this.#storeSignal)
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
