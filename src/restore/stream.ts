import { isWholeBatch } from '../batch/header.ts'
import { stampBatch } from '../batch/stamp.ts'
import { KafkaBackupError } from '../errors.ts'
import type { MetadataTopic } from '../kafka/api/metadata.ts'
import type { ProducerIdentity } from '../kafka/produce-lane.ts'
import { addMarks } from './group-marks.ts'
import { addCounts, type IdTally, noCounts } from './id-counts.ts'
import type { SourcePosition } from './legs.ts'
import { describeOthers, isOtherVersion } from './other-versions.ts'
import type { Conversion, Outgoing, OutgoingBlock } from './outgoing-batch.ts'
import type { BoundProgram } from './outgoing-options.ts'
import { isUntouched, type StreamProgress } from './progress.ts'
import { givenId, isReplaced, replacedError } from './replaced-topics.ts'

interface StreamParts {
  topic: string
  topicId: string
  partition: number
  identity: ProducerIdentity
  /** The batches from this place of the source on, in blocks. */
  open: (from: SourcePosition) => AsyncIterator<OutgoingBlock>
  /** About how many records there are from this place of the source on. */
  countFrom: (from: SourcePosition) => Promise<number>
  /** Others may write to the partition, too. */
  isShared: boolean
  /** Where what is sent depends on the program. */
  program?: BoundProgram | undefined
}

/** One partition of the target on its way to being filled: what comes next, and what is there already. */
export class Stream {
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  /** `skipped` were on the target already, beyond what was noted. */
  readonly records = { sent: 0, bytes: 0, skipped: 0 }
  readonly conversions = new Map<Conversion, number>()
  /** What all runs have found of schema ids, in so many records. */
  readonly checked: IdTally
  readonly #parts: StreamParts
  #blocks: AsyncIterator<OutgoingBlock> | undefined
  #block: Iterator<Outgoing> | undefined
  #next: Outgoing | undefined
  #progress: StreamProgress
  /** Records whose schema ids come with a later batch. */
  #uncounted = 0

