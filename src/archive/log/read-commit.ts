import { hasCode, type KafkaBackupError } from '../../errors.ts'
import { mapAhead } from '../../lib/read-ahead.ts'
import type { Storage } from '../../storage/storage.ts'
import { damaged, readNamed, unlessMissing } from '../damage.ts'
import type { NamedObject } from '../manifest.ts'
import { assertChain, assertNamed } from './assert-documents.ts'
import { type Change, ChangedState, emptyState, type State } from './change.ts'
import { type DecodeChange, decodeChange, decodeTopics } from './change-document.ts'
import { composeAll } from './compose-changes.ts'
import { nameDocument, readDocument, readRecorded, unpackDocument, withoutLists } from './document.ts'
import {
  type ChangePart,
  type Checkpoint,
  type Commit,
  changePartSchema,
  checkpointSchema,
  commitSchema,
  MAX_ORIGINALS,
} from './documents.ts'
import { commitKey, keptKey } from './keys.ts'

const CONCURRENCY = 8

/** A commit as it was read, with its own size and hash. */
export interface ReadCommit {
  commit: Commit
  ref: NamedObject
  /** What is wrong with the commit itself, where it is there and the one in `kept/` was read instead. */
  damage?: KafkaBackupError
}

/** The commit of a generation, without what it names. Where retention has removed it and keeps the generation, another one takes its place. */
export async function readCommit(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<ReadCommit> {
  let damage: KafkaBackupError
  try {
    return await readOwnCommit(storage, backupId, generation, signal)
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
    damage = error
  }
  const kept = await readKeptCommit(storage, backupId, generation, signal)
  if (!kept) throw damage
  // Retention that was interrupted has left both, and either is enough.
  return hasCode(damage.cause, 'STORAGE_NOT_FOUND') ? kept : { ...kept, damage }
}

/** The commit itself: the one in `kept/` does not say what the generation has added, which later ones may need. */
export async function readOwnCommit(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<ReadCommit> {
  const key = commitKey(backupId, generation)
  return unpackCommit(await readNamed(storage, key, signal), key, backupId, generation)
}

/** What takes the place of a commit; undefined where there is nothing. */
export async function readKeptCommit(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<ReadCommit | undefined> {
  const key = keptKey(backupId, generation)
  const bytes = await unlessMissing(storage.read(key, signal))
  return bytes && unpackCommit(bytes, key, backupId, generation)
}

async function unpackCommit(bytes: Buffer, key: string, backupId: string, generation: number): Promise<ReadCommit> {
  const commit = await unpackDocument(commitSchema, bytes, key)
  if (commit.backup_id !== backupId || commit.generation !== generation) {
    throw damaged(key, `belongs to generation ${commit.generation} of backup \`${commit.backup_id}\``)
  }
  assertChain(commit, key)
  return { commit, ref: nameDocument(key, bytes) }
}

/** The first generation whose commit a reader needs, in addition to roll-ups. */
export function firstCommitOf({ checkpoint, rollups }: Pick<Commit, 'checkpoint' | 'rollups'>): number {
  return (rollups.at(-1)?.to ?? checkpoint?.generation ?? 0) + 1
}

/** What takes the place of a commit names these as `originals`. */
export function originalsOf(read: ReadCommit): string[] {
  return hashesOf(read).slice(-MAX_ORIGINALS)
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
    yield decodePart(
      await unpackDocument(changePartSchema, bytes, ref.key, asTextFor(decode)),
      ref.key,
      backupId,
      decode,
    )
  }
}

/** Lists, which are most of a document, are not parsed for one that leaves them out. */
function asTextFor(decode: DecodeChange): typeof withoutLists | undefined {
  return decode === decodeTopics ? withoutLists : undefined
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
  const read = async (generation: number) => {
    const key = commitKey(backupId, generation)
    return { generation, key, bytes: await readNamed(storage, key, signal) }
  }
  let before: NamedObject | undefined
  // The last one that does not fit: only a commit that is the right one can say what comes before it.
  let exchanged: NamedObject | undefined
  for await (const { generation, key, bytes } of mapAhead(oneByOne(generations), CONCURRENCY, read)) {
    const one = await unpackCommit(bytes, key, backupId, generation)
    if (!isFollowed(before, one.commit.previous)) exchanged = before
    if (!exchanged) yield await readChange(storage, one, signal, decode)
    before = one.ref
  }
  if (!isFollowed(before, last)) exchanged = before
  if (exchanged) throw damaged(exchanged.key, 'is not the commit that the next one follows')
}

function isFollowed(before: NamedObject | undefined, next: Commit['previous']): boolean {
  return !before || before.blake3 === next?.blake3
}

async function* oneByOne<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items
}

/** One by one: how many there are is what the commit claims, and the first that is missing ends it. */
export function* numbersBetween(first: number, end: number): Generator<number> {
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
  const checkpoint = await readDocument(storage, checkpointSchema, ref, signal, asTextFor(decode))
  if (checkpoint.backup_id !== backupId || checkpoint.generation !== ref.generation) {
    throw damaged(ref.key, `belongs to generation ${checkpoint.generation} of backup \`${checkpoint.backup_id}\``)
  }
  assertNamed(checkpoint, ref.key)
  const changed = new ChangedState(emptyState)
  changed.apply(decode(checkpoint.change, ref.key))
  for await (const change of walkDocuments(storage, backupId, checkpoint.parts, signal, decode)) changed.apply(change)
  return { checkpoint, state: changed.state }
}
