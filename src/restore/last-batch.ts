import { type BatchAt, readBatchesAt } from '../kafka/batches-at.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { partitionKey } from '../kafka/offsets.ts'
import { nextSequence } from './stream.ts'

/** How far a partition was filled, by what is known of it. */
interface FilledPartition {
  topic: string
  topicId: string
  partition: number
  /** Behind its last record. */
  end: bigint
  sequence: number
}

/**
 * By `partitionKey`: what is in the place of the last record of these partitions, where it is not theirs. Where compaction or retention
 * have removed it, nothing tells; sequences that have just begun again at 0 are not looked at.
 */
export async function findOverwritten(
  cluster: Cluster,
  producerId: bigint,
  filled: readonly FilledPartition[],
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const begun = filled.filter(({ sequence, end }) => sequence > 0 && end > 0n)
  const positions = begun.map(({ topic, topicId, partition, end }) => ({ topic, topicId, partition, offset: end - 1n }))
  const batches = await readBatchesAt(cluster, positions, signal)
  return new Map(
    begun.flatMap(one => {
      const what = judge(batches.get(partitionKey(one)), producerId, one)
      return what === undefined ? [] : [[partitionKey(one), what] as const]
    }),
  )
}

function judge(found: BatchAt | undefined, producerId: bigint, { end, sequence }: FilledPartition): string | undefined {
  if (!found || found.header.baseOffset >= end) return undefined
  const { baseOffset } = found.header
  const isOurs = producerId === found.header.producerId
  if (isOurs && nextSequence(found.sequence, Number(end - baseOffset)) === sequence) return undefined
  return `at offset ${baseOffset} there is ${isOurs ? `sequence ${found.sequence}` : 'a batch of another producer'}`
}