  constructor(parts: StreamParts, progress: StreamProgress) {
    this.topic = parts.topic
    this.topicId = parts.topicId
    this.partition = parts.partition
    this.#parts = parts
    const topicId = progress.topicId ?? givenId({ name: parts.topic, id: parts.topicId })
    const version = progress.version ?? (isUntouched(progress) ? parts.program?.version : undefined)
    this.#progress = {
      ...progress,
      ...(topicId !== undefined && { topicId }),
      ...(version !== undefined && { version }),
    }
    this.confirmTopic({ name: parts.topic, id: parts.topicId })
    this.checked = { records: progress.checked?.records ?? 0, ids: noCounts() }
    if (progress.checked) addCounts(this.checked.ids, progress.checked.ids)
  }

  get name(): string {
    return `${this.topic}/${this.partition}`
  }

  /** For errors. */
  get details(): { topic: string; partition: number } {
    return { topic: this.topic, partition: this.partition }
  }

  get progress(): StreamProgress {
    return this.checked.records > 0 ? { ...this.#progress, checked: this.checked } : this.#progress
  }

  get identity(): ProducerIdentity {
    return this.#parts.identity
  }

  /** Throws where the target shows another topic under the name. */
  confirmTopic(shown: Pick<MetadataTopic, 'id' | 'name'> | undefined): void {
    if (shown && isReplaced(this.#progress.topicId, shown)) throw replacedError(this.topic, this.#parts.isShared)
  }

  /** What earlier runs have written is known, and this one writes next. True where its version writes the first records, and has to be noted. */
  begin(): boolean {
    const { program } = this.#parts
    if (!program || !isUntouched(this.#progress) || !isOtherVersion(this.#progress, program)) return false
    this.#progress = { ...this.#progress, version: program.version }
    return true
  }

  /** About how many records are not on the target yet. */
  async countLeft(): Promise<number> {
    return this.#progress.isDone ? 0 : this.#parts.countFrom(this.#progress)
  }

  /** The batch that is to be sent next, stamped; the same one until it is stored. Undefined at the end. A promise only where it must be read first. */
  peek(): Outgoing | undefined | Promise<Outgoing | undefined> {
    if (this.#next || this.#progress.isDone) return this.#next
    return this.#takeNext() ?? this.#read()
  }

  async #read(): Promise<Outgoing | undefined> {
    for (;;) {
      this.#blocks ??= this.#parts.open(this.#progress)
      const { value, done } = await this.#blocks.next().catch(error => {
        // A generator that has thrown says that it is at its end when it is asked again.
        this.#restart()
        throw error
      })
      if (done) {
        this.#progress = { ...this.#progress, isDone: true }
        return undefined
      }
      this.#block = value[Symbol.iterator]()
      const next = this.#takeNext()
      if (next) return next
    }
  }

  /** Undefined at the end of the block. */
  #takeNext(): Outgoing | undefined {
    if (!this.#block) return undefined
    let next: Outgoing | undefined
    try {
      const { value, done } = this.#block.next()
      next = done ? undefined : value
    } catch (error) {
      this.#restart()
      throw error
    }
    if (!next) {
      this.#block = undefined
      return undefined
    }
    const { bytes } = next
    if (!isWholeBatch(bytes)) {
      throw new KafkaBackupError('INTERNAL', `${this.name}: what is to be sent is not a batch`)
    }
    const { producerId, producerEpoch } = this.#parts.identity
    stampBatch(bytes, 0, bytes.length, { producerId, producerEpoch, baseSequence: this.#progress.sequence })
    this.#next = next
    return next
  }

  /** The broker has appended the batch at this offset. */
  stored(batch: Outgoing, baseOffset: bigint): void {
    const expected = this.#progress.targetOffset
    if (baseOffset !== expected && !(this.#parts.isShared && baseOffset > expected)) {
      throw conflict(this, expected, `a batch was stored at ${baseOffset}`)
    }
    this.#next = undefined
    this.records.sent += batch.recordCount
    this.records.bytes += batch.bytes.length
    if (batch.conversion) this.conversions.set(batch.conversion, (this.conversions.get(batch.conversion) ?? 0) + 1)
    this.#count(batch, this.checked)
    const end = positionAfter(batch, batch.recordCount)
    this.#advance(batch.recordCount, baseOffset + BigInt(batch.recordCount), end)
  }

  /**
   * So many of the records that come next are on the target already, which ends behind them. Nothing is noted of it
   * before all of them were found: in a shared partition only the end is known.
   */
  async skip(count: number, targetOffset: bigint): Promise<void> {
    this.#refuseOtherVersion()
    let left = count
    let end: SourcePosition = this.#progress
    const found = { records: 0, ids: noCounts() }
    try {
      while (left > 0) {
        const batch = await this.peek()
        if (!batch) throw conflict(this, this.#progress.targetOffset, `${left} records more than the backup has`)
        this.#next = undefined
        const taken = Math.min(left, batch.recordCount)
        end = positionAfter(batch, taken)
        left -= taken
        if (taken === batch.recordCount) this.#count(batch, found)
        // The rest of the batch is rebuilt, starting at the first missing record.
        if (taken < batch.recordCount) this.#restart()
      }
    } catch (error) {
      this.#restart()
      throw error
    }
    this.records.skipped += count
    this.checked.records += found.records
    addCounts(this.checked.ids, found.ids)
    this.#advance(count, targetOffset, end)
  }

  /** These groups have their offsets on it, which its next note names. Returns what undoes it. */
  give(groups: Parameters<typeof addMarks>[1]): () => void {
    const before = this.#progress.given
    this.#progress = { ...this.#progress, given: addMarks(before ?? '', groups) }
    return () => {
      const { given: _, ...rest } = this.#progress
      this.#progress = { ...rest, ...(before !== undefined && { given: before }) }
    }
  }

  /** Releases resources. The progress is kept. */
  close(): void {
    this.#restart()
  }

  /** What is known of a part of a batch is not: such records are missing in the count. */
  #count({ ids, recordCount }: Outgoing, into: IdTally): void {
    this.#uncounted += recordCount
    if (!ids) return
    into.records += this.#uncounted
    this.#uncounted = 0
    addCounts(into.ids, ids)
  }

  /** A run that was killed before it noted its first records shows by them. */
  #refuseOtherVersion(): void {
    const { program, isShared } = this.#parts
    if (!program || !isOtherVersion(this.#progress, program)) return
    const { problem, remedy } = describeOthers([this.#progress], program, isShared)
    const help = `To continue: ${remedy}.`
    throw new KafkaBackupError('RESTORE_REFUSED', `topic ${this.topic}: ${problem}`, { help, details: this.details })
  }

  #restart(): void {
    this.#uncounted = 0
    // Later read failures are ignored.
    void this.#blocks?.return?.().catch(() => undefined)
    this.#blocks = undefined
    this.#block = undefined
  }

  #advance(count: number, targetOffset: bigint, { sourcePartition, sourceOffset }: SourcePosition): void {
    const sequence = nextSequence(this.#progress.sequence, count)
    this.#progress = { ...this.#progress, targetOffset, sourcePartition, sourceOffset, sequence }
  }
}

/** Sequences have 31 bits and restart at 0. */
export function nextSequence(sequence: number, count: number): number {
  return (sequence + count) % 2_147_483_648
}

/** Behind the first `count` records of the batch. */
function positionAfter({ runs, sourcePartition }: Outgoing, count: number): SourcePosition {
  let left = count
  for (const run of runs) {
    if (left <= run.count) return { sourcePartition, sourceOffset: run.sourceOffset + BigInt(left) }
    left -= run.count
  }
  throw new KafkaBackupError('INTERNAL', `a batch has fewer than ${count} records`)
}

export function conflict({ name, details }: Stream, offset: bigint, what: string): KafkaBackupError {
  return new KafkaBackupError('RESTORE_CONFLICT', `${name}: another writer writes to it: at offset ${offset} ${what}`, {
    details: { ...details, offset },
  })
}
