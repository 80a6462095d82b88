import { hasCode, KafkaBackupError } from '../../errors.ts'
import type { Storage } from '../../storage/storage.ts'
import { type Chain, type DueRollup, dueRollup, isCheckpointDue, withRollup } from './chain.ts'
import { applyChange, type Change, emptyState, type State } from './change.ts'
import type { PageOptions } from './checkpoint-pages.ts'
import { createCommit } from './create-commit.ts'
import type { CheckpointRef, Commit, PageRef } from './documents.ts'
import { HeldChanges } from './held-changes.ts'
import { changeKey, commitKey, parseCommitKey, rollupKey } from './keys.ts'
import type { OpenedGeneration } from './open-generation.ts'
import { firstCommitOf, readChange } from './read-commit.ts'
import { readRollupSources } from './read-rollup-sources.ts'
import { writeChange, writeOverflow } from './write-change.ts'
import { sizeOf, writeCheckpoint, writeCheckpointOf } from './write-checkpoint.ts'

/** What a commit says besides its change. */
export type CommitFacts = Pick<Commit, 'tool_version' | 'run' | 'complete' | 'created_at' | 'started_at' | 'originals'>

/** Where a log begins: a generation of it, or a checkpoint of a backup of version 1, or nothing. */
export interface LogStart {
  generation: number
  state: State
  chain: Chain
  /** `isKept`: its commit is damaged or lost, and another one in `kept/` was read. */
  previous: { size: number; blake3: string; isKept?: boolean } | null
  checkpointBytes: number
  /** Of the checkpoint. */
  pages: readonly PageRef[]
}

/** What a writer has rolled up behind its newest commit, which only the next one names. */
export type RolledUp = Omit<LogStart, 'state'>

export const emptyStart: LogStart = {
  generation: 0,
  state: emptyState,
  chain: { checkpoint: null, rollups: [] },
  previous: null,
  checkpointBytes: 0,
  pages: [],
}

export function startOf({ commit, ref, state, checkpoint }: OpenedGeneration): LogStart {
  const { generation, checkpoint: named, rollups } = commit
  const checkpointBytes = named && checkpoint ? sizeOf([named, ...checkpoint.parts, ...checkpoint.pages]) : 0
  const pages = checkpoint?.pages ?? []
  // Of one in `kept/`, the commit whose place it takes: copies know that one, and it may come back from a version of the bucket.
  const isKept = parseCommitKey(ref.key) === undefined
  const blake3 = (isKept ? commit.originals?.at(-1) : undefined) ?? ref.blake3
  const previous = { size: ref.size, blake3, isKept }
  return { generation, state, chain: { checkpoint: named, rollups }, previous, checkpointBytes, pages }
}

/** Continues with what the same writer had rolled up before, where nothing was committed since: otherwise every attempt to commit would write it again. */
export async function withRolledUp(
  storage: Storage,
  start: LogStart,
  rolledUp: RolledUp | undefined,
  signal: AbortSignal,
): Promise<LogStart> {
  const { state, generation, previous } = start
  if (rolledUp?.generation !== generation || rolledUp.previous?.blake3 !== previous?.blake3) return start
  const { checkpoint, rollups } = rolledUp.chain
  const documents = [...(checkpoint ? [checkpoint] : []), ...rollups.flatMap(one => one.documents)]
  // A prune may have removed what no commit names while the store could not be reached.
  for (const { key } of documents) if (!(await storage.stat(key, signal))) return start
  return { ...rolledUp, state, previous }
}

/**
 * Whether a writer has to begin with a checkpoint. Without one, later generations would need what is damaged, too: the commit of a generation that is read
 * from `kept/`, a roll-up, or a checkpoint.
 */
export function needsCheckpoint({ ref, lost }: OpenedGeneration): boolean {
  return lost.length > 0 || parseCommitKey(ref.key) === undefined
}

/**
 * The generations that one writer adds to a backup. Only the holder of the writer's lease has one. Commits are made one
 * after the other; roll-ups and checkpoints are made next to them, one at a time, and count from the next commit on.
 */
export class CommitLog {
  readonly #storage: Storage
  readonly #backupId: string
  readonly #newWriter: () => string
  #state: State
  #generation: number
  #chain: Chain
  #previous: LogStart['previous']
  #checkpointBytes: number
  #pages: LogStart['pages']
  readonly #held: HeldChanges

  /** `newWriter` returns a random name, another one at each call. */
  constructor(storage: Storage, backupId: string, newWriter: () => string, start: LogStart = emptyStart) {
    this.#storage = storage
    this.#backupId = backupId
    this.#newWriter = newWriter
    this.#state = start.state
    this.#generation = start.generation
    this.#chain = start.chain
    this.#previous = start.previous
    this.#checkpointBytes = start.checkpointBytes
    this.#pages = start.pages
    this.#held = new HeldChanges(firstCommitOf(start.chain))
  }

  get state(): State {
    return this.#state
  }

  get generation(): number {
    return this.#generation
  }

