import type { KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { GroupOffset } from '../kafka/group-offsets.ts'
import { DEFAULT_METADATA_LIMIT, METADATA_SETTING, readMetadataLimit } from '../kafka/metadata-limit.ts'
import { partitionKey } from '../kafka/offsets.ts'
import { fetchGroupPermissions } from '../kafka/permissions.ts'
import type { Finding } from '../observe/finding.ts'
import { groupWarning, LEAVE_OUT } from './carried-type.ts'
import { type CarriedGroup, groupError } from './carry-plan.ts'
import { findCrowded, missingOf } from './given-offsets.ts'
import { metadataOn } from './place-groups.ts'

export const OTHER_WAYS = `${LEAVE_OUT}, or give it another name with restore.consumer_groups.mapping`

/** How many groups are noted for a partition at most, where brokers take so much metadata. */
export type CountNoted = (metadataLimit: number | undefined) => number

/** How much metadata the target takes; undefined where it is not known, or does not matter. */
export async function readMetadataRoom(
  cluster: Cluster,
  groups: readonly CarriedGroup[],
  signal: AbortSignal,
): Promise<number | undefined> {
  return groups.length === 0 ? undefined : readMetadataLimit(cluster, signal)
}

/** Pure. As `findCrowded`, with what helps where brokers take less than by default. */
export function judgeRoom(
  groups: readonly CarriedGroup[],
  countNoted: CountNoted,
  limit: number | undefined,
): Finding[] {
  const remedy = `set ${METADATA_SETTING} to ${DEFAULT_METADATA_LIMIT}, its default, on all brokers of the target`
  const isLow = countNoted(limit) < countNoted(undefined)
  return findCrowded(groups, countNoted(limit), isLow ? remedy : '')
}

interface MetadataCircumstances {
  /** Offsets of the group that the target has. */
  present: readonly GroupOffset[]
  /** How much metadata brokers take; undefined where it is not known. */
  limit: number | undefined
  hasBegun: boolean
}

/**
 * Pure. A group whose offsets would be refused for their metadata: a blocker before the first write, because programs may need it, so that
 * the offsets are not restored without. Where the restore has begun, or the limit is not known, it must not hold up the records.
 */
export function judgeMetadata(group: CarriedGroup, { present, limit, hasBegun }: MetadataCircumstances): Finding[] {
  const taken = limit ?? DEFAULT_METADATA_LIMIT
  if (group.type === 'share' || group.positions.every(({ metadata }) => metadata.length <= taken)) return []
  const lengths = missingOf(group, present).map(
    stream =>
      [
        metadataOn(group, stream).length,
        partitionKey({ topic: stream.targetTopic, partition: stream.targetPartition }),
      ] as const,
  )
  const long = lengths.filter(([length]) => length > taken).toSorted(([a], [b]) => b - a)
  const [longest] = long
  if (!longest) return []
  const more = long.length === 1 ? '' : ` (${long.length} partitions have too much)`
  const what = `the metadata of its committed offset on ${longest[1]} has ${longest[0]} characters`
  const remedy = `set ${METADATA_SETTING} to at least ${longest[0]} on all brokers of the target, or ${LEAVE_OUT}`
  if (limit === undefined) {
    const unknown = `brokers take ${taken} by default, and the limit of the target cannot be read: if it is lower, the group fails`
    return [groupWarning(group, `${what}${more}; ${unknown}`, remedy)]
  }
  const problem = `${what}, and the brokers of the target take ${taken}${more}`
  return hasBegun
    ? [groupWarning(group, `${problem}: the group fails`, remedy)]
    : [groupError(group.target, problem, remedy)]
}

export async function judgePermission(
  cluster: Cluster,
  one: CarriedGroup,
  present: GroupOffset[] | KafkaBackupError | undefined,
  signal: AbortSignal,
): Promise<Finding[]> {
  if (Array.isArray(present) && missingOf(one, present).length === 0) return []
  const granted = await fetchGroupPermissions(cluster, one.target, signal)
  if (granted === undefined || granted.has('Read')) return []
  return [
    {
      ...groupError(one.target, 'Read is not granted', `grant Read on the group, ${OTHER_WAYS}`),
      code: 'KAFKA_DENIED',
    },
  ]
}
