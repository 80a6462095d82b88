import { brokerError } from '../kafka/broker-errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { givenId } from '../kafka/given-topic-id.ts'
import { fetchProgress, removeProgress, setProgress } from '../kafka/group-progress.ts'
import { describeGroupStates, listGroups } from '../kafka/groups.ts'
import { readLogRecords } from '../kafka/log-reader.ts'
import { fetchBounds, findOffsetsByTime } from '../kafka/offsets.ts'
import { maySeeAllGroups } from '../kafka/permissions.ts'
import type { OffsetsPort, TopicFacts } from './offsets-port.ts'

const UNKNOWN_TOPIC = 3
const INVALID_TOPIC = 17

/** The groups of a real cluster. */
export function kafkaOffsets(cluster: Cluster): OffsetsPort {
  const topicIds = new Map<string, string>()
  return {
    clusterId: async signal => (await cluster.metadata({ topics: [] }, signal)).clusterId,
    listGroups: signal => listGroups(cluster, signal),
    maySeeAllGroups: signal => maySeeAllGroups(cluster, signal),
    describeGroups: (groups, signal) => describeGroupStates(cluster, groups, signal),
    readPositions: (groups, signal) => fetchProgress(cluster, groups, signal),
    describeTopics: async (topics, signal) =>
      topics.length === 0 ? new Map() : cluster.settling(() => describeTopics(cluster, topics, signal), signal),
    readBounds: async (partitions, signal) =>
      partitions.length === 0 ? new Map() : fetchBounds(cluster, partitions, signal),
    findByTime: async (partitions, timestampMs, signal) =>
      partitions.length === 0 ? new Map() : findOffsetsByTime(cluster, partitions, timestampMs, signal),
    readRecords: async function* ({ topic, partition }, range, signal) {
      const topicId = topicIds.get(topic) ?? (await cluster.metadata({ topics: [topic] }, signal)).topics[0]?.id ?? ''
      topicIds.set(topic, topicId)
      yield* readLogRecords(cluster, { topic, topicId, partition }, range, signal)
    },
    commit: (group, positions, signal) => setProgress(cluster, group, positions, signal),
    remove: (group, partitions, signal) => removeProgress(cluster, group, partitions, signal),
  }
}

/** A topic that may not be seen, or has no leader yet, is none that does not exist. */
async function describeTopics(
  cluster: Cluster,
  topics: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, TopicFacts>> {
  const answer = await cluster.metadata({ topics: [...topics] }, signal)
  const there = answer.topics.filter(({ errorCode }) => errorCode !== UNKNOWN_TOPIC && errorCode !== INVALID_TOPIC)
  const hidden = there.find(({ partitions }) => partitions.length === 0)
  if (hidden) throw brokerError(hidden.errorCode, `looking at topic ${hidden.name}`, null, { topic: hidden.name })
  return new Map(
    there.map(topic => {
      const id = givenId(topic)
      return [topic.name, { partitions: topic.partitions.length, ...(id !== undefined && { id }) }]
    }),
  )
}
