import { commitGeneration, type Draft, freshKey, renewManifestCopy } from '../archive/commit.ts'
import type { Manifest, ManifestTopic } from '../archive/manifest.ts'
import { toKafkaBackupError } from '../errors.ts'
import { type Clock, formatUtc } from '../lib/clock.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import type { ObservedSource } from './observe-source.ts'
import type { BackupOptions } from './options.ts'
import { PartitionCopy } from './partition-copy.ts'
import type { BackupPlan } from './plan.ts'

export interface SessionParts {
  storage: Storage
  storeSignal: AbortSignal
  clock: Clock
  run: string
  toolVersion: string
  onProgress: OnProgress
}

/** One run's view of the backup: the partitions being copied, and the commits that make what they have durable count. */
export class BackupSession {
  readonly copies: PartitionCopy[]
  readonly #options: BackupOptions
  readonly #observed: ObservedSource
  readonly #plan: BackupPlan
  readonly #parts: SessionParts
  readonly #startedAt: string
  readonly #copyByKey: Map<string, PartitionCopy>
  #generation: number
  #attempt = 1
  #committing: Promise<unknown> = Promise.resolve()

  constructor(
    options: BackupOptions,
    observed: ObservedSource,
    plan: BackupPlan,
    previous: Manifest | undefined,
    parts: SessionParts,
  ) {
    this.#options = options
    this.#observed = observed
    this.#plan = plan
    this.#parts = parts
    this.#startedAt = formatUtc(parts.clock.now())
    this.#generation = previous?.generation ?? 0
    const copyParts = { storage: parts.storage, run: parts.run, storeSignal: parts.storeSignal, options }
    this.copies = plan.topics
      .filter(topic => topic.state === 'current')
      .flatMap(topic => topic.partitions.map(one => new PartitionCopy(topic, one, options.backupId, copyParts)))
    this.#copyByKey = new Map(this.copies.map(copy => [freshKey(copy.topicId, copy.partition), copy]))
  }

  get hasFresh(): boolean {
    return this.copies.some(copy => copy.fresh.length > 0)
  }

  /** Commits one after the other; each names what is durable at its moment. */
  commit(complete: boolean, warnings: readonly string[]): Promise<Manifest> {
    const run = this.#committing.then(() => this.#commitNow(complete, warnings))
    this.#committing = run.catch(() => undefined)
    return run
  }

  /** Commits now and then while the copying goes on, so that a crash loses no more than the last interval. */
  async commitPeriodically(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const slept = await this.#parts.clock.sleep(this.#options.commitIntervalMs, signal).then(
        () => true,
        () => false,
      )
      if (slept && this.hasFresh) await this.commit(false, this.#plan.warnings)
    }
  }

  async #commitNow(complete: boolean, warnings: readonly string[]): Promise<Manifest> {
    const freshSegments = new Map([...this.#copyByKey].map(([key, copy]) => [key, [...copy.fresh]]))
    const draft = { manifest: this.#draftManifest(complete, warnings), freshSegments, attempt: this.#attempt++ }
    const manifest = await commitGeneration(this.#parts.storage, draft, this.#parts.storeSignal)
    this.#attempt = 1
    this.#generation = manifest.generation
    for (const topic of manifest.topics) {
      for (const { partition, indexes } of topic.partitions) {
        const key = freshKey(topic.id, partition)
        this.#copyByKey.get(key)?.committed(freshSegments.get(key)?.length ?? 0, indexes)
      }
    }
    await this.#renewCopy(manifest)
    this.#parts.onProgress({ type: 'committed', generation: manifest.generation, complete })
    return manifest
  }

  /** The generation is committed already; a copy that stays behind is told, and renewed by the next commit. */
  async #renewCopy(manifest: Manifest): Promise<void> {
    const { storage, storeSignal, onProgress } = this.#parts
    try {
      await renewManifestCopy(storage, manifest, storeSignal)
    } catch (error) {
      const { message } = toKafkaBackupError(error)
      onProgress({ type: 'warning', message: `manifest.json is not the newest generation: ${message}` })
    }
  }

  #draftManifest(complete: boolean, warnings: readonly string[]): Draft['manifest'] {
    const { clock, run, toolVersion } = this.#parts
    const { backupId, topics } = this.#options
    return {
      tool_version: toolVersion,
      backup_id: backupId,
      generation: this.#generation + 1,
      run,
      complete,
      created_at: formatUtc(clock.now()),
      started_at: this.#startedAt,
      cluster: { id: this.#observed.clusterId, brokers: this.#observed.brokers },
      selection: { include: [...topics.include], exclude: [...topics.exclude] },
      topics: this.#draftTopics(),
      warnings: [...warnings],
    }
  }

  #draftTopics(): ManifestTopic[] {
    return this.#plan.topics.map(topic => ({
      ...topic,
      partitions: topic.partitions.map(
        ({ durable }) => this.#copyByKey.get(freshKey(topic.id, durable.partition))?.durable ?? durable,
      ),
    }))
  }
}
