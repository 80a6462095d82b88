import { hasCode } from '../../errors.ts'
import { runPool } from '../../lib/pool.ts'
import type { Storage } from '../../storage/storage.ts'
import { assertSegmentKeys } from '../assert-keys.ts'
import { damaged } from '../damage.ts'
import { hashOf } from '../hash.ts'
import type { NamedObject, Segment } from '../manifest.ts'
import { applyChange, applyParts, type Change, composeChanges, emptyState, noChange, type State } from './change.ts'
import { decodeChange, decodeSegment } from './change-document.ts'
import { readDocument, unpackDocument } from './document.ts'
import {
  type Checkpoint,
  type Commit,
  changePartSchema,
  checkpointSchema,
  commitSchema,
  type PageRef,
  pageSchema,
} from './documents.ts'
import { commitKey, commitsPrefix, isLogKey, type LogObject, parseCommitKey } from './keys.ts'

const CONCURRENCY = 8
/** Pages that are kept: readers ask for partitions in the order of their lists. */
const PAGES_KEPT = 2

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

/** All generations that are committed, oldest first. */
export async function listCommits(storage: Storage, backupId: string, signal: AbortSignal): Promise<number[]> {
  const generations: number[] = []
  for (const folder of await commitFolders(storage, backupId, signal)) {
    for (const one of await commitsIn(storage, backupId, folder, signal)) generations.push(one)
  }
  return generations
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
    if (generation !== undefined) generations.push(generation)
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
  const key = commitKey(backupId, generation)
  let bytes: Buffer
  try {
    bytes = await storage.read(key, signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_NOT_FOUND')) throw error
    throw damaged(key, 'is missing', { cause: error })
  }
  const commit = await unpackDocument(commitSchema, bytes, key)
  if (commit.backup_id !== backupId || commit.generation !== generation) {
    throw damaged(key, `belongs to generation ${commit.generation} of backup \`${commit.backup_id}\``)
  }
  assertChain(commit, key)
  return { commit, ref: { key, size: bytes.length, blake3: hashOf(bytes) } }
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
}

function assertKey({ key }: NamedObject, backupId: string, kind: LogObject, at: string): void {
  if (isLogKey(key, backupId, kind)) return
  throw damaged(at, `is damaged: it names ${JSON.stringify(key.slice(0, 200))}, which is not a ${kind}`)
}

/** The first generation whose commit a reader needs, in addition to roll-ups. */
export function firstCommitOf({ checkpoint, rollups }: Pick<Commit, 'checkpoint' | 'rollups'>): number {
  return (rollups.at(-1)?.to ?? checkpoint?.generation ?? 0) + 1
}

/** The whole change of a commit. */
export async function readChange(storage: Storage, { commit, ref }: ReadCommit, signal: AbortSignal): Promise<Change> {
  const parts = await readParts(storage, commit.backup_id, commit.parts, signal)
  return parts.reduce(composeChanges, decodeChange(commit.change, ref.key))
}

/** The changes of documents that are parts of one, or the roll-ups of one range. */
export async function readParts(
  storage: Storage,
  backupId: string,
  documents: readonly NamedObject[],
  signal: AbortSignal,
): Promise<Change[]> {
  return runPool(documents, CONCURRENCY, async ref => {
    const part = await readDocument(storage, changePartSchema, ref, signal)
    if (part.backup_id !== backupId) throw damaged(ref.key, `belongs to backup \`${part.backup_id}\``)
    return decodeChange(part.change, ref.key)
  })
}

/** Reads at most the documents that the commit names and the commits that no roll-up covers. */
export async function openGeneration(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<OpenedGeneration> {
  const read = await readCommit(storage, backupId, generation, signal)
  const { commit } = read
  const [base, rollups, between] = await Promise.all([
    commit.checkpoint ? readCheckpoint(storage, backupId, commit.checkpoint, signal) : undefined,
    runPool(commit.rollups, CONCURRENCY, ({ documents }) => readParts(storage, backupId, documents, signal)),
    readBetween(storage, read, signal),
  ])
  const changes = [...rollups.flat(), ...between, await readChange(storage, read, signal)]
  const pending = changes.reduce(composeChanges, noChange)
  const state = applyChange(base?.state ?? emptyState, pending)
  return { ...read, state, checkpoint: base?.checkpoint, pending }
}

async function readBetween(storage: Storage, { commit }: ReadCommit, signal: AbortSignal): Promise<Change[]> {
  const first = firstCommitOf(commit)
  const generations = Array.from({ length: commit.generation - first }, (_, i) => first + i)
  const reads = await runPool(generations, CONCURRENCY, one => readCommit(storage, commit.backup_id, one, signal))
  let expected = commit.previous
  for (const { commit: one, ref } of reads.toReversed()) {
    if (ref.blake3 !== expected?.blake3) throw damaged(ref.key, 'is not the commit that the next one follows')
    expected = one.previous
  }
  return runPool(reads, CONCURRENCY, one => readChange(storage, one, signal))
}

/** A checkpoint and the state that it holds. */
export async function readCheckpoint(
  storage: Storage,
  backupId: string,
  ref: NamedObject & { generation: number },
  signal: AbortSignal,
): Promise<{ checkpoint: Checkpoint; state: State }> {
  const checkpoint = await readDocument(storage, checkpointSchema, ref, signal)
  if (checkpoint.backup_id !== backupId || checkpoint.generation !== ref.generation) {
    throw damaged(ref.key, `belongs to generation ${checkpoint.generation} of backup \`${checkpoint.backup_id}\``)
  }
  for (const one of [...checkpoint.parts, ...checkpoint.pages]) assertKey(one, backupId, 'checkpoint', ref.key)
  const parts = await readParts(storage, backupId, checkpoint.parts, signal)
  const whole = parts.reduce(composeChanges, decodeChange(checkpoint.change, ref.key))
  return { checkpoint, state: applyChange(emptyState, whole) }
}

/** Reads the segments of lists. */
export class SegmentLists {
  readonly #storage: Storage
  readonly #opened: Pick<OpenedGeneration, 'commit' | 'ref' | 'state' | 'checkpoint' | 'pending'>
  readonly #pages = new Map<string, Promise<ReadonlyMap<string, readonly Segment[]>>>()

  constructor(storage: Storage, opened: Pick<OpenedGeneration, 'commit' | 'ref' | 'state' | 'checkpoint' | 'pending'>) {
    this.#storage = storage
    this.#opened = opened
  }

  /** In the order of their offsets; none for a list that the generation does not have. */
  async read(list: string, signal: AbortSignal): Promise<readonly Segment[]> {
    const { pending, state, ref } = this.#opened
    const row = state.lists.get(list)
    if (!row) return []
    const change = pending.lists.get(list)
    const base = change?.isNew ? [] : await this.#readBase(list, signal)
    const segments = change?.parts ? applyParts(base, change.parts) : base
    if (segments?.length === row.segments) {
      this.#assertKeys(list, segments)
      return segments
    }
    throw damaged(
      ref.key,
      `is damaged: ${list} has ${row.segments} segments, and ${segments?.length ?? 'less'} are named`,
    )
  }

  /** Each segment may only name an object of its own partition, or a pack. */
  #assertKeys(list: string, segments: readonly Segment[]): void {
    const { commit, state, ref } = this.#opened
    const [topic = '', partition = ''] = list.replace(/^reread\//, '').split('/')
    const owner = {
      backupId: commit.backup_id,
      topic: state.topics.get(topic)?.name ?? '',
      partition: Number(partition),
    }
    assertSegmentKeys(
      segments.filter(({ piece }) => !piece),
      owner,
      ref.key,
    )
    for (const { piece } of segments) if (piece) assertKey(piece.pack, commit.backup_id, 'pack', ref.key)
  }

  async #readBase(list: string, signal: AbortSignal): Promise<readonly Segment[]> {
    const page = pageOf(this.#opened.checkpoint?.pages ?? [], list)
    if (!page) return []
    return (await this.#open(page, signal)).get(list) ?? []
  }

  #open(page: PageRef, signal: AbortSignal): Promise<ReadonlyMap<string, readonly Segment[]>> {
    const known = this.#pages.get(page.key)
    if (known) return known
    const reading = readPage(this.#storage, this.#opened.commit.backup_id, page, signal)
    // A failed or aborted read is not kept.
    reading.catch(() => this.#pages.delete(page.key))
    for (const key of [...this.#pages.keys()].slice(0, Math.max(0, this.#pages.size - PAGES_KEPT + 1)))
      this.#pages.delete(key)
    this.#pages.set(page.key, reading)
    return reading
  }
}

/** Pure. The page that has the segments of a list, if it has any. */
export function pageOf(pages: readonly PageRef[], list: string): PageRef | undefined {
  return pages.find(({ first, last }) => first <= list && list <= last)
}

export async function readPage(
  storage: Storage,
  backupId: string,
  ref: PageRef,
  signal: AbortSignal,
): Promise<Map<string, Segment[]>> {
  const page = await readDocument(storage, pageSchema, ref, signal)
  if (page.backup_id !== backupId) throw damaged(ref.key, `belongs to backup \`${page.backup_id}\``)
  return new Map(page.lists.map(([list, rows]) => [list, rows.map(row => decodeSegment(row, page.packs, ref.key))]))
}
