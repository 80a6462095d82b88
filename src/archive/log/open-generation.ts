import { hasCode, KafkaBackupError } from '../../errors.ts'
import type { Storage } from '../../storage/storage.ts'
import { unlessDamaged } from '../damage.ts'
import { applyChange, type Change, emptyState, type State } from './change.ts'
import { type DecodeChange, decodeChange } from './change-document.ts'
import { ComposedChange } from './compose-changes.ts'
import type { Checkpoint, CheckpointRef, Commit } from './documents.ts'
import { findExchange } from './exchanged-commit.ts'
import {
  firstCommitOf,
  hashesOf,
  numbersBetween,
  type ReadCommit,
  readChange,
  readCheckpoint,
  readCommit,
  readOwnCommit,
  walkCommits,
  walkDocuments,
} from './read-commit.ts'

/** So many damaged checkpoints in a row are read around: each costs as much as opening one more generation. */
export const MAX_LOST_CHECKPOINTS = 8

/** A generation that can be read: its state is in memory, its segments are read page by page. */
export interface OpenedGeneration extends ReadCommit {
  state: State
  /** The one that the commit names, or an older one if that is damaged. */
  checkpoint: Checkpoint | undefined
  /** Everything behind the checkpoint as one change. */
  pending: Change
  /** What is wrong with checkpoints and roll-ups, where older documents and commits were read instead. */
  lost: readonly KafkaBackupError[]
}

/** Reads at most the documents that the commit names and the commits that no roll-up covers, as long as none of them is damaged. */
export async function openGeneration(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
  decode: DecodeChange = decodeChange,
): Promise<OpenedGeneration> {
  return openCommit(storage, await readCommit(storage, backupId, generation, signal), signal, { decode })
}

/** What is wrong with pages of checkpoints, by their keys. */
export type LostPages = ReadonlyMap<string, KafkaBackupError>

/**
 * The generation of a commit. Where a roll-up is damaged, the commits from its first one on are read instead, as long as all of them are there. Where
 * the checkpoint is damaged, or one of its pages is known to be, the generation that it was made of is opened instead.
 */
export async function openCommit(
  storage: Storage,
  read: ReadCommit,
  signal: AbortSignal,
  { decode = decodeChange, lostPages = new Map() }: { decode?: DecodeChange; lostPages?: LostPages } = {},
): Promise<OpenedGeneration> {
  return openedOf(read, await gather(storage, read, { signal, decode, lostPages, depth: 0 }))
}

/** The state of the generation before `firstCommitOf`, which the documents that a commit names hold: no commit is needed. */
export async function openChain(storage: Storage, read: ReadCommit, signal: AbortSignal): Promise<OpenedGeneration> {
  const { backup_id, checkpoint, rollups } = read.commit
  const base = checkpoint ? await readCheckpoint(storage, backup_id, checkpoint, signal) : undefined
  const whole = new ComposedChange()
  await addRollups(storage, { backup_id, rollups }, whole, { signal, decode: decodeChange })
  return openedOf(read, { base, whole, lost: [] })
}

type Base = Awaited<ReturnType<typeof readCheckpoint>> | undefined

/** What a generation is put together from. */
interface Gathered {
  base: Base
  /** Everything behind the base. */
  whole: ComposedChange
  lost: KafkaBackupError[]
}

interface Reading {
  signal: AbortSignal
  decode: DecodeChange
  lostPages: LostPages
  /** How many checkpoints were damaged so far. */
  depth: number
}

function openedOf(read: ReadCommit, { base, whole: { change: pending }, lost }: Gathered): OpenedGeneration {
  const state = applyChange(base?.state ?? emptyState, pending)
  return { ...read, state, checkpoint: base?.checkpoint, pending, lost }
}

