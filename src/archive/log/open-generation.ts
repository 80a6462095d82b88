import { hasCode, type KafkaBackupError } from '../../errors.ts'
import { mapAhead } from '../../lib/read-ahead.ts'
import type { Storage } from '../../storage/storage.ts'
import { damaged } from '../damage.ts'
import type { NamedObject } from '../manifest.ts'
import { assertChain, assertNamed } from './assert-documents.ts'
import { applyChange, type Change, ChangedState, emptyState, type State } from './change.ts'
import { type DecodeChange, decodeChange, decodeTopics } from './change-document.ts'
import { ComposedChange, composeAll } from './compose-changes.ts'
import { nameDocument, readDocument, readRecorded, unpackDocument } from './document.ts'
import {
  type ChangePart,
  type Checkpoint,
  type Commit,
  changePartSchema,
  checkpointSchema,
  commitSchema,
} from './documents.ts'
import { commitKey, commitsPrefix, keptKey, keptPrefix, parseCommitKey, parseKeptKey } from './keys.ts'

const CONCURRENCY = 8

/** A commit as it was read, with its own size and hash. */
export interface ReadCommit {
  commit: Commit
  ref: NamedObject
  /** What is wrong with the commit itself, where it is there and the one in `kept/` was read instead. */
  damage?: KafkaBackupError
}

/** A generation that can be read: its state is in memory, its segments are read page by page. */
export interface OpenedGeneration extends ReadCommit {
  state: State
  checkpoint: Checkpoint | undefined
  /** Everything behind the checkpoint as one change. */
  pending: Change
}

/** The newest generation that was committed; undefined without one. Two listings, however many generations there are. */
export async function findNewestCommit(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  for (const folder of (await commitFolders(storage, backupId, signal)).reverse()) {
    const newest = (await commitsIn(storage, backupId, folder, signal)).at(-1)
    if (newest !== undefined) return newest
  }
  return undefined
}

/** The generations that are committed, oldest first: at least the newest `count` of them, from as few listings as that takes. */
export async function listCommits(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
  count = Number.POSITIVE_INFINITY,
): Promise<number[]> {
  let generations: number[] = []
  for (const folder of (await commitFolders(storage, backupId, signal)).reverse()) {
    if (generations.length >= count) break
    generations = (await commitsIn(storage, backupId, folder, signal)).concat(generations)
  }
  if (generations.length >= count) return generations
  const kept = new Set(generations)
  for await (const { key } of storage.list(keptPrefix(backupId), signal)) {
    const generation = parseKeptKey(backupId, key)
    if (generation !== undefined) kept.add(generation)
  }
  return [...kept].sort((a, b) => a - b)
}

async function commitFolders(storage: Storage, backupId: string, signal: AbortSignal): Promise<string[]> {
  const folders: string[] = []
  for await (const folder of storage.listFolders(commitsPrefix(backupId), signal)) {
    if (/^[0-9]{9}$/.test(folder)) folders.push(folder)
  }
  return folders.sort()
}

async function commitsIn(storage: Storage, backupId: string, folder: string, signal: AbortSignal): Promise<number[]> {
  const generations: number[] = []
  for await (const { key } of storage.list(`${commitsPrefix(backupId)}${folder}/`, signal)) {
    const generation = parseCommitKey(key)
    if (generation !== undefined && key === commitKey(backupId, generation)) generations.push(generation)
  }
  return generations.sort((a, b) => a - b)
}

