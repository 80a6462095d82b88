import type { KafkaBackupError } from '../errors.ts'
import { offsetDelete } from './api/offset-delete.ts'
import { brokerError } from './broker-errors.ts'
import type { Cluster } from './cluster.ts'
import { withCoordinator } from './group-coordinator.ts'
import { partitionKey, type TopicPartition } from './offsets.ts'

const GROUP_ID_NOT_FOUND = 69
const UNKNOWN_TOPIC_OR_PARTITION = 3

/** Takes positions from a group, as if it had never committed any; those that it does not have are fine. */
export async function deleteGroupOffsets(
  cluster: Cluster,
  group: string,
  partitions: readonly TopicPartition[],
  signal: AbortSignal,
): Promise<void> {
  const topics = [...Map.groupBy(partitions, each => each.topic)].map(([name, each]) => ({
    name,
    partitions: each.map(({ partition }) => partition),
  }))
  await withCoordinator(
    cluster,
    group,
    async link => {
      const answer = await link.call(offsetDelete, { group, topics }, signal)
      if (answer.errorCode === GROUP_ID_NOT_FOUND) return
      if (answer.errorCode !== 0) throw brokerError(answer.errorCode, `removing positions of group ${group}`)
      const failed = answer.topics.flatMap(({ name, partitions: each }) =>
        each
          .filter(({ errorCode }) => errorCode !== 0 && errorCode !== UNKNOWN_TOPIC_OR_PARTITION)
          .map(({ partition, errorCode }) => failure(group, { topic: name, partition }, errorCode)),
      )
      if (failed[0]) throw failed[0]
    },
    signal,
  )
}

function failure(group: string, place: TopicPartition, errorCode: number): KafkaBackupError {
  return brokerError(errorCode, `removing the position of group ${group} on ${partitionKey(place)}`)
}
