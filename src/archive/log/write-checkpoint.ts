import type { Storage } from '../../storage/storage.ts'
import { freshKey, rereadKey } from '../incarnation.ts'
import { listSegments } from '../indexes.ts'
import type { Manifest, NamedObject, Segment } from '../manifest.ts'
import { stateOf } from './as-manifest.ts'
import { type Change, type ListChange, noChange, type State } from './change.ts'
import {
  type CheckpointSource,
  type Lists,
  nextKey,
  type PageOptions,
  renewPages,
  type Target,
  writePage,
} from './checkpoint-pages.ts'
import { createDocument, LOG_VERSION } from './document.ts'
import type { CheckpointRef, PageRef } from './documents.ts'
import { checkpointKey } from './keys.ts'
import { openGeneration } from './open-generation.ts'
import { diffRows, zeroRow } from './row-change.ts'
import { writeOverflow } from './write-change.ts'

/** Segments of a page: about a megabyte. */
const MAX_PAGE_SEGMENTS = 20_000

export interface WrittenCheckpoint {
  ref: CheckpointRef
  /** Of all that a reader of the whole checkpoint reads. */
  bytes: number
  pages: readonly PageRef[]
}

/**
 * Writes the state of a generation as a checkpoint. Pages without a change since the checkpoint before it are named again.
 * `writer` is a random name, another one for each checkpoint.
 */
export async function writeCheckpoint(
  storage: Storage,
  opened: CheckpointSource,
  writer: string,
  signal: AbortSignal,
  { maxSegments = MAX_PAGE_SEGMENTS, onList }: Partial<PageOptions> = {},
): Promise<WrittenCheckpoint> {
  const target: Target = {
    storage,
    backupId: opened.commit.backup_id,
    generation: opened.commit.generation,
    writer,
    objects: 0,
  }
  return finishCheckpoint(
    target,
    opened.state,
    await renewPages(target, opened, { maxSegments, onList }, signal),
    signal,
  )
}

/** The same for a generation of which nothing is known: it is opened first. */
export async function writeCheckpointOf(
  storage: Storage,
  { backup_id, generation }: { backup_id: string; generation: number },
  writer: string,
  signal: AbortSignal,
  options: Partial<PageOptions> = {},
): Promise<WrittenCheckpoint> {
  const opened = await openGeneration(storage, backup_id, generation, signal)
  return writeCheckpoint(storage, opened, writer, signal, options)
}

/** The same for a generation of version 1, whose lists are read one after the other. */
export async function writeFirstCheckpoint(
  storage: Storage,
  manifest: Manifest,
  writer: string,
  signal: AbortSignal,
  maxPageSegments = MAX_PAGE_SEGMENTS,
): Promise<WrittenCheckpoint & { state: State }> {
  const state = stateOf(manifest)
  const target: Target = { storage, backupId: manifest.backup_id, generation: manifest.generation, writer, objects: 0 }
  const pages: PageRef[] = []
  let waiting: Lists = []
  let count = 0
  for (const [list, read] of sortedLists(storage, manifest)) {
    const segments = await read(signal)
    if (segments.length > 0) waiting.push([list, segments])
    count += segments.length
    if (count < maxPageSegments) continue
    pages.push(await writePage(target, waiting, signal))
    waiting = []
    count = 0
  }
  if (waiting.length > 0) pages.push(await writePage(target, waiting, signal))
  return { state, ...(await finishCheckpoint(target, state, pages, signal)) }
}

type ReadList = (signal: AbortSignal) => Promise<readonly Segment[]>

function sortedLists(storage: Storage, { topics }: Manifest): [string, ReadList][] {
  const lists = topics.flatMap(topic =>
    topic.partitions.flatMap((one): [string, ReadList][] => {
      const { reread, partition } = one
      const own: [string, ReadList] = [freshKey(topic, partition), signal => listSegments(storage, topic, one, signal)]
      if (!reread) return [own]
      return [own, [rereadKey(topic, partition), signal => listSegments(storage, topic, reread, signal)]]
    }),
  )
  return lists.sort(([a], [b]) => (a < b ? -1 : 1))
}

async function finishCheckpoint(
  target: Target,
  state: State,
  pages: PageRef[],
  signal: AbortSignal,
): Promise<WrittenCheckpoint> {
  const { storage, backupId, generation, writer } = target
  const change = await writeOverflow({ storage, backupId, keyOf: () => nextKey(target) }, stateAsChange(state), signal)
  const head = { format: 'kafka-backup-checkpoint', format_version: LOG_VERSION, backup_id: backupId, generation }
  const document = { ...head, ...change, pages }
  const object = await createDocument(storage, checkpointKey(backupId, generation, writer), document, signal)
  return { ref: { ...object, generation }, bytes: sizeOf([object, ...change.parts, ...pages]), pages }
}

export function sizeOf(objects: readonly Pick<NamedObject, 'size'>[]): number {
  return objects.reduce((sum, { size }) => sum + size, 0)
}

/** Pure. How the state comes from the empty one, without segments. */
export function stateAsChange({ head, topics, lists }: State): Change {
  const rows = [...lists].map(([key, row]): [string, ListChange] => [key, { isNew: true, row: diffRows(zeroRow, row) }])
  return { ...noChange, head, topics, lists: new Map(rows) }
}
