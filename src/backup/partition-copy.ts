import { freshKey, type Incarnation, rereadKey } from '../archive/incarnation.ts'
import { type FolderOf, type PartitionPlace, segmentKey } from '../archive/layout.ts'
import type { PackSet } from '../archive/log/pack-set.ts'
import type { AbortedTransaction, Gap, LastBatch, ManifestPartition, Segment } from '../archive/manifest.ts'
import { type BatchWriter, type ChunkFacts, SegmentWriter } from '../archive/segment-writer.ts'
import { withConverted, withGap, withHole, withSegment } from '../archive/summary.ts'
import type { OldRecords } from '../kafka/convert-old-parts.ts'
import type { Storage } from '../storage/storage.ts'
import type { BackupOptions } from './backup-options.ts'
import type { CopiedTopic, PlannedPartition } from './backup-plan.ts'
import { type AbortedStart, AbortTracker, type Chunk, cutPieces, examineChunk, markOf, splitChunk } from './chunk.ts'
import { DurableChain } from './durable-chain.ts'

interface CopyParts {
  storage: Storage
  run: string
  /** Stops the store's work. Not the signal of the copying: a segment that is whole is made durable after a Ctrl-C, too. */
  storeSignal: AbortSignal
  options: Pick<BackupOptions, 'compression' | 'segmentBytes'>
  folderOf?: FolderOf | undefined
  /** Where small appends go; without it each is a segment. */
  packs?: Pick<PackSet, 'open'> | undefined
  now: () => number
}

/** Pieces of about this size become zstd frames: large enough to compress well, small enough to seek and to spread. */
const FRAME_BYTES = 1 << 20

/** One partition on its way from the source to the store: how far it was asked for, stored, and made durable. */
export class PartitionCopy {
  readonly topic: string
  readonly topicId: string
  /** Which incarnation of the topic this is a partition of. */
  readonly identity: Incarnation
  readonly partition: number
  readonly end: bigint
  /** It reads a list again that is stored already, from the start of the log. */
  readonly isReread: boolean
  /** Old records of the topic may be in remote storage (KIP-405). */
  readonly isTiered: boolean
  /** Stored up to here, though perhaps in a segment that is still open. */
  position: bigint
  lastEpoch: number
  /** The leader does not know the epoch, and refuses fetches that name it; batches must still not be of a lower one. */
  isEpochUnknown = false
  /** What is stored last, while the source has not shown that it still has it. Read by name, it has to show it each time. */
  expectedTail: LastBatch | undefined
  /** Something of it was read by name in this run. */
  isReadByName = false
  /** The values in force that decide which records the topic keeps. */
  readonly settings: Readonly<Record<string, string>>
  readonly #parts: CopyParts
  readonly #place: PartitionPlace
  #durable: ManifestPartition
  #fresh: readonly Segment[]
  #writer: BatchWriter | undefined
  readonly #emptyTo: bigint
  #openAborted: AbortedTransaction[] = []
  #lastBatch: LastBatch | undefined
  /** Of the open segment. */
  readonly #converted: OldRecords[] = []
  readonly #chain = new DurableChain()
  /** While a chunk is being stored, the segment is not to be touched by others, who wait for it. */
  #isStoring = false
  #stored: PromiseWithResolvers<void> | undefined
  #rollWanted = false
  #hasGap = false
  #doneAtMs: number | undefined

  constructor(
    topic: CopiedTopic,
    planned: Pick<PlannedPartition, 'durable' | 'end'> & Partial<Pick<PlannedPartition, 'logStart'>>,
    backupId: string,
    parts: CopyParts,
    { fresh = [], isReread = false }: { fresh?: readonly Segment[] | undefined; isReread?: boolean } = {},
  ) {
    this.#fresh = fresh
    this.isReread = isReread
    this.isTiered = topic.configs?.['remote.storage.enable'] === 'true'
    this.topic = topic.name
    this.topicId = topic.kafka_id ?? topic.id
    this.settings = topic.effective_configs ?? {}
    this.identity = topic
    this.partition = planned.durable.partition
    this.end = planned.end
    this.position = planned.durable.end_offset
    this.lastEpoch = planned.durable.last_epoch
    this.#durable = planned.durable
    // Below the log start nothing can be compared.
    this.expectedTail = (planned.logStart ?? this.position) < this.position ? planned.durable.last_batch : undefined
    this.#emptyTo = planned.durable.read_to ?? this.position
    this.#place = { backupId, topic: topic.name, partition: this.partition, folderOf: parts.folderOf }
    this.#parts = parts
    this.#noteDone()
  }

