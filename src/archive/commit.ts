import { hasCode, KafkaBackupError } from '../errors.ts'
import { formatJson } from '../lib/json.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import { readManifest } from './catalog.ts'
import { hashOf } from './hash.ts'
import { freshKey, rereadKey } from './incarnation.ts'
import { listSegments } from './indexes.ts'
import { type FolderOf, indexKey, manifestKey, rereadRun } from './layout.ts'
import {
  FORMAT_VERSION,
  type IndexRef,
  type Manifest,
  type ManifestPartition,
  type ManifestTopic,
  manifestSchema,
  type PartitionIndex,
  partitionSchema,
  rereadSchema,
  type Segment,
  topicSchema,
} from './manifest.ts'
import { sealJson } from './seal.ts'

/** A generation on its way: the manifest to be, and the segments that no index names yet. */
export interface Draft {
  manifest: Omit<Manifest, 'format' | 'format_version'>
  /** By `freshKey`, in the order of their offsets. */
  freshSegments: ReadonlyMap<string, readonly Segment[]>
  /** From 1. Leftovers of a failed attempt do not conflict with the next one. */
  attempt: number
  folderOf?: FolderOf | undefined
  /** Indexes that were written ahead; those of other segments are written again. */
  ahead?: IndexesAhead | undefined
  /**
   * Fails where the writer may no longer commit; called with the keys of the indexes that are new, when all objects that the manifest
   * names are there.
   */
  confirm?: ((indexes: readonly string[]) => Promise<void>) | undefined
}

/** Indexes of segments that were on their way to the store when these were written. They count when a manifest names them. */
export interface IndexesAhead {
  generation: number
  freshSegments: Draft['freshSegments']
  refs: ReadonlyMap<string, IndexRef[]>
}

interface Committed {
  /** The manifest that is there now. */
  manifest: Manifest
  /** It is that of an earlier attempt of the same run, which had taken effect unheard. */
  isEarlier: boolean
}

/** A page of the index is merged with newer ones until it has this many segments. */
const SEGMENTS_PER_INDEX = 1000
/** Pages that are at most so many times larger than what follows them are merged with it. */
const MERGE_RATIO = 4
const CONCURRENCY = 16

/**
 * Writes the indexes that changed, then creates the manifest: that is the moment the generation exists. Nothing that an
 * earlier manifest names is touched, so a crash before it leaves the earlier state, and after it the new one.
 */
export async function commitGeneration(storage: Storage, draft: Draft, signal: AbortSignal): Promise<Committed> {
  const refs = await writeIndexes(storage, draft, signal)
  const manifest = inOrder<Manifest>(manifestSchema, {
    format: 'kafka-backup',
    format_version: FORMAT_VERSION,
    ...draft.manifest,
    ...lineageOf(draft.manifest),
    topics: draft.manifest.topics.map(topic =>
      inOrder(topicSchema, {
        ...topic,
        partitions: topic.partitions.map(one => inOrder(partitionSchema, withIndexes(topic, one, refs))),
      }),
    ),
  })
  await draft.confirm?.([...refs.values()].flatMap(pages => pages.slice(-1).map(({ key }) => key)))
  return createManifest(storage, manifest, signal)
}

/** Writes the indexes of a draft before the segments that they name are durable, because a store may be far away. */
export async function writeIndexesAhead(storage: Storage, draft: Draft, signal: AbortSignal): Promise<IndexesAhead> {
  const { freshSegments, manifest } = draft
  return { generation: manifest.generation, freshSegments, refs: await writeIndexes(storage, draft, signal) }
}

/** The first generation begins a lineage, which all later ones carry. Its run is random, so no other backup has the same. */
export function lineageOf({
  generation,
  backup_id,
  run,
  created_at,
  lineage,
}: Draft['manifest']): Pick<Manifest, 'lineage'> {
  if (lineage !== undefined || generation !== 1) return {}
  return { lineage: hashOf(Buffer.from(JSON.stringify([backup_id, run, created_at]))).slice(0, 32) }
}

/** Its fields in the order in which a reader gets them: a copy that is made of what was read has the same bytes. */
function inOrder<T extends object>({ shape }: { shape: object }, value: T): T {
  const entries = new Map(Object.entries(value))
  const fields = Object.keys(shape).filter(name => entries.has(name))
  return Object.fromEntries(fields.map(name => [name, entries.get(name)])) as T
}

function withIndexes(
  topic: ManifestTopic,
  one: ManifestPartition,
  refs: ReadonlyMap<string, IndexRef[]>,
): ManifestPartition {
  const { reread } = one
  return {
    ...one,
    indexes: refs.get(freshKey(topic, one.partition)) ?? one.indexes,
    ...(reread && {
      reread: inOrder(rereadSchema, {
        ...reread,
        indexes: refs.get(rereadKey(topic, one.partition)) ?? reread.indexes,
      }),
    }),
  }
}

