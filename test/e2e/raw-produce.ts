import { walkBatches } from '../../src/batch/walk.ts'
import { Cluster } from '../../src/kafka/cluster.ts'
import { Fetcher } from '../../src/kafka/fetcher.ts'
import { fetchBounds } from '../../src/kafka/offsets.ts'
import type { ProducerIdentity } from '../../src/kafka/produce-lane.ts'
import { waitForTopics } from '../../src/kafka/topic-leaders.ts'
import { BufferPool } from '../../src/kafka/wire/buffer-pool.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { withCrc } from '../fakes/batches.ts'

const never = new AbortController().signal

export function openCluster(server: { bootstrapServers: string[] }): Promise<Cluster> {
  const { bootstrapServers } = server
  const fixed = { clientId: 'test', softwareVersion: '0', requestTimeoutMs: 20_000, clock: systemClock }
  return Cluster.open({ bootstrapServers, ...fixed }, never)
}

/** Until each leader itself answers for its partition; what other brokers show may be ahead of it. */
export async function waitForLogs(cluster: Cluster, topic: string, partitions: number): Promise<void> {
  await fetchBounds(
    cluster,
    Array.from({ length: partitions }, (_, partition) => ({ topic, partition })),
    never,
  )
}

/** The batches of each partition as the broker holds them. All partitions have the same leader. */
export async function fetchBatches(cluster: Cluster, topic: string, partitions: number): Promise<Buffer[][]> {
  const [found] = await waitForTopics(cluster, [{ name: topic, partitions }], never)
  const buffers = new BufferPool(1, 8 << 20)
  const brokerId = found?.partitions[0]?.leader ?? -1
  const fetcher = await Fetcher.open(cluster, { brokerId, buffers, maxWaitMs: 0, maxBytes: 4 << 20, rack: '' }, never)
  const logs: Buffer[][] = []
  for (let partition = 0; partition < partitions; partition++) {
    const log: Buffer[] = []
    for (let offset = 0n, end = 1n; offset < end; ) {
      const target = { topic, topicId: found?.id ?? '', partition, offset, leaderEpoch: -1, lastFetchedEpoch: -1 }
      const { bytes, partitions: answers, release } = await fetcher.fetch([target], never)
      for (const { start, end: stop, highWatermark } of answers) {
        end = highWatermark
        for (const header of walkBatches(bytes, start, stop)) {
          log.push(Buffer.from(bytes.subarray(header.position, header.position + header.sizeBytes)))
          offset = header.lastOffset + 1n
        }
      }
      release()
    }
    logs.push(log)
  }
  fetcher.close()
  return logs
}

/** A copy of the batch with our producer's id, epoch and sequence, as a broker takes it. */
export function stamped(batch: Buffer, { producerId, producerEpoch }: ProducerIdentity, sequence: number): Buffer {
  const copy = Buffer.from(batch)
  copy.writeBigInt64BE(0n, 0)
  copy.writeInt32BE(-1, 12)
  copy.writeBigInt64BE(producerId, 43)
  copy.writeInt16BE(producerEpoch, 51)
  copy.writeInt32BE(sequence, 53)
  return withCrc(copy)
}

/** All batches of a partition with their sequences one after the other. */
export function stampedLog(log: readonly Buffer[], identity: ProducerIdentity): Buffer[] {
  let sequence = 0
  return log.map(batch => {
    const copy = stamped(batch, identity, sequence)
    sequence += batch.readInt32BE(57)
    return copy
  })
}