async function gather(storage: Storage, read: ReadCommit, reading: Reading): Promise<Gathered> {
  const { base, before, lost } = await gatherBase(storage, read, reading)
  let { rollups } = read.commit
  let lostRollup: KafkaBackupError | undefined
  for (;;) {
    const whole = new ComposedChange()
    if (before) whole.add(before)
    try {
      await addBehind(storage, read, rollups, whole, reading)
      return { base, whole, lost: lostRollup ? [...lost, lostRollup] : lost }
    } catch (error) {
      if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
      const at = rollups.findIndex(one => one.documents.some(({ key }) => key === error.details.key))
      if (at < 0) throw lostRollup ?? error
      if (lostRollup) lost.push(lostRollup)
      lostRollup = error
      rollups = rollups.slice(0, at)
    }
  }
}

/** With these roll-ups, and all commits behind the last of them. */
async function addBehind(
  storage: Storage,
  read: ReadCommit,
  rollups: Commit['rollups'],
  whole: ComposedChange,
  { signal, decode }: Pick<Reading, 'signal' | 'decode'>,
): Promise<void> {
  const { backup_id, generation, previous } = read.commit
  await addRollups(storage, { backup_id, rollups }, whole, { signal, decode })
  const between = numbersBetween(firstCommitOf({ ...read.commit, rollups }), generation)
  for await (const change of walkCommits(storage, backup_id, between, previous, signal, decode)) whole.add(change)
  whole.add(await readChange(storage, read, signal, decode))
}

async function addRollups(
  storage: Storage,
  { backup_id, rollups }: Pick<Commit, 'backup_id' | 'rollups'>,
  whole: ComposedChange,
  { signal, decode }: Pick<Reading, 'signal' | 'decode'>,
): Promise<void> {
  const documents = rollups.flatMap(one => one.documents)
  for await (const change of walkDocuments(storage, backup_id, documents, signal, decode)) whole.add(change)
}

/** The checkpoint; where it is damaged, an older one, and in `before` what the generation of the damaged one has more. */
async function gatherBase(
  storage: Storage,
  read: ReadCommit,
  reading: Reading,
): Promise<{ base: Base; before?: Change; lost: KafkaBackupError[] }> {
  const { backup_id, checkpoint } = read.commit
  if (!checkpoint) return { base: undefined, lost: [] }
  try {
    const base = await readCheckpoint(storage, backup_id, checkpoint, reading.signal, reading.decode)
    for (const { key } of base.checkpoint.pages) assertNotLost(key, reading.lostPages)
    return { base, lost: [] }
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
    const older = await gatherOlder(storage, read, checkpoint, reading)
    if (!older) throw unreadable(error)
    return { base: older.base, before: older.whole.change, lost: [error, ...older.lost] }
  }
}

function assertNotLost(page: string, lostPages: LostPages): void {
  const error = lostPages.get(page)
  if (error) throw error
}

/**
 * The generation that a checkpoint was made of, from its own commit. Only the commit behind it shows that it is this one: after a repair, and in a copy, the
 * checkpoint has a state that no commit before it has.
 */
async function gatherOlder(
  storage: Storage,
  read: ReadCommit,
  { generation }: CheckpointRef,
  reading: Reading,
): Promise<Gathered | undefined> {
  if (reading.depth + 1 > MAX_LOST_CHECKPOINTS) return undefined
  const { backup_id } = read.commit
  const { signal } = reading
  const isNext = read.commit.generation === generation + 1
  const next = isNext ? read : await unlessDamaged(readOwnCommit(storage, backup_id, generation + 1, signal))
  if (!next?.commit.previous || (!isNext && (await findExchange(storage, next, signal)))) return undefined
  const own = await unlessDamaged(readCommit(storage, backup_id, generation, signal))
  if (!own || !hashesOf(own).includes(next.commit.previous.blake3)) return undefined
  return unlessDamaged(gather(storage, own, { ...reading, depth: reading.depth + 1 }))
}

function unreadable(error: KafkaBackupError): KafkaBackupError {
  return new KafkaBackupError('ARCHIVE_DAMAGED', error.message, {
    cause: error.cause ?? error,
    help: 'Run `kafka-backup repair --dry-run`: it shows what the other objects of the backup still hold. Earlier generations may be intact.',
    details: error.details,
  })
}