  get name(): string {
    return `${this.topic}/${this.partition}`
  }

  /** For errors. */
  get details(): { topic: string; partition: number } {
    return { topic: this.topic, partition: this.partition }
  }

  get isDone(): boolean {
    return this.position >= this.end
  }

  /** Everything up to the end is durable, and was read: no loss ended it. */
  get isCaughtUp(): boolean {
    return this.isDone && !this.#hasGap && !this.#writer && this.#chain.isEmpty && !this.#chain.failure
  }

  /** The source lost a part of it while it was read. */
  get hasGap(): boolean {
    return this.#hasGap
  }

  /** When the last batch was read. */
  get doneAtMs(): number {
    return this.#doneAtMs ?? this.#parts.now()
  }

  /** What is durable now. */
  get durable(): ManifestPartition {
    return this.#durable
  }

  /** Where to fetch from: the last offset that is stored, to compare it. What is known to be empty may be below the log start by now, where a fetch is refused. */
  get fetchFrom(): bigint {
    if (this.expectedTail) return this.position - 1n
    return this.position > this.#emptyTo ? this.position : this.#emptyTo
  }

  /** The last batch that was stored; before the first one of this run, that of the runs before. */
  get lastBatch(): LastBatch | undefined {
    return this.#lastBatch ?? this.#durable.last_batch
  }

  /** Segments that are durable but in no index yet. */
  get fresh(): readonly Segment[] {
    return this.#fresh
  }