async function createManifest(storage: Storage, manifest: Manifest, signal: AbortSignal): Promise<Committed> {
  const { backup_id, generation } = manifest
  try {
    await storage.create(manifestKey(backup_id, generation), sealJson(manifest), signal)
    return { manifest, isEarlier: false }
  } catch (error) {
    if (!hasCode(error, 'STORAGE_EXISTS')) throw error
    const existing = await readManifest(storage, backup_id, generation, signal)
    // An attempt whose answer was lost has taken effect: an earlier one, or this very one where the request was repeated.
    if (existing.run === manifest.run) {
      return { manifest: existing, isEarlier: !sealJson(existing).equals(sealJson(manifest)) }
    }
    throw new KafkaBackupError(
      'WRITER_CONFLICT',
      `another process committed generation ${generation} of backup \`${backup_id}\` at ${storage.location}`,
      { cause: error, details: { backup_id, location: storage.location } },
    )
  }
}

async function writeIndexes(storage: Storage, draft: Draft, signal: AbortSignal): Promise<Map<string, IndexRef[]>> {
  const { run } = draft.manifest
  const lists = draft.manifest.topics.flatMap(topic =>
    topic.partitions.flatMap(({ partition, indexes, reread }) => [
      { topic, partition, indexes, run, key: freshKey(topic, partition) },
      ...(reread
        ? [{ topic, partition, indexes: reread.indexes, run: rereadRun(run), key: rereadKey(topic, partition) }]
        : []),
    ]),
  )
  const changed = lists
    .map(list => ({ ...list, fresh: draft.freshSegments.get(list.key) ?? [] }))
    .filter(({ fresh }) => fresh.length > 0)
  const written = await runPool(
    changed,
    CONCURRENCY,
    async list => [list.key, findAhead(draft, list) ?? (await extendIndexes(storage, draft, list, signal))] as const,
  )
  return new Map(written)
}

/** Undefined where what became durable is not what was expected. */
function findAhead(
  { ahead, manifest }: Draft,
  { key, fresh }: { key: string; fresh: readonly Segment[] },
): IndexRef[] | undefined {
  if (ahead?.generation !== manifest.generation) return undefined
  const expected = ahead.freshSegments.get(key) ?? []
  const isSame = expected.length === fresh.length && expected.every((segment, i) => segment === fresh[i])
  return isSame ? ahead.refs.get(key) : undefined
}

/** Segments of a partition that are to be named, behind those that its indexes name. */
interface GrownList {
  topic: ManifestTopic
  partition: number
  indexes: readonly IndexRef[]
  fresh: readonly Segment[]
  run: string
}

async function extendIndexes(
  storage: Storage,
  draft: Draft,
  { topic, partition, indexes, fresh, run }: GrownList,
  signal: AbortSignal,
): Promise<IndexRef[]> {
  const kept = indexes.slice(0, countKeptPages(indexes, fresh.length))
  const carried = await listSegments(storage, topic, { partition, indexes: indexes.slice(kept.length) }, signal)
  const segments = [...carried, ...fresh]
  const { backup_id: backupId, generation } = draft.manifest
  // Shards may bring segments of a topic and of the one that it replaced: both have the same name.
  const writer = indexWriter(topic, `${run}${draft.attempt === 1 ? '' : `-${draft.attempt}`}`)
  const place = { backupId, topic: topic.name, partition, folderOf: draft.folderOf }
  const key = indexKey(place, generation, writer)
  const owner = { topic: topic.name, topic_id: topic.id, partition }
  return [...kept, await createIndex(storage, key, { ...owner, segments: [...segments] }, signal)]
}

/** Writes a page of an index, and returns what names it. */
export async function createIndex(
  storage: Storage,
  key: string,
  { topic, topic_id, partition, segments }: Omit<PartitionIndex, 'format' | 'format_version'>,
  signal: AbortSignal,
): Promise<IndexRef> {
  const head = { format: 'kafka-backup-index', format_version: FORMAT_VERSION }
  const bytes = Buffer.from(`${formatJson({ ...head, topic, topic_id, partition, segments }, 1)}\n`)
  await storage.create(key, bytes, signal)
  return { key, size: bytes.length, blake3: hashOf(bytes), segments: segments.length }
}

/** Pure. Incarnations of one name share a folder: the writer's part of the key keeps those that were replaced apart. */
export function indexWriter(topic: ManifestTopic, run: string): string {
  if (topic.state !== 'replaced') return run
  return `${run}-${topic.id.slice(0, 8)}${topic.incarnation === undefined ? '' : `-${topic.incarnation}`}`
}

/**
 * Pure. How many of the pages stay as they are; those behind are merged with the fresh segments into one. Each page that
 * stays is several times larger than the next: a backup that commits every minute for a year neither rewrites its whole
 * index each time nor ends up with a page a minute.
 */
export function countKeptPages(pages: readonly Pick<IndexRef, 'segments'>[], fresh: number): number {
  let kept = pages.length
  let merged = fresh
  for (let last = pages[kept - 1]; last; last = pages[kept - 1]) {
    const size = last.segments + merged
    if (size > SEGMENTS_PER_INDEX || last.segments > MERGE_RATIO * merged) break
    merged = size
    kept--
  }
  return kept
}
