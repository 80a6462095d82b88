import type { StoredGroup } from '../archive/groups-section.ts'
import { KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { type CommittedOffsets, fetchCommittedOffsets, type GroupOffset } from '../kafka/group-offsets.ts'
import { describeGroupStates, type GroupListing, listGroups } from '../kafka/groups.ts'
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
    .filter(({ positions, undecided, error }) => positions.length > 0 || undecided !== undefined || error !== null)
  return { groups: stored, left_out: leftOut, warnings: await warningsOf(cluster, stored, leftOut, signal) }
}

function toStored({ positions, undecided, ...group }: FoundGroup, ends: PartitionEnds): StoredGroup {
  const kept = sortPlaces(positions.filter(({ topic }) => ends.has(topic)))
  const open = sortPlaces(undecided.filter(({ topic }) => ends.has(topic)))
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

function summarize(places: readonly string[]): string {
  const more = places.length > 5 ? [`and ${places.length - 5} more`] : []
  return [...places.slice(0, 5), ...more].join(', ')
}

const NOT_TAKEN =
  'groups whose progress is not in this backup, because groups of these types do not commit offsets, and which a ' +
  'restore does not carry over'

const HIDDEN =
  'consumer groups that this login may not describe are not among those taken: a broker leaves them out of its list ' +
  'without a word. Grant Describe on the cluster to be sure of all.'

interface FoundGroups {
  /** By name. One that could not be read is among them, with the reason. */
  groups: FoundGroup[]
  /** Groups of a kind whose progress is not read, such as share groups. */
  leftOut: { group: string; type: string }[]
}

/** The groups of a cluster that are selected, with all that they have committed. */
export async function findGroups(
  cluster: Cluster,
  selection: GroupSelection,
  signal: AbortSignal,
): Promise<FoundGroups> {
  const [isIncluded, isExcluded] = [compileGlobs(selection.include), compileGlobs(selection.exclude)]
  const isWanted = ({ group }: GroupListing) => isIncluded(group) && !isExcluded(group) && !group.startsWith(OWN_GROUPS)
  const listed = (await listGroups(cluster, signal)).filter(isWanted)
  const names = listed.filter(({ type }) => type !== 'other').map(({ group }) => group)
  const [states, offsets] = await Promise.all([
    describeGroupStates(cluster, names, signal),
    fetchCommittedOffsets(cluster, names, signal),
  ])
  const leftOut = listed.flatMap(({ group, type, typeName }) => (type === 'other' ? [{ group, type: typeName }] : []))
  const groups = listed.flatMap(({ group, type, state: listedState }): FoundGroup[] => {
    if (type === 'other') return []
    const [state, committed] = [states.get(group), offsets.get(group)]
    const isKnown = state !== undefined && !(state instanceof KafkaBackupError)
    return [
      {
        group,
        // A group may change its protocol at any time; the look at it is newer than the list.
        type: isKnown && state.type !== 'absent' ? state.type : type,
        state: isKnown ? state.state : listedState,
        members: isKnown ? state.members : null,
        // Who may not ask for members may still read positions, which are what counts.
        ...readingOf(committed),
      },
    ]
  })
  return { groups, leftOut }
}

function readingOf(
  committed: CommittedOffsets | KafkaBackupError | undefined,
): Pick<FoundGroup, 'error' | 'positions' | 'undecided'> {
  if (committed instanceof KafkaBackupError) return { error: committed.message, positions: [], undecided: [] }
  return { error: null, positions: committed?.offsets ?? [], undecided: committed?.undecided ?? [] }
}
