import { formatUtc } from '../../lib/clock.ts'
import type { Storage } from '../../storage/storage.ts'
import { incarnationKey } from '../incarnation.ts'
import { listSegments } from '../indexes.ts'
import { type FolderOf, rereadRun, segmentKey } from '../layout.ts'
import type { Manifest, Segment } from '../manifest.ts'
import { SegmentWriter } from '../segment-writer.ts'
import { manifestFrom, ownerOf, stateOf } from './as-manifest.ts'
import { type Change, emptyState, type State } from './change.ts'
import { type CommitFacts, CommitLog, startOf } from './commit-log.ts'
import { commitKey } from './keys.ts'
import { ListTails } from './list-tails.ts'
import { type Merged, type MergeParts, mergePieces } from './merge-pieces.ts'
import { MergingLog } from './merging-log.ts'
import { type OpenedGeneration, openGeneration } from './open-generation.ts'
import { PackSet } from './pack-set.ts'
import { type Merge, tailOf } from './plan-merges.ts'
import { SegmentLists } from './segment-lists.ts'
import { beginLog } from './start-log.ts'

/** What reaches this part of the size of a segment is one. */
const PIECE_SHARE = 16

export interface LogOptions {
  backupId: string
  /** A random name, another one at each call. */
  newRun: () => string
  /** The time by the clock of the store. */
  nowMs: () => number
  folderOf?: FolderOf | undefined
  /** Small appends become pieces of packs, which are merged; absent where every append is a segment. */
  pieces?: PieceOptions | undefined
}

export interface PieceOptions {
  compression: MergeParts['compression']
  segmentBytes: number
  /** Pieces become segments after this time. */
  mergeAfterMs: number
}

/** The newest state of a backup, for one who continues it as version 2. */
export interface LogBase {
  /** Undefined where nothing is committed. One of version 2 does not name its segments. */
  manifest: Manifest | undefined
  /** Undefined where the newest generation is of version 1. */
  opened?: OpenedGeneration | undefined
}

/** The log of a backup, as its only writer has it open over many commits. */
export class LogWriter {
  readonly #storage: Storage
  readonly #options: LogOptions
  readonly #tails: ListTails
  #newest: Manifest | undefined
  #log: CommitLog | undefined
  #merging: MergingLog | undefined

  private constructor(storage: Storage, options: LogOptions, { manifest, opened }: LogBase, tails: ListTails) {
    this.#storage = storage
    this.#options = options
    this.#newest = manifest
    this.#tails = tails
    if (opened) this.#use(new CommitLog(storage, options.backupId, options.newRun, startOf(opened)))
  }

  static async open(storage: Storage, base: LogBase, options: LogOptions, signal: AbortSignal): Promise<LogWriter> {
    const isMerging = options.pieces && base.opened
    const tails = isMerging ? await readTails(storage, base.opened as OpenedGeneration, signal) : new ListTails()
    return new LogWriter(storage, options, base, tails)
  }

  /** The newest generation; its partitions do not name their segments. */
  get newest(): Manifest | undefined {
    return this.#newest
  }

