import { hasCode } from '../../errors.ts'
import { runPool } from '../../lib/pool.ts'
import type { Storage } from '../../storage/storage.ts'
import { damaged } from '../damage.ts'
import type { NamedObject } from '../manifest.ts'
import { refuseRepeats } from '../refuse-repeats.ts'
import { applyChange, type Change, emptyState, type State } from './change.ts'
import { type DecodeChange, decodeChange, decodeTopics } from './change-document.ts'
import { composeAll } from './compose-changes.ts'
import { nameDocument, readDocument, unpackDocument } from './document.ts'
import {
  type Checkpoint,
  type Commit,
  changePartSchema,
  checkpointSchema,
  commitSchema,
  type PageRef,
} from './documents.ts'
import {
  commitKey,
  commitsPrefix,
  isLogKey,
  keptKey,
  keptPrefix,
  type LogObject,
  parseCommitKey,
  parseKeptKey,
} from './keys.ts'

const CONCURRENCY = 8

/** A commit as it was read, with its own size and hash. */
export interface ReadCommit {
  commit: Commit
  ref: NamedObject
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

/** Roll-ups follow the checkpoint and one another without a hole, and end before the commit. */
function assertChain({ backup_id, generation, checkpoint, rollups, parts, previous }: Commit, key: string): void {
  let next = (checkpoint?.generation ?? 0) + 1
  for (const { from, to } of rollups) {
    if (from !== next || to < from)
      throw damaged(key, `is damaged: its roll-ups continue with ${from} instead of ${next}`)
    next = to + 1
  }
  if (next > generation) throw damaged(key, `is damaged: it names a state of generation ${next - 1}`)
  if (next < generation && !previous) throw damaged(key, 'is damaged: it does not name the commit before it')
  if (checkpoint) assertKey(checkpoint, backup_id, 'checkpoint', key)
  for (const { documents } of rollups) for (const one of documents) assertKey(one, backup_id, 'rollup', key)
  for (const one of parts) assertKey(one, backup_id, 'change', key)
  // A small commit that names a large document many times would keep a reader busy for years.
  const named = [...rollups.flatMap(({ documents }) => documents), ...parts]
  refuseRepeats(
    'the document',
    named.map(one => one.key),
    key,
  )
}

/** That a key which the document `at` names is of this class, in this backup. */
export function assertKey({ key }: NamedObject, backupId: string, kind: LogObject, at: string): void {
  if (isLogKey(key, backupId, kind)) return
  throw damaged(at, `is damaged: it names ${JSON.stringify(key.slice(0, 200))}, which is not a ${kind}`)
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
  return runPool(documents, CONCURRENCY, async ref => {
    const part = await readDocument(storage, changePartSchema, ref, signal)
    if (part.backup_id !== backupId) throw damaged(ref.key, `belongs to backup \`${part.backup_id}\``)
    return decode(part.change, ref.key)
  })
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
  const [base, rollups, between] = await Promise.all([
    commit.checkpoint ? readCheckpoint(storage, backupId, commit.checkpoint, signal, decode) : undefined,
    runPool(commit.rollups, CONCURRENCY, ({ documents }) => readParts(storage, backupId, documents, signal, decode)),
    readBetween(storage, read, signal, decode),
  ])
  const changes = [...rollups.flat(), ...between, await readChange(storage, read, signal, decode)]
  const pending = composeAll(changes)
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

async function readBetween(
  storage: Storage,
  { commit }: ReadCommit,
  signal: AbortSignal,
  decode: DecodeChange,
): Promise<Change[]> {
  const first = firstCommitOf(commit)
  const generations = numbersBetween(first, commit.generation)
  const reads = await runPool(generations, CONCURRENCY, one => readCommit(storage, commit.backup_id, one, signal))
  assertSequence(reads, commit.previous)
  return runPool(reads, CONCURRENCY, one => readChange(storage, one, signal, decode))
}

/** Each commit is the one that the next one names as the one before it; `last` is what the last of them must be. */
export function assertSequence(reads: readonly ReadCommit[], last: Commit['previous']): void {
  let expected = last
  for (const { commit, ref } of reads.toReversed()) {
    if (ref.blake3 !== expected?.blake3) throw damaged(ref.key, 'is not the commit that the next one follows')
    expected = commit.previous
  }
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
  for (const one of [...checkpoint.parts, ...checkpoint.pages]) assertKey(one, backupId, 'checkpoint', ref.key)
  const named = [...checkpoint.parts, ...checkpoint.pages].map(({ key }) => key)
  refuseRepeats('the document', named, ref.key)
  assertPageOrder(checkpoint.pages, ref.key)
  const parts = await readParts(storage, backupId, checkpoint.parts, signal, decode)
  const whole = composeAll([decode(checkpoint.change, ref.key), ...parts])
  return { checkpoint, state: applyChange(emptyState, whole) }
}

/** Every list is in one page at most. */
function assertPageOrder(pages: readonly PageRef[], at: string): void {
  for (const [i, { first, last }] of pages.entries()) {
    const before = pages[i - 1]
    if (first <= last && (!before || before.last < first)) continue
    throw damaged(at, `is damaged: its page ${i + 1} is out of order`)
  }
}
