import { KafkaBackupError } from '../errors.ts'
import type { GroupListing } from '../kafka/groups.ts'
import { partitionKey } from '../kafka/offsets.ts'
import { compileGlobs, isPattern } from '../lib/glob.ts'
import { readFacts } from './cluster-facts.ts'
import { type GroupNow, readGroups } from './group-now.ts'
import type { OffsetsPort } from './offsets-port.ts'
import type { PlannedGroup } from './plan-reset.ts'
import { selectGroups } from './select-groups.ts'
import { type OffsetSnapshot, type SnapshotGroup, topicsOf } from './snapshot.ts'
import type { SnapshotBook } from './snapshot-book.ts'
import { topicIdsOf } from './topic-ids.ts'

/**
 * Takes a snapshot of committed offsets, also for groups with active members, because reading does not disturb them. A group that cannot be read is
 * in it with the reason. Where there is nothing at all, no snapshot is made.
 */
export async function takeSnapshot(
  wanted: readonly string[],
  { port, book, onWarning }: { port: OffsetsPort; book: SnapshotBook; onWarning?: (message: string) => void },
  signal: AbortSignal,
): Promise<OffsetSnapshot> {
  const all = await port.listGroups(signal)
  const listed = all.filter(({ type }) => type !== 'other').map(({ group }) => group)
  const patterns = wanted.length > 0 ? wanted.filter(isPattern) : ['*']
  const names = selectGroups(wanted.length > 0 ? wanted : patterns, listed)
  const unknown = names.find(name => !listed.includes(name))
  if (unknown !== undefined) throw await notListed(unknown, all, port, signal)
  if (patterns.length > 0) await warnOfOthers(all, patterns, port, onWarning, signal)
  const groups = (await readGroups(port, names, signal)).map(snapshotGroup)
  const { topics } = await readFacts(
    port,
    [],
    signal,
    groups.flatMap(({ positions }) => positions),
  )
  const content = { cluster_id: await port.clusterId(signal), groups, ...topicsOf(groups, topicIdsOf(topics)) }
  return book.write({ reason: 'snapshot', ...content }, signal)
}

/** Why a group that is named is not among those whose progress can be read. */
async function notListed(
  group: string,
  all: readonly GroupListing[],
  port: OffsetsPort,
  signal: AbortSignal,
): Promise<KafkaBackupError> {
  const details = { group }
  const other = all.find(one => one.group === group)
  if (other) {
    const message = `the brokers do not report the progress of group ${group}, which is of the type ${other.typeName}`
    return new KafkaBackupError('KAFKA_UNSUPPORTED', message, { details })
  }
  const isHidden = !(await port.maySeeAllGroups(signal))
  const help = isHidden && {
    help: `Grant Describe on group ${group}: brokers leave out groups that a login may not describe.`,
  }
  const more = isHidden ? ', or this login may not describe it' : ''
  return new KafkaBackupError('GROUP_NOT_FOUND', `there is no consumer group ${group}${more}`, { details, ...help })
}

/** What a pattern could mean and is not in the snapshot. */
async function warnOfOthers(
  listed: readonly GroupListing[],
  patterns: readonly string[],
  port: OffsetsPort,
  onWarning: ((message: string) => void) | undefined,
  signal: AbortSignal,
): Promise<void> {
  const isMeant = compileGlobs(patterns)
  const others = listed.filter(({ group, type }) => type === 'other' && isMeant(group))
  const names = others.map(({ group, typeName }) => `${group} (${typeName})`)
  if (names.length > 0) {
    onWarning?.(
      `groups whose progress the snapshot does not have, because the brokers do not report it: ${names.join(', ')}`,
    )
  }
  if (!(await port.maySeeAllGroups(signal))) onWarning?.(HIDDEN)
}

const HIDDEN =
  'consumer groups that this login may not describe are not in the snapshot: a broker leaves them out of its list. ' +
  'Grant Describe on the cluster to be sure of all.'

/** With the partitions that the plan gives a first position, so that a rollback can take it away again. */
export function snapshotPlanned({ now, positions }: PlannedGroup): SnapshotGroup {
  const had = new Set(now.positions.map(partitionKey))
  const absent = positions
    .filter(one => one.isChange && !had.has(partitionKey(one)))
    .map(({ topic, partition }) => ({ topic, partition }))
  return { ...snapshotGroup(now), absent }
}

function snapshotGroup(now: GroupNow): SnapshotGroup {
  const { group: name, type, state, members, positions, undecided, error } = now
  return {
    group: name,
    type,
    state,
    members,
    positions: positions.map(({ topic, partition, offset, leaderEpoch, metadata }) => ({
      ...{ topic, partition, offset, leader_epoch: leaderEpoch, metadata },
    })),
    absent: [],
    ...(undecided.length > 0 && { undecided }),
    ...(error && { error: error.message }),
  }
}