  /** The state of the newest generation. Merges change counts of it that whoever appends does not know of. */
  get state(): State {
    if (this.#log) return this.#log.state
    return this.#newest ? stateOf(this.#newest) : emptyState
  }

  /** Where the small appends of a run go; undefined where each is a segment. */
  openPacks(run: string, signal: AbortSignal): PackSet | undefined {
    const { pieces, backupId, nowMs } = this.#options
    if (!pieces) return undefined
    const maxPieceBytes = pieces.segmentBytes / PIECE_SHARE
    return new PackSet(this.#storage, { backupId, run, maxPieceBytes, now: () => formatUtc(nowMs()) }, signal)
  }

  /** The segments that the newest generation has of a list. */
  async readList(list: string, signal: AbortSignal): Promise<readonly Segment[]> {
    if (!this.#log) return this.#readFirstList(list, signal)
    const opened = await openGeneration(this.#storage, this.#options.backupId, this.#log.generation, signal)
    return new SegmentLists(this.#storage, opened).read(list, signal)
  }

  /** The same where the newest generation is one of version 1. */
  async #readFirstList(list: string, signal: AbortSignal): Promise<readonly Segment[]> {
    const owner = ownerOf(list)
    const topic = this.#newest?.topics.find(one => incarnationKey(one) === owner.topic)
    const partition = topic?.partitions.find(one => one.partition === owner.partition)
    const found = owner.isReread ? partition?.reread : partition
    return topic && found ? listSegments(this.#storage, topic, found, signal) : []
  }

  /**
   * Creates the next generation, and begins with version 2 where the backup has not yet. `confirm` is called right before anything counts,
   * with the keys that merges add, and fails where the writer may no longer commit. See `CommitLog.commit`.
   */
  async commit(
    facts: CommitFacts,
    change: Change,
    confirm: (keys: readonly string[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<{ isEarlier: boolean }> {
    const { backupId } = this.#options
    if (!this.#log) {
      await confirm([])
      this.#use(await this.#begin(signal))
    }
    const log = this.#log as CommitLog
    if (!this.#merging) await confirm([])
    const result = await (this.#merging?.commit(facts, change, confirm, signal) ?? log.commit(facts, change, signal))
    const { generation, state } = log
    const stated = { ...facts, backup_id: backupId, generation }
    this.#newest = manifestFrom(stated, state, commitKey(backupId, generation))
    return result
  }

  /**
   * Merges what is due, rolls up, and writes checkpoints, for the time between two commits. True where it has written a
   * checkpoint.
   */
  async tidy(signal: AbortSignal): Promise<boolean> {
    const before = this.#log?.checkpointKey
    await (this.#merging ?? this.#log)?.tidy(signal)
    return this.#log?.checkpointKey !== before
  }

  async #begin(signal: AbortSignal): Promise<CommitLog> {
    const { backupId, newRun } = this.#options
    const start = await beginLog(this.#storage, backupId, this.#newest, newRun(), signal)
    // None of them is a piece.
    for (const [list, { segments }] of start.state.lists) this.#tails.set(list, { start: segments, segments: [] })
    return new CommitLog(this.#storage, backupId, newRun, start)
  }

  #use(log: CommitLog): void {
    const { pieces, nowMs } = this.#options
    this.#log = log
    if (!pieces) return
    const { segmentBytes, mergeAfterMs } = pieces
    const rules = () => ({ maxPieceBytes: segmentBytes / PIECE_SHARE, olderThanMs: nowMs() - mergeAfterMs })
    const merge = (merges: readonly Merge[], signal: AbortSignal) => this.#merge(merges, pieces, log.state, signal)
    this.#merging = new MergingLog(log, this.#tails, { merge, rules })
  }

  async #merge(
    merges: readonly Merge[],
    { compression }: PieceOptions,
    { topics }: State,
    signal: AbortSignal,
  ): Promise<Merged[]> {
    const { backupId, newRun, folderOf } = this.#options
    const run = newRun()
    const packs = this.openPacks(run, signal)
    if (!packs) return []
    const openSegment: MergeParts['openSegment'] = ({ list, sources }, compressed, segmentSignal) => {
      const { isReread, topic, partition } = ownerOf(list)
      const name = topics.get(topic)?.name
      const [first] = sources
      if (name === undefined || !first) throw new Error(`${list} has no topic, or nothing to merge`)
      const place = { backupId, topic: name, partition, folderOf }
      const key = segmentKey(place, first.start_offset, isReread ? rereadRun(run) : run, compressed)
      return SegmentWriter.open(this.#storage, key, compressed, segmentSignal)
    }
    return mergePieces(merges, { storage: this.#storage, packs, compression, openSegment }, signal)
  }
}

async function readTails(storage: Storage, opened: OpenedGeneration, signal: AbortSignal): Promise<ListTails> {
  const lists = new SegmentLists(storage, opened)
  const tails = new ListTails()
  // Those of a page one after the other.
  for (const list of [...opened.state.lists.keys()].sort()) tails.set(list, tailOf(await lists.read(list, signal)))
  return tails
}
