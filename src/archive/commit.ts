import { hasCode, KafkaBackupError } from '../errors.ts'
import { formatJson } from '../lib/json.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import { readIndex } from './catalog.ts'
import { hashOf } from './hash.ts'
import { indexKey, manifestCopyKey, manifestKey } from './layout.ts'
import { FORMAT_VERSION, type IndexRef, type Manifest, type ManifestTopic, type Segment } from './manifest.ts'

/** A generation on its way: the manifest to be, and the segments that no index names yet. */
export interface Draft {
  manifest: Omit<Manifest, 'format' | 'format_version'>
  /** By `topic id/partition`, in the order of their offsets. */
  freshSegments: ReadonlyMap<string, readonly Segment[]>
  /** From 1. What an attempt that failed has left behind is not in the way of the next. */
  attempt: number
}

/** An index is carried over and added to until it has this many segments; then a new one begins. */
const SEGMENTS_PER_INDEX = 1000
const CONCURRENCY = 16

export function freshKey(topicId: string, partition: number): string {
  return `${topicId}/${partition}`
}

/**
 * Writes the indexes that changed, then creates the manifest: that is the moment the generation exists. Nothing that an
 * earlier manifest names is touched, so a crash before it leaves the earlier state, and after it the new one.
 */
export async function commitGeneration(storage: Storage, draft: Draft, signal: AbortSignal): Promise<Manifest> {
  const refs = await writeIndexes(storage, draft, signal)
  const manifest: Manifest = {
    format: 'kafka-backup',
    format_version: FORMAT_VERSION,
    ...draft.manifest,
    topics: draft.manifest.topics.map(topic => ({
      ...topic,
      partitions: topic.partitions.map(one => ({
        ...one,
        indexes: refs.get(freshKey(topic.id, one.partition)) ?? one.indexes,
      })),
    })),
  }
  await createManifest(storage, manifest, signal)
  return manifest
}

/** Only a convenience for people, after the fact: whoever reads on starts at the generations. */
export async function renewManifestCopy(storage: Storage, manifest: Manifest, signal: AbortSignal): Promise<void> {
  await storage.replace(manifestCopyKey(manifest.backup_id), encodeManifest(manifest), signal)
}

function encodeManifest(manifest: Manifest): Buffer {
  return Buffer.from(`${formatJson(manifest, 1)}\n`)
}

async function createManifest(storage: Storage, manifest: Manifest, signal: AbortSignal): Promise<void> {
  const { backup_id, generation } = manifest
  try {
    await storage.create(manifestKey(backup_id, generation), encodeManifest(manifest), signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_EXISTS')) throw error
    throw new KafkaBackupError(
      'WRITER_CONFLICT',
      `another process committed generation ${generation} of backup \`${backup_id}\` at ${storage.location}`,
      { cause: error },
    )
  }
}

async function writeIndexes(storage: Storage, draft: Draft, signal: AbortSignal): Promise<Map<string, IndexRef[]>> {
  const changed = draft.manifest.topics.flatMap(topic =>
    topic.partitions
      .map(one => ({ topic, one, fresh: draft.freshSegments.get(freshKey(topic.id, one.partition)) ?? [] }))
      .filter(({ fresh }) => fresh.length > 0),
  )
  const written = await runPool(changed, CONCURRENCY, async ({ topic, one, fresh }) => {
    const refs = await extendIndexes(storage, draft, topic, one.partition, one.indexes, fresh, signal)
    return [freshKey(topic.id, one.partition), refs] as const
  })
  return new Map(written)
}

async function extendIndexes(
  storage: Storage,
  draft: Draft,
  topic: ManifestTopic,
  partition: number,
  refs: readonly IndexRef[],
  fresh: readonly Segment[],
  signal: AbortSignal,
): Promise<IndexRef[]> {
  const last = refs.at(-1)
  const extendsLast = last !== undefined && last.segments < SEGMENTS_PER_INDEX
  const carried = extendsLast ? (await readIndex(storage, last, signal)).segments : []
  const segments = [...carried, ...fresh]
  const { backup_id: backupId, generation, run } = draft.manifest
  const writer = draft.attempt === 1 ? run : `${run}-${draft.attempt}`
  const key = indexKey({ backupId, topic: topic.name, partition }, generation, writer)
  const head = { format: 'kafka-backup-index', format_version: FORMAT_VERSION }
  const index = { ...head, topic: topic.name, topic_id: topic.id, partition, segments }
  const bytes = Buffer.from(`${formatJson(index, 1)}\n`)
  await storage.create(key, bytes, signal)
  const ref = { key, size: bytes.length, blake3: hashOf(bytes), segments: segments.length }
  return extendsLast ? [...refs.slice(0, -1), ref] : [...refs, ref]
}
