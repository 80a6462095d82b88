import type { Storage } from '../../storage/storage.ts'
import type { Manifest, Segment } from '../manifest.ts'
import { manifestFrom, stateOf } from './as-manifest.ts'
import { type Change, emptyState, type State } from './change.ts'
import {
  type CommitFacts,
  CommitLog,
  type LogStart,
  needsCheckpoint,
  type RolledUp,
  startOf,
  withRolledUp,
} from './commit-log.ts'
import { DamagedSources, warningsOf } from './damaged-sources.ts'
import { ListTails } from './list-tails.ts'
import { MergingLog } from './merging-log.ts'
import type { OpenedGeneration } from './open-generation.ts'
import type { PackSet } from './pack-set.ts'
import { type PieceOptions, type PiecePlaces, PieceStore } from './piece-store.ts'
import { readFirstList, readList, readTails } from './read-lists.ts'
import { beginLog } from './start-log.ts'
import { writerWarnings } from './writer-warnings.ts'

export interface LogOptions extends PiecePlaces {
  /** Small appends become pieces of packs, which are merged; absent where every append is a segment. */
  pieces?: PieceOptions | undefined
  /** What merging has found, for one who opens the log more than once. */
  damaged?: DamagedSources | undefined
  onWarning?: ((message: string) => void) | undefined
  /** Of the same writer, when it had the log open before. */
  rolledUp?: RolledUp | undefined
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
  readonly #tails = new ListTails()
  readonly #pieces: PieceStore | undefined
  #newest: Manifest | undefined
  /** Composes the manifest of the newest commit, which takes time for every partition. */
  #describeNewest: (() => Manifest) | undefined
  #log: CommitLog | undefined
  #merging: MergingLog | undefined

  private constructor(storage: Storage, options: LogOptions, { manifest }: LogBase, start: LogStart | undefined) {
    this.#storage = storage
    this.#options = options
    this.#newest = manifest
    this.#pieces = options.pieces && new PieceStore(storage, options, options.pieces)
    if (start) this.#use(new CommitLog(storage, options.backupId, options.newRun, start))
  }

  static async open(storage: Storage, base: LogBase, options: LogOptions, signal: AbortSignal): Promise<LogWriter> {
    const { opened } = base
    // Before anything is written.
    if (options.onWarning)
      for (const message of await writerWarnings(storage, options.backupId, base, signal)) options.onWarning(message)
    const start = opened && (await withRolledUp(storage, startOf(opened), options.rolledUp, signal))
    const writer = new LogWriter(storage, options, base, start)
    const merging = writer.#merging
    if (merging && opened) await readTails(storage, opened, writer.#tails, merging.watchLists(), signal)
    const hasCheckpoint = start?.chain.checkpoint?.generation === start?.generation
    if (opened && needsCheckpoint(opened) && !hasCheckpoint) await writer.checkpoint(signal)
    return writer
  }

  /** The newest generation; its partitions do not name their segments. */
  get newest(): Manifest | undefined {
    if (this.#describeNewest) this.#newest = this.#describeNewest()
    this.#describeNewest = undefined
    return this.#newest
  }

  /** The state of the newest generation. Merges change its counts, which the one who appends does not know. */
  get state(): State {
    if (this.#log) return this.#log.state
    return this.#newest ? stateOf(this.#newest) : emptyState
  }

  /** Merges wait for a commit although nothing else is new: without it, pieces would stay for longer than they may. */
  get hasOverdueMerges(): boolean {
    return this.#merging?.isOverdue ?? false
  }

  /** Where the small appends of a run go; undefined where each is a segment. */
  openPacks(run: string, signal: AbortSignal): PackSet | undefined {
    return this.#pieces?.openPacks(run, signal)
  }

  /** The segments that the newest generation has of a list. */
  async readList(list: string, signal: AbortSignal): Promise<readonly Segment[]> {
    const { backupId } = this.#options
    if (!this.#log) return readFirstList(this.#storage, this.#newest, list, signal)
    return readList(this.#storage, { backupId, generation: this.#log.generation }, list, signal)
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
    const log = this.#log ?? (await this.#begin(confirm, signal))
    if (!this.#merging) await confirm([])
    const result = await (this.#merging?.commit(facts, change, confirm, signal) ?? log.commit(facts, change, signal))
    const { generation, state, key } = log
    const stated = { ...facts, backup_id: backupId, generation }
    this.#describeNewest = () => manifestFrom(stated, state, key)
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

  /** Without merging, for a run whose rounds fail: the next commit names the roll-ups, so readers need no more documents than otherwise. */
  async rollUp(signal: AbortSignal): Promise<void> {
    await this.#log?.tidy(signal, this.#merging?.watchLists())
  }

  get rolledUp(): RolledUp | undefined {
    return this.#log?.rolledUp
  }

  /** Writes a checkpoint of the newest generation, for the next commit to name. */
  async checkpoint(signal: AbortSignal): Promise<void> {
    await (this.#merging ?? this.#log)?.checkpoint(signal)
  }

  async #begin(confirm: (keys: readonly string[]) => Promise<void>, signal: AbortSignal): Promise<CommitLog> {
    await confirm([])
    const { backupId, newRun } = this.#options
    const start = await beginLog(this.#storage, backupId, this.#newest, newRun(), signal)
    // None of them is a piece.
    for (const [list, { segments }] of start.state.lists) this.#tails.set(list, { start: segments, segments: [] })
    return this.#use(new CommitLog(this.#storage, backupId, newRun, start))
  }

  #use(log: CommitLog): CommitLog {
    this.#log = log
    const pieces = this.#pieces
    if (!pieces) return log
    const { damaged = new DamagedSources(), onWarning } = this.#options
    this.#merging = new MergingLog(log, this.#tails, {
      merge: (merges, signal) => pieces.merge(merges, log.state, signal),
      rules: () => pieces.rules(),
      damaged,
      onDamaged: found => {
        for (const message of warningsOf(found, log.state)) onWarning?.(message)
      },
    })
    return log
  }
}
