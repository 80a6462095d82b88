import type { StoredGroup } from '../archive/groups-section.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { CommittedOffsets, GroupOffset } from '../kafka/group-offsets.ts'
import { fetchProgress } from '../kafka/group-progress.ts'
import { describeGroupStates, type GroupListing, type GroupState, listGroups } from '../kafka/groups.ts'
import { type PartitionEnds, partitionKey } from '../kafka/offsets.ts'
import { maySeeAllGroups } from '../kafka/permissions.ts'
import { compileGlobs } from '../lib/glob.ts'
import { sortPlaces } from './group-now.ts'
import { type FoundGroup, type GroupSelection, OWN_GROUPS } from './model.ts'

interface TakenGroups {
  groups: StoredGroup[]
  left_out: { group: string; type: string }[]
  warnings: string[]
}

/**
 * The groups that have positions on these topics, as a backup keeps them. A group that could not be read is kept as one
 * that could not be read, whatever its topics are.
 */
export async function readSourceGroups(
  cluster: Cluster,
  selection: GroupSelection,
  ends: PartitionEnds,
  signal: AbortSignal,
): Promise<TakenGroups> {
  const { groups, leftOut } = await findGroups(cluster, selection, signal)
  const stored = groups
    .map(group => toStored(group, ends))
    .filter(
      ({ positions, undecided, unset, error }) =>
        positions.length > 0 || undecided !== undefined || unset !== undefined || error !== null,
    )
  return { groups: stored, left_out: leftOut, warnings: await warningsOf(cluster, stored, leftOut, signal) }
}

function toStored({ positions, undecided, unset, ...group }: FoundGroup, ends: PartitionEnds): StoredGroup {
  const kept = sortPlaces(positions.filter(({ topic }) => ends.has(topic)))
  const open = sortPlaces(undecided.filter(({ topic }) => ends.has(topic)))
  const without = sortPlaces(unset.filter(({ topic }) => ends.has(topic)))
  return {
    ...group,
    positions: kept.map(one => ({
      topic: one.topic,
      partition: one.partition,
      offset: one.offset,
      leader_epoch: one.leaderEpoch,
      metadata: one.metadata,
      lag: lagOf(one, ends),
    })),
    ...(open.length > 0 && { undecided: open }),
    ...(without.length > 0 && { unset: without }),
  }
}

/** A group that read on since the ends were fixed has none. */
function lagOf({ topic, partition, offset }: GroupOffset, ends: PartitionEnds): bigint | null {
  const end = ends.get(topic)?.get(partition)
  if (end === undefined) return null
  return end > offset ? end - offset : 0n
}

async function warningsOf(
  cluster: Cluster,
  groups: readonly StoredGroup[],
  leftOut: readonly { group: string; type: string }[],
  signal: AbortSignal,
): Promise<string[]> {
  const failed = groups.filter(({ error }) => error !== null)
  const others = leftOut.map(({ group, type }) => `${group} (${type})`)
  return [
    ...failed.map(({ group, error }) => `consumer group ${group} could not be read: ${error}`),
    ...groups.flatMap(tellUndecided),
    ...groups.flatMap(tellUnset),
    ...(others.length === 0 ? [] : [`${NOT_TAKEN}: ${others.join(', ')}`]),
    ...((await maySeeAllGroups(cluster, signal)) ? [] : [HIDDEN]),
  ]
}

/** The last committed offset is right for this moment: the records of the open transaction are not in the backup either. */
function tellUndecided({ group, positions, undecided = [] }: StoredGroup): string[] {
  if (undecided.length === 0) return []
  const has = new Set(positions.map(partitionKey))
  const without = undecided.filter(one => !has.has(partitionKey(one))).map(partitionKey)
  const places = summarize(undecided.map(partitionKey))
  const lacking =
    without.length === 0 ? '' : `; it never committed one for ${summarize(without)}, which has no position`
  return [
    `consumer group ${group}: an open transaction holds a newer offset of ${places}; ` +
      `the backup holds the last committed one${lacking}`,
  ]
}

