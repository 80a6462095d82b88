import type { Manifest, ManifestPartition, ManifestTopic } from '../../src/archive/manifest.ts'
import { emptyPartition } from '../../src/archive/summary.ts'
import type { SourcePosition } from '../../src/restore/legs.ts'
import type { Outgoing, OutgoingBlock } from '../../src/restore/outgoing-batch.ts'
import type { StreamProgress } from '../../src/restore/progress.ts'
import { Stream } from '../../src/restore/stream.ts'
import { draftManifest, topicOf } from '../archive/sample-archive.ts'
import { encodeRun } from '../fakes/batches.ts'

export const identity = { producerId: 77n, producerEpoch: 3 }

export function manifestOf(topics: ManifestTopic[], changes: Partial<Manifest> = {}): Manifest {
  return { format: 'kafka-backup', format_version: 1, ...draftManifest(topics), ...changes }
}

/** Partitions 0, 1, … that hold the offsets from 100 to 200. */
export function sampleTopic(name: string, partitions: number, changes: Partial<ManifestTopic> = {}): ManifestTopic {
  const some = Array.from({ length: partitions }, (_, partition) => samplePartition(partition))
  return topicOf(name, some, changes)
}

export function samplePartition(partition: number, changes: Partial<ManifestPartition> = {}): ManifestPartition {
  return { ...emptyPartition(partition, 100n), end_offset: 200n, ...changes }
}

/** Batches of so many records each, one behind the other in the source. */
export function outgoings(...counts: number[]): Outgoing[] {
  let offset = 0n
  return counts.map(recordCount => {
    const sourceOffset = offset
    offset += BigInt(recordCount)
    const runs = [{ sourceOffset, count: recordCount }]
    return { bytes: encodeRun(sourceOffset, recordCount), recordCount, sourcePartition: 0, runs }
  })
}

/** A stream of `total` records in batches of `size`, which begin wherever one asks. */
export function sampleStream(
  total: number,
  size: number,
  changes: Partial<StreamProgress> = {},
  isShared = false,
): Stream {
  const open = async function* ({ sourceOffset }: SourcePosition): AsyncGenerator<OutgoingBlock> {
    for (let at = Number(sourceOffset); at < total; at += size) {
      const count = Math.min(size, total - at)
      const runs = [{ sourceOffset: BigInt(at), count }]
      yield [{ bytes: encodeRun(BigInt(at), count), recordCount: count, sourcePartition: 0, runs }]
    }
  }
  const known = { targetOffset: 0n, sourcePartition: 0, sourceOffset: 0n, sequence: 0, isFilled: false, isDone: false }
  const place = { topic: 'orders', partition: changes.partition ?? 0 }
  const topicId = Buffer.from('orders'.padEnd(16)).toString('hex')
  return new Stream(
    { ...place, topicId, identity, open, countFrom: async () => 0, isShared },
    { ...place, ...known, ...changes },
  )
}
