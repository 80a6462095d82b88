import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import { assertIndexKeys } from './assert-keys.ts'
import { damaged, readNamed } from './damage.ts'
import { hashOf } from './hash.ts'
import {
  type IndexRef,
  type Manifest,
  type ManifestPartition,
  type ManifestTopic,
  type PartitionIndex,
  parsePartitionIndex,
  type Segment,
} from './manifest.ts'

/** An index that a manifest names, and what it must be the index of. */
export interface OwnedIndex extends IndexRef {
  owner: { topic: string; topicId: string; partition: number }
}

/** Pure. The indexes that a manifest names: read these first to find all objects of a generation. */
export function indexRefsOf({ topics }: Pick<Manifest, 'topics'>): OwnedIndex[] {
  return topics.flatMap(topic =>
    topic.partitions.flatMap(one => [...ownIndexes(topic, one), ...(one.reread ? ownIndexes(topic, one.reread) : [])]),
  )
}

/** Pure. The indexes of one list of segments. */
export function ownIndexes(
  { name, id }: Pick<ManifestTopic, 'name' | 'id'>,
  { partition, indexes }: Pick<ManifestPartition, 'partition' | 'indexes'>,
): OwnedIndex[] {
  return indexes.map(ref => ({ ...ref, owner: { topic: name, topicId: id, partition } }))
}

/** Each may have a hundred megabytes. */
const INDEXES_AT_ONCE = 8

/** The segments of a partition, or of its reread, in the order of their offsets. */
export async function listSegments(
  storage: Storage,
  topic: Parameters<typeof ownIndexes>[0],
  partition: Parameters<typeof ownIndexes>[1] & Pick<ManifestPartition, 'list'>,
  signal: AbortSignal,
): Promise<readonly Segment[]> {
  if (partition.list) return partition.list.read(signal)
  const indexes = await runPool(ownIndexes(topic, partition), INDEXES_AT_ONCE, ref => readIndex(storage, ref, signal))
  return indexes.flatMap(({ segments }) => segments)
}

/** The index as the manifest vouches for it: one that is gone, has other bytes, or is of another topic, is damage. */
export async function readIndex(storage: Storage, ref: OwnedIndex, signal: AbortSignal): Promise<PartitionIndex> {
  const bytes = await readNamed(storage, ref.key, signal)
  if (bytes.length !== ref.size || hashOf(bytes) !== ref.blake3) {
    throw damaged(ref.key, 'is not the object that the manifest recorded')
  }
  const index = parsePartitionIndex(bytes.toString('utf8'), ref.key)
  assertOwner(index, ref)
  assertIndexKeys(index, ref.key)
  return index
}

function assertOwner({ topic, topic_id, partition }: PartitionIndex, { key, owner }: OwnedIndex): void {
  if (topic === owner.topic && topic_id === owner.topicId && partition === owner.partition) return
  const stated = `${topic}/${partition} with the topic ID ${topic_id}`
  const expected = `${owner.topic}/${owner.partition} with the topic ID ${owner.topicId}`
  throw damaged(key, `belongs to ${stated}, and the manifest names it for ${expected}`)
}
