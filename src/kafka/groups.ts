import { KafkaBackupError } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import {
  consumerGroupDescribe,
  type DescribedConsumerGroup,
  shareGroupDescribe,
  streamsGroupDescribe,
} from './api/describe-new-groups.ts'
import { type DescribedGroup, describeGroups, type ListedGroup, listGroupsApi } from './api/list-groups.ts'
import type { MetadataResponse } from './api/metadata.ts'
import { type AskCoordinator, atCoordinators, type ByGroup } from './at-coordinators.ts'
import { brokerError } from './broker-errors.ts'
import type { BrokerLink } from './broker-link.ts'
import type { Cluster } from './cluster.ts'
import type { Api } from './wire/api.ts'

/** `classic`, `consumer` (KIP-848) and `streams` (KIP-1071) groups commit offsets, `share` groups (KIP-932) have start offsets. */
const groupTypes = ['classic', 'consumer', 'streams', 'share'] as const
export type GroupType = (typeof groupTypes)[number]

export interface GroupListing {
  group: string
  /** `other` groups record their progress in a way that this program does not know. */
  type: GroupType | 'other'
  /** The broker's own word for the type, in lower case, such as `share`. */
  typeName: string
  /** The broker's own word: `Stable`, `Empty`, `Assigning`, …; `Unknown` where it does not tell. */
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
  const { errorCode, groups } = await link.call(listGroupsApi, {}, signal)
  if (errorCode !== 0) throw brokerError(errorCode, `listing the groups of broker ${brokerId}`)
  return groups
}

function toListing({ group, protocolType, state, type }: ListedGroup): GroupListing {
  const typeName = (type ?? 'classic').toLowerCase()
  return {
    group,
    protocolType,
    state: state ?? 'Unknown',
    typeName,
    type: groupTypes.find(type => type === typeName) ?? 'other',
  }
}

export interface GroupState {
  /** `absent` is a group that does not exist, or one of a type that is not known. */
  type: GroupType | 'absent'
  /** The broker's own word: `Stable`, `Empty`, …; `Dead` where there is none. */
  state: string
  members: number
}

const UNSUPPORTED_VERSION = 35
const GROUP_ID_NOT_FOUND = 69
const ABSENT: GroupState = { type: 'absent', state: 'Dead', members: 0 }

/** State and members of each group; what could not be read is the error of its group. */
export function describeGroupStates(
  cluster: Cluster,
  groups: readonly string[],
  signal: AbortSignal,
): Promise<ByGroup<GroupState>> {
  const ask: AskCoordinator<GroupState> = async (link, some) => {
    const states: ByGroup<GroupState> = new Map()
    const rest = () => some.filter(group => !states.has(group))
    await describeModern(link, consumerGroupDescribe, 'consumer', rest(), states, signal)
    await describeModern(link, streamsGroupDescribe, 'streams', rest(), states, signal)
    await describeModern(link, shareGroupDescribe, 'share', rest(), states, signal)
    await describeClassic(link, rest(), states, signal)
    return states
  }
  return atCoordinators(cluster, groups, ask, signal)
}

/** Of one protocol alone; a broker answers for all others that it does not find them. */
async function describeModern(
  link: BrokerLink,
  api: Api<{ groups: string[] }, DescribedConsumerGroup[]>,
  type: GroupType,
  groups: readonly string[],
  states: ByGroup<GroupState>,
  signal: AbortSignal,
): Promise<void> {
  if (groups.length === 0 || !link.speaks(api)) return
  for (const one of await link.call(api, { groups: [...groups] }, signal)) {
    const { errorCode, errorMessage, group, state, members } = one
    if (errorCode === 0) states.set(group, { type, state, members })
    else if (errorCode !== GROUP_ID_NOT_FOUND && errorCode !== UNSUPPORTED_VERSION) {
      states.set(group, brokerError(errorCode, `describing group ${group}`, errorMessage, { group }))
    }
  }
}

async function describeClassic(
  link: BrokerLink,
  groups: readonly string[],
  states: ByGroup<GroupState>,
  signal: AbortSignal,
): Promise<void> {
  if (groups.length === 0) return
  const answers = await link.call(describeGroups, { groups: [...groups] }, signal)
  for (const one of answers) states.set(one.group, readClassic(one))
}

function readClassic({ errorCode, group, state, members }: DescribedGroup): GroupState | KafkaBackupError {
  if (errorCode === GROUP_ID_NOT_FOUND) return ABSENT
  if (errorCode !== 0) return brokerError(errorCode, `describing group ${group}`, null, { group })
  return state === 'Dead' ? ABSENT : { type: 'classic', state, members }
}
