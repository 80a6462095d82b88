import { commitGeneration, createIndex, indexWriter } from '../archive/commit.ts'
import { freshKey } from '../archive/incarnation.ts'
import { ownIndexes, readIndex } from '../archive/indexes.ts'
import { siblingIndexKey } from '../archive/layout.ts'
import type { IndexRef, Manifest, ManifestPartition, ManifestTopic, PartitionIndex } from '../archive/manifest.ts'
import { renewManifestCopy } from '../archive/newest-copies.ts'
import { hasCode } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import { judgeTrim, type PartitionTrim, trimPartition } from './plan-trim.ts'

/** What is cut off a backup. */
interface BackupTrim {
  partitions: (PartitionTrim & { topic: ManifestTopic; pages: Page[] })[]
  /** Topics that are not cut, since compaction makes old records count as much as new ones. */
  compacted: string[]
  /** Topics that are not cut, since the backup does not say whether they are compacted. */
  unknown: string[]
}

interface Page {
  ref: IndexRef
  index: PartitionIndex
}

interface PruneRun {
  run: string
  toolVersion: string
}

const CONCURRENCY = 8

/** Reads the indexes. `storedMs` says when an object was stored; what it does not know stays. */
export async function planTrim(
  storage: Storage,
  manifest: Manifest,
  storedMs: (key: string) => number | undefined,
  cutoffMs: number,
  signal: AbortSignal,
): Promise<BackupTrim> {
  const judged = Map.groupBy(manifest.topics, judgeTrim)
  const all = (judged.get('cut') ?? []).flatMap(topic => topic.partitions.map(partition => ({ topic, partition })))
  const trims = await runPool(all, CONCURRENCY, async ({ topic, partition }) => {
    const pages = await readOldPages(storage, topic, partition, storedMs, cutoffMs, signal)
    const segments = pages.flatMap(({ index }) => index.segments)
    const trim = trimPartition(partition, segments, ({ key }) => storedMs(key), cutoffMs)
    return trim ? [{ ...trim, topic, pages }] : []
  })
  const namesOf = (verdict: 'compacted' | 'unknown') => (judged.get(verdict) ?? []).map(({ name }) => name)
  return { partitions: trims.flat(), compacted: namesOf('compacted'), unknown: namesOf('unknown') }
}

/** Most partitions have nothing that is old enough, which their first page tells. */
async function readOldPages(
  storage: Storage,
  topic: ManifestTopic,
  partition: ManifestPartition,
  storedMs: (key: string) => number | undefined,
  cutoffMs: number,
  signal: AbortSignal,
): Promise<Page[]> {
  const pages: Page[] = []
  for (const { owner, ...ref } of ownIndexes(topic, partition)) {
    const index = await readIndex(storage, { ...ref, owner }, signal)
    const first = index.segments[0]
    if (pages.length === 0 && first && !((storedMs(first.key) ?? cutoffMs) < cutoffMs)) return []
    pages.push({ ref, index })
  }
  return pages
}

/** Pure. What the generation after the cut does not name any more: segments, and pages of which some are gone. */
export function namesCut({ partitions }: BackupTrim): Set<string> {
  const names = new Set<string>()
  for (const { pages, removed } of partitions) {
    for (const { key } of removed) names.add(key)
    const gone = new Set(removed.map(({ key }) => key))
    for (const { ref, index } of pages) if (index.segments.some(({ key }) => gone.has(key))) names.add(ref.key)
  }
  return names
}

/** Commits a generation without what is cut off; nothing is removed. All else is as it was, its times too. */
export async function commitTrim(
  storage: Storage,
  manifest: Manifest,
  trim: BackupTrim,
  by: PruneRun,
  signal: AbortSignal,
): Promise<Manifest> {
  const generation = manifest.generation + 1
  const cut = await runPool(trim.partitions, CONCURRENCY, async one => {
    const indexes = await writePages(storage, generation, one, by, signal)
    return [freshKey(one.topic, one.partition.partition), { ...one.partition, indexes }] as const
  })
  const byKey = new Map<string, ManifestPartition>(cut)
  const topics = manifest.topics.map(topic => ({
    ...topic,
    partitions: topic.partitions.map(one => byKey.get(freshKey(topic, one.partition)) ?? one),
  }))
  return commitAgain(storage, { ...manifest, topics }, by, signal)
}

/** The same state as the next generation: a writer that commits from an older state gets WRITER_CONFLICT. */
export async function commitAgain(
  storage: Storage,
  { format: _, format_version: __, ...manifest }: Manifest,
  { run, toolVersion }: PruneRun,
  signal: AbortSignal,
): Promise<Manifest> {
  const next = { ...manifest, generation: manifest.generation + 1, run, tool_version: toolVersion }
  const draft = { manifest: next, freshSegments: new Map(), attempt: 1 }
  const { manifest: committed } = await commitGeneration(storage, draft, signal)
  await renewCopy(storage, committed, signal)
  return committed
}

/**
 * The copy for people must be that of a generation that stays, or it would look changed. False
 * where the store does not let it be replaced.
 */
export async function renewCopy(storage: Storage, newest: Manifest, signal: AbortSignal): Promise<boolean> {
  try {
    await renewManifestCopy(storage, newest, signal)
    return true
  } catch (error) {
    if (signal.aborted || !hasCode(error, 'STORAGE_RETAINED', 'STORAGE_DENIED')) throw error
    return false
  }
}

/** The page that contains the cut is rewritten; earlier pages are no longer referenced. */
async function writePages(
  storage: Storage,
  generation: number,
  { topic, pages, removed }: BackupTrim['partitions'][number],
  { run }: PruneRun,
  signal: AbortSignal,
): Promise<IndexRef[]> {
  let left = removed.length
  const kept: IndexRef[] = []
  for (const { ref, index } of pages) {
    const { length } = index.segments
    if (left >= length) {
      left -= length
      continue
    }
    if (left === 0) {
      kept.push(ref)
      continue
    }
    // In the folder of the page that it follows: names of topics may be hidden.
    const key = siblingIndexKey(ref.key, generation, indexWriter(topic, run))
    kept.push(await createIndex(storage, key, { ...index, segments: index.segments.slice(left) }, signal))
    left = 0
  }
  return kept
}
