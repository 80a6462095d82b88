import type { PackSet } from '../../src/archive/log/pack-set.ts'
import type { ManifestPartition } from '../../src/archive/manifest.ts'
import { emptyPartition } from '../../src/archive/summary.ts'
import { PartitionCopy } from '../../src/backup/partition-copy.ts'
import type { Storage } from '../../src/storage/storage.ts'

export interface CopySpec {
  storage: Storage
  topic?: string
  topicId?: string
  partition?: number
  start?: bigint
  end: bigint
  segmentBytes?: number
  compression?: 'auto' | 'none' | 'zstd'
  durable?: Partial<ManifestPartition>
  storeSignal?: AbortSignal
  packs?: PackSet
}

/** A partition to be copied, out of a plan that a test makes up. */
export function makeCopy(spec: CopySpec): PartitionCopy {
  const { storage, topic = 'orders', partition = 0, start = 0n, end } = spec
  const { segmentBytes = 1 << 20, compression = 'none', topicId = '1'.repeat(32) } = spec
  const durable = { ...emptyPartition(partition, start), ...spec.durable }
  const storeSignal = spec.storeSignal ?? new AbortController().signal
  const planned = { durable, end, logStart: start, newGaps: [] }
  const parts = {
    storage,
    run: 'run1',
    storeSignal,
    options: { compression, segmentBytes },
    now: () => 0,
    packs: spec.packs,
  }
  return new PartitionCopy({ name: topic, id: topicId }, planned, 'b1', parts)
}

/** Makes all durable that it has stored, as a session does. */
export async function settle(copy: PartitionCopy): Promise<void> {
  await copy.hand()
  await copy.settled()
}

/** The same while copying continues. */
export async function roll(copy: PartitionCopy): Promise<void> {
  const { durable } = await copy.roll()
  await durable
}