/** The commit of a generation, without what it names. */
export async function readCommit(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<ReadCommit> {
  const { key, bytes } = await readCommitBytes(storage, backupId, generation, signal)
  try {
    return await unpackCommit(bytes, key, backupId, generation)
  } catch (error) {
    const other = keptKey(backupId, generation)
    if (!hasCode(error, 'ARCHIVE_DAMAGED') || key === other) throw error
    // Retention that was interrupted has left both, and either is enough.
    const kept = (await storage.stat(other, signal)) ? await storage.read(other, signal) : undefined
    if (!kept) throw error
    return { ...(await unpackCommit(kept, other, backupId, generation)), damage: error }
  }
}

async function unpackCommit(bytes: Buffer, key: string, backupId: string, generation: number): Promise<ReadCommit> {
  const commit = await unpackDocument(commitSchema, bytes, key)
  if (commit.backup_id !== backupId || commit.generation !== generation) {
    throw damaged(key, `belongs to generation ${commit.generation} of backup \`${commit.backup_id}\``)
  }
  assertChain(commit, key)
  return { commit, ref: nameDocument(key, bytes) }
}

/** Where retention has removed the commit and keeps the generation, another one takes its place. */
async function readCommitBytes(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<{ key: string; bytes: Buffer }> {
  let missing: unknown
  for (const key of [commitKey(backupId, generation), keptKey(backupId, generation)]) {
    try {
      return { key, bytes: await storage.read(key, signal) }
    } catch (error) {
      if (!hasCode(error, 'STORAGE_NOT_FOUND')) throw error
      missing ??= error
    }
  }
  throw damaged(commitKey(backupId, generation), 'is missing', { cause: missing })
}

/** Whether there is a commit of the generation, or what takes its place. */
export async function hasCommit(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<boolean> {
  for (const key of [commitKey(backupId, generation), keptKey(backupId, generation)]) {
    if (await storage.stat(key, signal)) return true
  }
  return false
}

/** The first generation whose commit a reader needs, in addition to roll-ups. */
export function firstCommitOf({ checkpoint, rollups }: Pick<Commit, 'checkpoint' | 'rollups'>): number {
  return (rollups.at(-1)?.to ?? checkpoint?.generation ?? 0) + 1
}

/** The hashes that a generation has in the locations that it came through. Two that share one are the same generation. */
export function hashesOf({ commit, ref }: ReadCommit): string[] {
  return [...(commit.originals ?? []), ref.blake3]
}

/** The whole change of a commit. */
export async function readChange(
  storage: Storage,
  { commit, ref }: ReadCommit,
  signal: AbortSignal,
  decode: DecodeChange = decodeChange,
): Promise<Change> {
  const parts = await readParts(storage, commit.backup_id, commit.parts, signal, decode)
  return composeAll([decode(commit.change, ref.key), ...parts])
}

/** The changes of documents that are parts of one, or the roll-ups of one range. */
export async function readParts(
  storage: Storage,
  backupId: string,
  documents: readonly NamedObject[],
  signal: AbortSignal,
  decode: DecodeChange = decodeChange,
): Promise<Change[]> {
  const changes: Change[] = []
  for await (const change of walkDocuments(storage, backupId, documents, signal, decode)) changes.push(change)
  return changes
}

function decodePart(part: ChangePart, key: string, backupId: string, decode: DecodeChange): Change {
  if (part.backup_id !== backupId) throw damaged(key, `belongs to backup \`${part.backup_id}\``)
  return decode(part.change, key)
}

/** Reads at most the documents that the commit names and the commits that no roll-up covers. */
export async function openGeneration(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
  decode: DecodeChange = decodeChange,
): Promise<OpenedGeneration> {
  const read = await readCommit(storage, backupId, generation, signal)
  const { commit } = read
  const base = commit.checkpoint
    ? await readCheckpoint(storage, backupId, commit.checkpoint, signal, decode)
    : undefined
  const whole = new ComposedChange()
  const documents = commit.rollups.flatMap(one => one.documents)
  for await (const change of walkDocuments(storage, backupId, documents, signal, decode)) whole.add(change)
  const between = numbersBetween(firstCommitOf(commit), generation)
  for await (const change of walkCommits(storage, backupId, between, commit.previous, signal, decode)) whole.add(change)
  whole.add(await readChange(storage, read, signal, decode))
  const pending = whole.change
  const state = applyChange(base?.state ?? emptyState, pending)
  return { ...read, state, checkpoint: base?.checkpoint, pending }
}

/** The topics of a generation, without its lists: of many partitions, these are most of the memory. */
export async function openTopics(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<{ commit: Commit; topics: State['topics'] }> {
  const { commit, state } = await openGeneration(storage, backupId, generation, signal, decodeTopics)
  return { commit, topics: state.topics }
}

/**
 * The changes of documents, in their order. The bytes of the next ones are read meanwhile; one at a time is decoded, because that takes
 * many times the memory where there are many partitions.
 */
export async function* walkDocuments(
  storage: Storage,
  backupId: string,
  documents: Iterable<NamedObject>,
  signal: AbortSignal,
  decode: DecodeChange = decodeChange,
): AsyncGenerator<Change> {
  const read = async (ref: NamedObject) => ({ ref, bytes: await readRecorded(storage, ref, signal) })
  for await (const { ref, bytes } of mapAhead(oneByOne(documents), CONCURRENCY, read)) {
    yield decodePart(await unpackDocument(changePartSchema, bytes, ref.key), ref.key, backupId, decode)
  }
}

/** Changes of commits, read like documents. Each is the one that the next one names as the one before it; `last` is what the last of them must be. */
export async function* walkCommits(
  storage: Storage,
  backupId: string,
  generations: Iterable<number>,
  last: Commit['previous'],
  signal: AbortSignal,
  decode: DecodeChange = decodeChange,
): AsyncGenerator<Change> {
  const read = async (generation: number) => ({
    generation,
    ...(await readCommitBytes(storage, backupId, generation, signal)),
  })
  let before: NamedObject | undefined
  for await (const { generation, key, bytes } of mapAhead(oneByOne(generations), CONCURRENCY, read)) {
    const one = await unpackCommit(bytes, key, backupId, generation)
    assertFollows(before, one.commit.previous)
    yield await readChange(storage, one, signal, decode)
    before = one.ref
  }
  assertFollows(before, last)
}

function assertFollows(before: NamedObject | undefined, next: Commit['previous']): void {
  if (!before || before.blake3 === next?.blake3) return
  throw damaged(before.key, 'is not the commit that the next one follows')
}

async function* oneByOne<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items
}

/** One by one: how many there are is what the commit claims, and the first that is missing ends it. */
function* numbersBetween(first: number, end: number): Generator<number> {
  for (let number = first; number < end; number++) yield number
}

/** A checkpoint and the state that it holds. */
export async function readCheckpoint(
  storage: Storage,
  backupId: string,
  ref: NamedObject & { generation: number },
  signal: AbortSignal,
  decode: DecodeChange = decodeChange,
): Promise<{ checkpoint: Checkpoint; state: State }> {
  const checkpoint = await readDocument(storage, checkpointSchema, ref, signal)
  if (checkpoint.backup_id !== backupId || checkpoint.generation !== ref.generation) {
    throw damaged(ref.key, `belongs to generation ${checkpoint.generation} of backup \`${checkpoint.backup_id}\``)
  }
  assertNamed(checkpoint, ref.key)
  const changed = new ChangedState(emptyState)
  changed.apply(decode(checkpoint.change, ref.key))
  for await (const change of walkDocuments(storage, backupId, checkpoint.parts, signal, decode)) changed.apply(change)
  return { checkpoint, state: changed.state }
}
