import { isControl } from '../batch/header.ts'
import { decodeRecords } from '../batch/records.ts'
import { walkBatches } from '../batch/walk.ts'
import type { Storage } from '../storage/storage.ts'
import { listSegments } from './indexes.ts'
import type { ManifestPartition, ManifestTopic, Segment } from './manifest.ts'
import { readSegment } from './segment-reader.ts'

const MOST_KEYS = 100

/** The keys of the first records that a backup holds of a partition. */
export async function readFirstKeys(
  storage: Storage,
  topic: Pick<ManifestTopic, 'name' | 'id'>,
  partition: Pick<ManifestPartition, 'partition' | 'indexes' | 'list'>,
  signal: AbortSignal,
): Promise<(Buffer | null)[]> {
  const { indexes } = partition
  const [segment] = await listSegments(storage, topic, { ...partition, indexes: indexes.slice(0, 1) }, signal)
  return segment ? keysOf(segment, storage, signal) : []
}

async function keysOf(segment: Segment, storage: Storage, signal: AbortSignal): Promise<(Buffer | null)[]> {
  for await (const bytes of readSegment(storage, segment, signal)) {
    const header = walkBatches(bytes, 0, bytes.length).find(one => !isControl(one.attributes))
    if (header)
      return decodeRecords(bytes, header)
        .slice(0, MOST_KEYS)
        .map(({ key }) => key)
  }
  return []
}
