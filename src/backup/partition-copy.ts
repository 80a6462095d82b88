import type { Incarnation } from '../archive/incarnation.ts'
import type { PieceOwner } from '../archive/log/pack-set.ts'
import type { AbortedTransaction, Gap, LastBatch, ManifestPartition, Segment } from '../archive/manifest.ts'
import type { BatchWriter, ChunkFacts } from '../archive/segment-writer.ts'
import { withConverted, withGap, withHole } from '../archive/summary.ts'
import type { OldRecords } from '../kafka/convert-old-parts.ts'
import { partitionKey } from '../kafka/offsets.ts'
import type { CopiedTopic, PlannedPartition } from './backup-plan.ts'
import { type AbortedStart, AbortTracker, type Chunk, cutPieces, examineChunk, markOf, splitChunk } from './chunk.ts'
import { type CopyParts, isCompressed, listOf, openWriter, type Stored } from './copy-target.ts'
import { DurablePartition } from './durable-partition.ts'

/** Pieces of about this size become zstd frames: large enough to compress well, small enough to seek and to spread. */
const FRAME_BYTES = 1 << 20

/** One partition on its way from the source to the store: how far it was asked for, stored, and made durable. */
export class PartitionCopy implements PieceOwner {
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
  readonly #backupId: string
  #writer: BatchWriter | undefined
  readonly #emptyTo: bigint
  #openAborted: AbortedTransaction[] = AbortTracker.none
  #lastBatch: LastBatch | undefined
  /** Of the open segment. */
  #converted: OldRecords[] | undefined
  readonly #chain: DurablePartition
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
    { fresh, isReread = false }: { fresh?: readonly Segment[] | undefined; isReread?: boolean } = {},
  ) {
    this.#chain = new DurablePartition(planned.durable, fresh)
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
    // Below the log start nothing can be compared.
    this.expectedTail = (planned.logStart ?? this.position) < this.position ? planned.durable.last_batch : undefined
    this.#emptyTo = planned.durable.read_to ?? this.position
    this.#backupId = backupId
    this.#parts = parts
    this.#noteDone()
  }

  get name(): string {
    return partitionKey(this)
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

  /** Nothing waits to be handed to the store, and nothing has failed. */
  get isHanded(): boolean {
    return !this.#writer && this.#chain.isHanded
  }

  /** Why something that was stored does not become durable. */
  get failure(): unknown {
    return this.#chain.failure
  }

  get isSettled(): boolean {
    return this.isHanded && this.#chain.isEmpty
  }

  /** What is durable now. */
  get durable(): ManifestPartition {
    return this.#chain.state
  }

  /** Where to fetch from: the last offset that is stored, to compare it. What is known to be empty may be below the log start by now, where a fetch is refused. */
  get fetchFrom(): bigint {
    if (this.expectedTail) return this.position - 1n
    return this.position > this.#emptyTo ? this.position : this.#emptyTo
  }

  /** The last batch that was stored; before the first one of this run, that of the runs before. */
  get lastBatch(): LastBatch | undefined {
    return this.#lastBatch ?? this.durable.last_batch
  }

  /** Segments that are durable but in no index yet. */
  get fresh(): readonly Segment[] {
    return this.#chain.fresh
  }

  get expected(): readonly Segment[] | undefined {
    return this.#parts.packs || this.#writer ? undefined : this.#chain.expected
  }

  committed(partition: Pick<ManifestPartition, 'segments' | 'indexes'>): void {
    this.#chain.committed(partition)
  }

  /** Checks and stores a chunk; its memory is free when this resolves, or has returned what was in it. */
  store(bytes: Buffer, chunk: Chunk, aborted: readonly AbortedStart[]): Stored | Promise<Stored> {
    return this.#storeNow(bytes, chunk, aborted) ?? this.#storeParts(bytes, chunk, aborted)
  }

  /** The pack of a piece of `#storeNow` is durable. */
  onWritten(entry: Segment): void {
    this.#chain.append(entry, this.lastEpoch, this.#openAborted, this.#lastBatch)
    this.#chain.end()
  }

  onLost(error: unknown): void {
    this.#chain.end({ error })
  }

  /** Most chunks of a round are small, and the last of their partitions: those become pieces without a promise. Undefined where this one does not. */
  #storeNow(bytes: Buffer, chunk: Chunk, aborted: readonly AbortedStart[]): Stored | undefined {
    const { packs } = this.#parts
    if (!packs || chunk.converted || chunk.nextOffset < this.end || !this.isSettled) return undefined
    const [plain, ...others] = cutPieces(bytes, chunk.headers, FRAME_BYTES)
    if (!plain || others.length > 0) return undefined
    const tracker = new AbortTracker(aborted)
    const facts = examineChunk(bytes, chunk, tracker, this.name)
    if (!packs.addNow(listOf(this), plain, isCompressed(this.#parts, chunk), facts, this)) return undefined
    this.#chain.begin()
    this.#noteStored(bytes, chunk, tracker)
    return { records: facts.records, bytes: plain.length }
  }

  async #storeParts(bytes: Buffer, chunk: Chunk, aborted: readonly AbortedStart[]): Promise<Stored> {
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
    this.#chain.note(durable => withHole(durable, this.end))
    this.position = this.end
    this.#noteDone()
  }

  /** The source lost what lies between the position and `gap.to`; with no `to`, everything from here on. */
  recordGap(gap: Gap): void {
    this.#hasGap = true
    this.#finishSegment()
    this.#chain.note(durable => withGap(durable, gap))
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
  handed(): Promise<void> {
    return this.#chain.assertHanded()
  }

  /** Waits for what was finished to be durable. Pieces are when their pack is written. */
  settled(): Promise<void> {
    return this.#chain.assertApplied()
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
      const plainSize = await this.#write(chunk, cutPieces(bytes, chunk.headers, FRAME_BYTES), facts)
      this.#noteStored(bytes, chunk, tracker)
      if (chunk.converted) this.#converted = [...(this.#converted ?? []), chunk.converted]
      if (plainSize >= this.#parts.options.segmentBytes || this.isDone || this.#rollWanted) this.#finishSegment()
      return facts
    } finally {
      this.#isStoring = false
      this.#rollWanted = false
      this.#stored?.resolve()
      this.#stored = undefined
    }
  }

  #noteStored(bytes: Buffer, chunk: Chunk, tracker: AbortTracker): void {
    this.position = chunk.nextOffset
    this.#noteDone()
    this.lastEpoch = chunk.lastEpoch
    this.#openAborted = tracker.open
    this.#lastBatch = markOf(bytes, chunk.headers.at(-1))
  }

  #noteDone(): void {
    if (this.isDone) this.#doneAtMs ??= this.#parts.now()
  }

  /** A segment with a failed write is never finished, because its contents are unknown. */
  async #write(chunk: Chunk, pieces: readonly Buffer[], facts: ChunkFacts): Promise<number> {
    try {
      const place = { ...this.details, backupId: this.#backupId, list: listOf(this) }
      this.#writer ??= await openWriter(this.#parts, place, chunk)
      await this.#writer.append(pieces, facts, this.#parts.storeSignal)
      return this.#writer.plainSize
    } catch (error) {
      this.#chain.failure ??= error
      throw error
    }
  }

  #finishSegment(): void {
    const writer = this.#writer
    if (!writer) return
    this.#writer = undefined
    const last = { epoch: this.lastEpoch, openAborted: this.#openAborted, batch: this.#lastBatch }
    this.#chain.finish(writer, last, this.#parts.storeSignal)
    for (const one of this.#converted ?? []) this.#chain.note(durable => withConverted(durable, one))
    this.#converted = undefined
  }
}
