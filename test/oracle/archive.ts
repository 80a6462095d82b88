import { openBackup } from '../../src/archive/catalog.ts'
import type { ManifestPartition, ManifestTopic, Segment } from '../../src/archive/manifest.ts'
import { readSegment } from '../../src/archive/segment-reader.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { indexAt } from '../archive/sample-archive.ts'
import { openLocation } from '../open-location.ts'
import type { OracleRecord } from './records.ts'

const never = new AbortController().signal

/** A location, or the opened store. */
export type Place = string | Storage

/** The records that a reader of committed data would see, by partition, out of the archive alone. */
export async function readArchivedTopic(at: Place, backupId: string, topic: string): Promise<OracleRecord[][]> {
  const found = (await openBackup(storageAt(at), backupId, never)).topics.filter(
    each => each.name === topic && each.state === 'current',
  )
  const [only] = found
  if (only === undefined || found.length > 1) throw new Error(`${found.length} topics called ${topic} in the archive`)
  return readTopicEntry(at, only)
}

export async function readTopicEntry(at: Place, topic: ManifestTopic): Promise<OracleRecord[][]> {
  return Promise.all(topic.partitions.map(partition => readPartition(at, partition)))
}

/** All segments of a partition in the order of their offsets. */
export async function segmentsOf(at: Place, partition: ManifestPartition): Promise<Segment[]> {
  if (partition.list) return [...(await partition.list.read(never))]
  const storage = storageAt(at)
  const indexes = await Promise.all(partition.indexes.map(ref => indexAt(storage, ref)))
  return indexes.flatMap(index => index.segments)
}

async function readPartition(at: Place, partition: ManifestPartition): Promise<OracleRecord[]> {
  const storage = storageAt(at)
  const segments = await segmentsOf(storage, partition)
  const aborted = [...segments.flatMap(segment => segment.aborted ?? []), ...partition.open_aborted]
  const records: OracleRecord[] = []
  for (const segment of segments) {
    for await (const bytes of readSegment(storage, segment, never)) {
      for (const header of walkBatches(bytes, 0, bytes.length)) {
        const isControl = (header.attributes & 0x20) !== 0
        const isTransactional = (header.attributes & 0x10) !== 0
        const isAborted = aborted.some(
          range =>
            range.producer_id === header.producerId &&
            range.first_offset <= header.baseOffset &&
            (range.last_offset === null || header.lastOffset <= range.last_offset),
        )
        if (isControl || (isTransactional && isAborted)) continue
        records.push(...decodeRecords(bytes, header).filter(record => record.offset >= segment.start_offset))
      }
    }
  }
  return records
}

function storageAt(at: Place): Storage {
  return typeof at === 'string' ? openLocation(at) : at
}
