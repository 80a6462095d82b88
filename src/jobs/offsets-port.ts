import type { Cluster } from '../kafka/cluster.ts'
import { kafkaOffsets } from '../offsets/kafka-port.ts'
import type { OffsetsPort } from '../offsets/offsets-port.ts'

/** The groups of a cluster; the log of a partition is read as a restore reads it back. */
export function openOffsetsPort(cluster: Cluster): OffsetsPort {
  const topicIds = new Map<string, string>()
  return kafkaOffsets(cluster, async function* ({ topic, partition }, { from, to }, signal) {
    const [{ readTargetLog }, { decodeRecords }] = await Promise.all([
      import('../restore/target-log.ts'),
      import('../batch/records.ts'),
    ])
    const topicId = topicIds.get(topic) ?? (await cluster.metadata({ topics: [topic] }, signal)).topics[0]?.id ?? ''
    topicIds.set(topic, topicId)
    for await (const batches of readTargetLog(cluster, { topic, topicId, partition }, { from, to }, signal)) {
      const records = batches.flatMap(({ bytes, header }) => decodeRecords(bytes, header))
      yield records.filter(({ offset }) => offset >= from && offset < to)
    }
  })
}