  /** After a commit: its indexes name all segments up to the count that it tells of. */
  committed({ segments, indexes }: Pick<ManifestPartition, 'segments' | 'indexes'>): void {
    const unnamed = this.#durable.segments - segments
    this.#fresh = this.#fresh.slice(this.#fresh.length - unnamed)
    if (indexes !== this.#durable.indexes) this.#durable = { ...this.#durable, indexes }
  }

  /** Checks and stores a chunk; its memory is free when this resolves. Returns what was in it. */
  async store(
    bytes: Buffer,
    chunk: Chunk,
    aborted: readonly AbortedStart[],
  ): Promise<{ records: number; bytes: number }> {
    const stored = { records: 0, bytes: 0 }
    const tracker = new AbortTracker(aborted)
    for (let rest: Chunk | undefined = chunk; rest; ) {
      const { head, tail } = splitChunk(rest, this.#parts.options.segmentBytes - (this.#writer?.plainSize ?? 0))
      const facts = await this.#storePart(bytes, head, tracker)
      stored.records += facts.records
      stored.bytes += head.headers.reduce((sum, header) => sum + header.sizeBytes, 0)
      rest = tail
    }
    return stored
  }

  /**
   * No batch is left between the position and the end: compaction and dropped markers leave such holes. What is durable
   * still ends at the last batch, so that the next run's first segment covers the hole and no offset is unaccounted for.
   */
  skipToEnd(): void {
    this.#finishSegment()
    this.#note(durable => withHole(durable, this.end))
    this.position = this.end
    this.#noteDone()
  }

  /** The source lost what lies between the position and `gap.to`; with no `to`, everything from here on. */
  recordGap(gap: Gap): void {
    this.#hasGap = true
    this.#finishSegment()
    this.#note(durable => withGap(durable, gap))
    this.position = gap.to ?? this.end
  }

  /** Hands everything stored so far to the store, an unfinished segment included. */
  async hand(): Promise<void> {
    if (!this.#chain.failure) this.#finishSegment()
    await this.handed()
  }

  async abort(): Promise<void> {
    await this.#writer?.abort()
    this.#writer = undefined
    await this.#chain.handed()
  }

  /** Waits until the store has what was finished; an open segment stays open. */
  async handed(): Promise<void> {
    await this.#chain.handed()
    if (this.#chain.failure) throw this.#chain.failure
  }

  /** Waits for what was finished to be durable. Pieces are when their pack is written. */
  async settled(): Promise<void> {
    await this.#chain.applied()
    if (this.#chain.failure) throw this.#chain.failure
  }

  /** Hands stored data to the store while copying continues. The next store call throws a failure. */
  async roll(): Promise<{ durable: Promise<void> }> {
    if (this.#isStoring) {
      this.#rollWanted = true
      this.#stored ??= Promise.withResolvers()
      await this.#stored.promise
    } else if (!this.#chain.failure) this.#finishSegment()
    const durable = this.#chain.applied()
    await this.#chain.handed()
    return { durable }
  }

  async #storePart(bytes: Buffer, chunk: Chunk, tracker: AbortTracker): Promise<ChunkFacts> {
    this.#isStoring = true
    try {
      // One segment may become durable in the background while the next one fills, not more.
      if (!this.#chain.hasRoom) await this.#chain.room()
      const facts = examineChunk(bytes, chunk, tracker, this.name)
      const plainSize = await this.#append(chunk, cutPieces(bytes, chunk.headers, FRAME_BYTES), facts)
      this.position = chunk.nextOffset
      this.#noteDone()
      this.lastEpoch = chunk.lastEpoch
      this.#openAborted = tracker.open
      this.#lastBatch = markOf(bytes, chunk.headers.at(-1))
      if (chunk.converted) this.#converted.push(chunk.converted)
      if (plainSize >= this.#parts.options.segmentBytes || this.isDone || this.#rollWanted) this.#finishSegment()
      return facts
    } finally {
      this.#isStoring = false
      this.#rollWanted = false
      this.#stored?.resolve()
      this.#stored = undefined
    }
  }

  #noteDone(): void {
    if (this.isDone) this.#doneAtMs ??= this.#parts.now()
  }

  /** A segment with a failed write is never finished, because its contents are unknown. */
  async #append(chunk: Chunk, pieces: readonly Buffer[], facts: ChunkFacts): Promise<number> {
    try {
      this.#writer ??= await this.#openWriter(chunk)
      await this.#writer.append(pieces, facts, this.#parts.storeSignal)
      return this.#writer.plainSize
    } catch (error) {
      this.#chain.failure ??= error
      throw error
    }
  }

  #openWriter({ mostlyPlain, headers, startOffset }: Chunk): BatchWriter | Promise<BatchWriter> {
    const { storage, run, options, storeSignal, packs } = this.#parts
    const compressed = options.compression === 'zstd' || (options.compression === 'auto' && mostlyPlain)
    const from = headers[0]?.baseOffset ?? startOffset
    const openSegment = () =>
      SegmentWriter.open(storage, segmentKey(this.#place, from, run, compressed), compressed, storeSignal)
    const list = (this.isReread ? rereadKey : freshKey)(this.identity, this.partition)
    return packs?.open(list, compressed, openSegment) ?? openSegment()
  }

  #finishSegment(): void {
    const writer = this.#writer
    if (!writer) return
    this.#writer = undefined
    const [lastEpoch, openAborted, lastBatch] = [this.lastEpoch, this.#openAborted, this.#lastBatch]
    this.#chain.add({
      hand: () => writer.hand(this.#parts.storeSignal),
      apply: entry => {
        this.#fresh = [...this.#fresh, entry]
        this.#durable = withSegment(this.#durable, entry, lastEpoch, openAborted, lastBatch)
      },
      discard: () => writer.abort(),
    })
    for (const one of this.#converted.splice(0)) this.#note(durable => withConverted(durable, one))
  }

  /** Changes what is known of the partition, behind all that is on its way. */
  #note(change: (durable: ManifestPartition) => ManifestPartition): void {
    this.#chain.add({
      hand: async () => ({ durable: Promise.resolve() }),
      apply: () => {
        this.#durable = change(this.#durable)
      },
    })
  }
}
