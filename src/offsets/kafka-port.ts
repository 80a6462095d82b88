import type { Cluster } from '../kafka/cluster.ts'
import { deleteGroupOffsets } from '../kafka/delete-offsets.ts'
import { describeGroupStates } from '../kafka/describe-group-states.ts'
import { commitGroupOffsets, fetchOffsetsOfGroups } from '../kafka/group-offsets.ts'
import { listGroups } from '../kafka/list-groups.ts'
import { fetchBounds, findOffsetsByTime } from '../kafka/offsets.ts'
import type { OffsetsPort } from './offsets-port.ts'

/** The groups of a real cluster. How records are read is handed in: it is the business of restores. */
export function kafkaOffsets(cluster: Cluster, readRecords: OffsetsPort['readRecords']): OffsetsPort {
  return {
    clusterId: async signal => (await cluster.metadata({ topics: [] }, signal)).clusterId,
    listGroups: signal => listGroups(cluster, signal),
    describeGroups: (groups, signal) => describeGroupStates(cluster, groups, signal),
    readPositions: (groups, signal) => fetchOffsetsOfGroups(cluster, groups, signal),
    countPartitions: async (topics, signal) => {
      if (topics.length === 0) return new Map()
      const answer = await cluster.metadata({ topics: [...topics] }, signal)
      const there = answer.topics.filter(({ partitions }) => partitions.length > 0)
      return new Map(there.map(({ name, partitions }) => [name, partitions.length]))
    },
    readBounds: async (partitions, signal) =>
      partitions.length === 0 ? new Map() : fetchBounds(cluster, partitions, signal),
    findByTime: async (partitions, timestampMs, signal) =>
      partitions.length === 0 ? new Map() : findOffsetsByTime(cluster, partitions, timestampMs, signal),
    readRecords,
    commit: (group, positions, signal) => commitGroupOffsets(cluster, group, positions, signal),
    remove: (group, partitions, signal) => deleteGroupOffsets(cluster, group, partitions, signal),
  }
}
