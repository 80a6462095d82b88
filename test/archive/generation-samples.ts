import { commitGeneration } from '../../src/archive/commit.ts'
import { segmentKey } from '../../src/archive/layout.ts'
import { stateOf } from '../../src/archive/log/as-manifest.ts'
import { type Change, noChange } from '../../src/archive/log/change.ts'
import { CommitLog } from '../../src/archive/log/commit-log.ts'
import { diffRows, zeroRow } from '../../src/archive/log/row-change.ts'
import { beginLog } from '../../src/archive/log/start-log.ts'
import type { Manifest, ManifestPartition, ManifestTopic, Segment } from '../../src/archive/manifest.ts'
import { emptyPartition, withSegment } from '../../src/archive/summary.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { encodeRun } from '../fakes/batches.ts'
import { type DraftManifest, draftManifest, never, storeSegment, topicOf } from './sample-archive.ts'

/** A generation to store: every current topic gets `records` more, in one segment. */
export interface SampleGeneration {
  created_at: string
  complete?: boolean
  records?: number
  /** Names of topics; `orders` without them. */
  topics?: readonly string[]
  changes?: Partial<DraftManifest>
}

/**
 * Stores the generations 1, 2, … of the backup `b1`. Those from `logFrom` on are commits of version 2; without it all are
 * manifests of version 1.
 */
export async function storeGenerations(
  storage: Storage,
  generations: readonly SampleGeneration[],
  logFrom = Number.POSITIVE_INFINITY,
): Promise<void> {
  let newest: Manifest | undefined
  let topics: ManifestTopic[] = []
  let log: CommitLog | undefined
  let writers = 0
  for (const [
    at,
    { created_at, complete = true, records = 1, topics: names = ['orders'], changes },
  ] of generations.entries()) {
    const generation = at + 1
    const run = `run${generation}`
    const freshSegments = new Map<string, Segment[]>()
    const grown: ManifestTopic[] = []
    for (const name of names) {
      const before = topics.find(one => one.name === name)?.partitions[0] ?? emptyPartition(0, 0n)
      const { partition, segment } = await grow(storage, name, before, records, run)
      freshSegments.set(`id-${name}/0`, [segment])
      grown.push(topicOf(name, [partition]))
    }
    const manifest = draftManifest(grown, { generation, run, complete, created_at, ...changes })
    if (generation < logFrom) {
      newest = (await commitGeneration(storage, { manifest, freshSegments, attempt: 1 }, never)).manifest
      topics = newest.topics
      continue
    }
    log ??= new CommitLog(storage, 'b1', () => `w${writers++}`, await beginLog(storage, 'b1', newest, 'first', never))
    const facts = { tool_version: '0.0.0', run, complete, created_at, started_at: created_at }
    await log.commit(facts, changeTo(log, manifest, freshSegments), never)
    await log.tidy(never)
    topics = grown
  }
}

async function grow(storage: Storage, topic: string, before: ManifestPartition, records: number, run: string) {
  const place = { backupId: 'b1', topic, partition: 0 }
  const key = segmentKey(place, before.end_offset, run, false)
  const segment = await storeSegment(storage, key, [encodeRun(before.end_offset, records)], false)
  return { segment, partition: withSegment(before, segment, 0, []) }
}

function changeTo(log: CommitLog, manifest: DraftManifest, fresh: ReadonlyMap<string, readonly Segment[]>): Change {
  const next = stateOf(manifest)
  const lists = [...next.lists].map(([list, row]) => {
    const before = log.state.lists.get(list)
    const parts = [...(before ? [[0, before.segments] as const] : []), ...(fresh.get(list) ?? [])]
    return [list, { isNew: !before, row: diffRows(before ?? zeroRow, row), parts }] as const
  })
  return { ...noChange, head: next.head, topics: next.topics, lists: new Map(lists) }
}
