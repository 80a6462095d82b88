import { KafkaBackupError } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import { type ListedGroup, listGroupsApi, listGroupsBeforeTypes } from './api/list-groups.ts'
import type { MetadataResponse } from './api/metadata.ts'
import { brokerError } from './broker-errors.ts'
import type { Cluster } from './cluster.ts'

/** Groups that commit offsets: `classic`, `consumer` (KIP-848), `streams` (KIP-1071). */
export type CommittingType = 'classic' | 'consumer' | 'streams'

/** `other` groups, such as `share` (KIP-932), record their progress in another way. */
export type GroupType = CommittingType | 'other'

export interface GroupListing {
  group: string
  type: GroupType
  /** The broker's own word for the type, in lower case, such as `share`. */
  typeName: string
  /** The broker's own word: `Stable`, `Empty`, `Assigning`, … */
  state: string
  protocolType: string
}

const OFFSETS_TOPIC = '__consumer_offsets'
const BROKERS_AT_ONCE = 16

/**
 * All groups of all brokers, by name. A broker knows those it coordinates, so that all are asked; when one does not answer,
 * is loading, or coordinators moved meanwhile, all are asked again, as a group may have moved from one to another unseen.
 */
export function listGroups(cluster: Cluster, signal: AbortSignal): Promise<GroupListing[]> {
  return cluster.settling(async () => {
    const before = await coordinators(cluster, signal)
    const lists = await runPool(before.brokers, BROKERS_AT_ONCE, brokerId => listAt(cluster, brokerId, signal))
    const after = await coordinators(cluster, signal)
    if (after.leaders !== before.leaders || after.brokers.join() !== before.brokers.join()) {
      throw new KafkaBackupError('KAFKA_NOT_READY', 'coordinators of consumer groups moved while groups were listed')
    }
    const groups = new Map(lists.flat().map(listed => [listed.group, toListing(listed)]))
    return [...groups.values()].sort((a, b) => (a.group < b.group ? -1 : 1))
  }, signal)
}

/** Where groups live at this moment. Who may not see the offsets topic hears of the brokers alone. */
async function coordinators(cluster: Cluster, signal: AbortSignal): Promise<{ brokers: number[]; leaders: string }> {
  const answer = await cluster.metadata({ topics: [OFFSETS_TOPIC] }, signal)
  const partitions = offsetsPartitions(answer)
  const orphan = partitions.find(({ leader }) => leader < 0)
  if (orphan) {
    const what = `partition ${OFFSETS_TOPIC}/${orphan.partition} has no leader, so that its groups cannot be listed`
    throw new KafkaBackupError('KAFKA_NOT_READY', what)
  }
  const leaders = partitions.map(({ partition, leader, leaderEpoch }) => `${partition}:${leader}:${leaderEpoch}`)
  return { brokers: answer.brokers.map(({ id }) => id).sort((a, b) => a - b), leaders: leaders.sort().join() }
}

function offsetsPartitions({ topics }: MetadataResponse) {
  return topics.find(({ name, errorCode }) => name === OFFSETS_TOPIC && errorCode === 0)?.partitions ?? []
}

async function listAt(cluster: Cluster, brokerId: number, signal: AbortSignal): Promise<ListedGroup[]> {
  const link = await cluster.link(brokerId, signal)
  const api = link.speaks(listGroupsApi) ? listGroupsApi : listGroupsBeforeTypes
  const { errorCode, groups } = await link.call(api, {}, signal)
  if (errorCode !== 0) throw brokerError(errorCode, `listing the groups of broker ${brokerId}`)
  return groups
}

function toListing({ group, protocolType, state, type }: ListedGroup): GroupListing {
  const typeName = (type ?? 'classic').toLowerCase()
  return {
    group,
    protocolType,
    state,
    typeName,
    type: isCommitting(typeName) ? typeName : 'other',
  }
}

function isCommitting(typeName: string): typeName is CommittingType {
  return typeName === 'classic' || typeName === 'consumer' || typeName === 'streams'
}