  /** Of the newest commit. */
  get key(): string {
    return commitKey(this.#backupId, this.#generation)
  }

  get rolledUp(): RolledUp {
    const [generation, chain, previous] = [this.#generation, this.#chain, this.#previous]
    return { generation, chain, previous, checkpointBytes: this.#checkpointBytes, pages: this.#pages }
  }

  /** The checkpoint that the next commit names. */
  get checkpointKey(): string | undefined {
    return this.#chain.checkpoint?.key
  }

  /**
   * Creates the commit of the next generation. Fails with WRITER_CONFLICT where another run has made it. `isEarlier`: an earlier
   * attempt of the same run had taken effect without a reply; the state is that one's. `committed` is the change that it has.
   */
  async commit(
    facts: CommitFacts,
    change: Change,
    signal: AbortSignal,
  ): Promise<{ isEarlier: boolean; committed: Change }> {
    const generation = this.#generation + 1
    const writer = this.#newWriter()
    const keyOf = (number: number) => changeKey(this.#backupId, generation, writer, number)
    const written = await writeOverflow({ storage: this.#storage, backupId: this.#backupId, keyOf }, change, signal)
    const previous = this.#previous
    const document = {
      ...facts,
      backup_id: this.#backupId,
      generation,
      previous: previous && { size: previous.size, blake3: previous.blake3 },
      ...this.#chain,
      ...written,
    }
    const needed = previous && !previous.isKept ? previous : undefined
    const { ref, earlier } = await createCommit(this.#storage, document, needed, signal)
    const committed = earlier ? await readChange(this.#storage, earlier, signal) : change
    this.#advance(generation, committed, ref)
    return { isEarlier: earlier !== undefined, committed }
  }

  /** Rolls up what is due, and writes a checkpoint where that serves readers better. Takes effect with the next commit. */
  async tidy(signal: AbortSignal, onList?: PageOptions['onList']): Promise<void> {
    const newest = this.#generation
    for (let due = dueRollup(this.#chain, newest); due; due = dueRollup(this.#chain, newest)) {
      const { from, to, level } = due
      const held = level === 1 ? this.#held.take(from, to) : undefined
      const whole = held ?? (await this.#readSources(due, signal, onList))
      const writer = this.#newWriter()
      const keyOf = (number: number) => rollupKey(this.#backupId, from, to, writer, number)
      const target = { storage: this.#storage, backupId: this.#backupId, keyOf }
      const documents = await writeChange(target, whole, signal)
      this.#chain = withRollup(this.#chain, due, documents)
    }
    if (isCheckpointDue(this.#chain, newest, this.#checkpointBytes)) await this.checkpoint(signal, onList)
  }

  /** Of the newest generation. `onList` sees the segments of lists that have changed since the one before. */
  async checkpoint(signal: AbortSignal, onList?: PageOptions['onList']): Promise<CheckpointRef> {
    const [generation, state] = [this.#generation, this.#state]
    const pending = this.#held.takeAll(this.#firstBehindCheckpoint, generation)
    try {
      const commit = { backup_id: this.#backupId, generation }
      const ref = { key: commitKey(this.#backupId, generation) }
      const source = pending && { commit, ref, state, checkpoint: { pages: this.#pages }, pending }
      const written = source
        ? await writeCheckpoint(this.#storage, source, this.#newWriter(), signal, { onList })
        : await writeCheckpointOf(this.#storage, commit, this.#newWriter(), signal, { onList })
      this.#chain = { checkpoint: written.ref, rollups: [] }
      this.#checkpointBytes = written.bytes
      this.#pages = written.pages
      return written.ref
    } catch (error) {
      this.#held.restart(firstCommitOf(this.#chain))
      throw error
    }
  }

  #advance(generation: number, change: Change, ref: { size: number; blake3: string }): void {
    this.#state = applyChange(this.#state, change)
    this.#generation = generation
    this.#previous = ref
    this.#held.add(generation, change)
  }

  get #firstBehindCheckpoint(): number {
    return (this.#chain.checkpoint?.generation ?? 0) + 1
  }

  /**
   * What another writer has committed before this one began, and roll-ups. Where one is damaged, every later generation would need it, so a
   * checkpoint takes its place: of what this writer holds, or of the commits that a roll-up was made of.
   */
  async #readSources(due: DueRollup, signal: AbortSignal, onList: PageOptions['onList']): Promise<Change> {
    const reader = { storage: this.#storage, backupId: this.#backupId, newest: this.#generation, last: this.#previous }
    try {
      return await readRollupSources(reader, due, signal)
    } catch (error) {
      if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
      const isHeld = this.#held.hasAll(this.#firstBehindCheckpoint, this.#generation)
      if (!isHeld && due.sources.length === 0) throw error
      await this.checkpoint(signal, onList)
      const message = `${error.message}; a checkpoint takes its place, so that later generations do not need it`
      throw new KafkaBackupError('ARCHIVE_DAMAGED', message, { cause: error, details: error.details })
    }
  }
}
