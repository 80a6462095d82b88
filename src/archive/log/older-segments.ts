import { hasCode } from '../../errors.ts'
import { runPool } from '../../lib/pool.ts'
import type { Storage } from '../../storage/storage.ts'
import { readManifest, type ScannedGenerations } from '../catalog.ts'
import { freshKey } from '../incarnation.ts'
import { listSegments } from '../indexes.ts'
import type { NamedObject, Segment } from '../manifest.ts'
import type { Change } from './change.ts'
import { decodeChange } from './change-document.ts'
import type { Commit } from './documents.ts'
import { readCheckpoint, readCommit, readParts } from './read-commit.ts'
import { addedBy } from './salvage-log.ts'
import { readPage } from './segment-lists.ts'
import { segmentId } from './segment-row.ts'

const CONCURRENCY = 8

/**
 * All segments that any readable document of the backup names for these lists, whether or not its generation can be opened. They may
 * overlap. A list is one incarnation of a topic, so what two documents say of one offset of it is the same record.
 */
export async function readOlderSegments(
  storage: Storage,
  backupId: string,
  { manifests, commits }: ScannedGenerations,
  lists: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Map<string, Segment[]>> {
  const found = new Found(lists)
  await readLog({ storage, backupId }, commits, found, signal)
  for (const generation of manifests) await skipDamage(() => readOne(storage, backupId, generation, found, signal))
  return found.all()
}

/** By list, each segment once. */
class Found {
  readonly #lists: ReadonlyMap<string, Map<string, Segment>>

  constructor(lists: ReadonlySet<string>) {
    this.#lists = new Map([...lists].map(list => [list, new Map()]))
  }

  has(list: string): boolean {
    return this.#lists.has(list)
  }

  add(list: string, segments: readonly Segment[]): void {
    const known = this.#lists.get(list)
    if (known) for (const one of segments) known.set(segmentId(one), one)
  }

  addChange({ lists }: Change): void {
    for (const list of this.#lists.keys()) this.add(list, addedBy(lists.get(list)))
  }

  all(): Map<string, Segment[]> {
    return new Map([...this.#lists].map(([list, segments]) => [list, [...segments.values()]]))
  }
}

interface Place {
  storage: Storage
  backupId: string
}

/** Every document once, as many generations name the same ones. */
async function readLog(place: Place, commits: readonly number[], found: Found, signal: AbortSignal): Promise<void> {
  const { storage, backupId } = place
  const parts = new Map<string, NamedObject>()
  const checkpoints = new Map<string, NonNullable<Commit['checkpoint']>>()
  await readAll(commits, async generation => {
    const { commit, ref } = await readCommit(storage, backupId, generation, signal)
    found.addChange(decodeChange(commit.change, ref.key))
    if (commit.checkpoint) checkpoints.set(commit.checkpoint.key, commit.checkpoint)
    for (const one of [...commit.parts, ...commit.rollups.flatMap(({ documents }) => documents)])
      parts.set(one.key, one)
  })
  await readAll(parts.values(), async one => {
    for (const change of await readParts(storage, backupId, [one], signal)) found.addChange(change)
  })
  const pages = new Map<string, Parameters<typeof readPage>[2]>()
  await readAll(checkpoints.values(), async ref => {
    const { checkpoint } = await readCheckpoint(storage, backupId, ref, signal)
    for (const page of checkpoint.pages) pages.set(page.key, page)
  })
  await readAll(pages.values(), async page => {
    for (const [list, segments] of await readPage(storage, backupId, page, signal)) found.add(list, segments)
  })
}

/** A generation of version 1. */
async function readOne(
  storage: Storage,
  backupId: string,
  generation: number,
  found: Found,
  signal: AbortSignal,
): Promise<void> {
  for (const topic of (await readManifest(storage, backupId, generation, signal)).topics) {
    for (const one of topic.partitions) {
      const list = freshKey(topic, one.partition)
      if (found.has(list))
        await skipDamage(async () => found.add(list, await listSegments(storage, topic, one, signal)))
    }
  }
}

async function readAll<T>(items: Iterable<T>, read: (item: T) => Promise<void>): Promise<void> {
  await runPool(items, CONCURRENCY, item => skipDamage(() => read(item)))
}

/** The survey has reported it. */
async function skipDamage(read: () => Promise<void>): Promise<void> {
  try {
    await read()
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW', 'STORAGE_NOT_FOUND')) throw error
  }
}