/** Brokers answer the same for a partition that the group has not read and for one whose state they could not read. */
function tellUnset({ group, unset = [] }: StoredGroup): string[] {
  if (unset.length === 0) return []
  const places = summarize(unset.map(partitionKey))
  return [
    `share group ${group} has no start offset on ${places}: nothing is acknowledged there yet, or the broker could not ` +
      'read it. Without one, a restored group starts there by its share.auto.offset.reset',
  ]
}

function summarize(places: readonly string[]): string {
  const more = places.length > 5 ? [`and ${places.length - 5} more`] : []
  return [...places.slice(0, 5), ...more].join(', ')
}

const NOT_TAKEN =
  'groups whose progress is not in this backup, because the brokers do not report it, and which a restore does not ' +
  'carry over'

const HIDDEN =
  'consumer groups that this login may not describe are not among those taken: a broker leaves them out of its list ' +
  'without a word. Grant Describe on the cluster to be sure of all.'

interface FoundGroups {
  /** By name. One that could not be read is among them, with the reason. */
  groups: FoundGroup[]
  /** Groups whose progress cannot be read from these brokers. */
  leftOut: { group: string; type: string }[]
}

/** The groups of a cluster that are selected, with their committed offsets or, for share groups, their start offsets. */
export async function findGroups(
  cluster: Cluster,
  selection: GroupSelection,
  signal: AbortSignal,
): Promise<FoundGroups> {
  const [isIncluded, isExcluded] = [compileGlobs(selection.include), compileGlobs(selection.exclude)]
  const isWanted = ({ group }: GroupListing) => isIncluded(group) && !isExcluded(group) && !group.startsWith(OWN_GROUPS)
  const listed = (await listGroups(cluster, signal)).filter(isWanted)
  const known = listed.flatMap(({ group, type }) => (type === 'other' ? [] : [{ group, type }]))
  const names = known.map(({ group }) => group)
  const [states, progress] = await Promise.all([
    describeGroupStates(cluster, names, signal),
    fetchProgress(cluster, known, signal),
  ])
  const isUnknown = ({ group, type }: GroupListing) =>
    type === 'other' || (type === 'share' && isUnreported(progress.get(group)))
  const readable = listed.filter(one => !isUnknown(one))
  return {
    groups: readable.flatMap(one => toFound(one, states.get(one.group), progress.get(one.group)) ?? []),
    leftOut: listed.filter(isUnknown).map(({ group, typeName }) => ({ group, type: typeName })),
  }
}

/** A broker that keeps no state of a share group answers with an empty list, as Kafka 4.1 does without the feature. */
function isUnreported(progress: CommittedOffsets | KafkaBackupError | undefined): boolean {
  if (progress === undefined || progress instanceof KafkaBackupError) return hasCode(progress, 'KAFKA_UNSUPPORTED')
  return progress.offsets.length === 0 && (progress.unset ?? []).length === 0
}

function toFound(
  { group, type, state: listedState }: GroupListing,
  state: GroupState | KafkaBackupError | undefined,
  progress: CommittedOffsets | KafkaBackupError | undefined,
): FoundGroup | undefined {
  if (type === 'other') return undefined
  const isKnown = state !== undefined && !(state instanceof KafkaBackupError)
  const found = isKnown && state.type !== 'absent' ? state.type : type
  return {
    group,
    // A group may change its protocol at any time, and the look at it is newer than the list; its offsets were read by the list.
    type: (found === 'share') === (type === 'share') ? found : type,
    state: isKnown ? state.state : listedState,
    members: isKnown ? state.members : null,
    // Who may not ask for members may still read positions, which are what counts.
    ...readingOf(progress),
  }
}

function readingOf(
  progress: CommittedOffsets | KafkaBackupError | undefined,
): Pick<FoundGroup, 'error' | 'positions' | 'undecided' | 'unset'> {
  if (progress instanceof KafkaBackupError) return { error: progress.message, positions: [], undecided: [], unset: [] }
  const { offsets = [], undecided = [], unset = [] } = progress ?? {}
  return { error: null, positions: offsets, undecided, unset }
}
