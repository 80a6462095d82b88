import type { GroupState } from '../kafka/groups.ts'
import type { Finding } from '../observe/finding.ts'
import { type CarriedGroup, groupError } from './carry-plan.ts'

export const LEAVE_OUT = 'leave it out with restore.consumer_groups.exclude'

/** Pure. What a group of this type is not on the target, although it gets its offsets. */
export function tellType(group: CarriedGroup, state: GroupState): Finding[] {
  if (group.type === 'share') {
    const isMerged = group.streams.some(({ partitions }) => partitions.length > 1)
    return [groupWarning(group, `${REDELIVERED}${isMerged ? MERGED : ''}`), ...tellUnset(group)]
  }
  return group.type === 'streams' && state.type !== 'streams' ? [groupWarning(group, NO_PROTOCOL, ON_4_1)] : []
}

const REDELIVERED =
  'it is a share group, which gets its start offsets. Records behind a start offset that were acknowledged on the source ' +
  'are delivered again, because no broker reports them'

const MERGED =
  '. Where records of several partitions are in one, records before a start offset are delivered again, too, if an unread ' +
  'record of another partition is before them'

function tellUnset(group: CarriedGroup): Finding[] {
  const { unset = 0, mergedUnset = 0 } = group
  const found = [
    ...(unset > 0 ? [[unset, 'there it starts where its share.auto.offset.reset says'] as const] : []),
    ...(mergedUnset > 0 ? [[mergedUnset, 'all their records count as unread, and are delivered'] as const] : []),
  ]
  return found.map(([count, what]) => {
    const places = count === 1 ? '1 partition' : `${count} partitions`
    return groupWarning(group, `the backup has no start offset of ${places}: ${what}`)
  })
}

/** A commit creates a group without a protocol, which not every broker turns into one of the Streams protocol. */
const NO_PROTOCOL =
  'it used the Streams protocol (KIP-1071) on the source, and the target has no such group. Its offsets are committed ' +
  'to a group without a protocol: Kafka 4.2 and later convert it when the application joins, Kafka 4.1 does not and ' +
  'refuses the application'

const ON_4_1 =
  'on Kafka 4.1 start the application on the target once before the restore and stop it, or run it with ' +
  'group.protocol=classic'

/** A target that cannot hold the group. */
export function unsupportedShare({ target }: CarriedGroup): Finding {
  const problem =
    'it is a share group (KIP-932), and the target has no share groups, or does not report their start offsets'
  const remedy = `restore to Kafka 4.1 or later with the feature share.version, or ${LEAVE_OUT}`
  return groupError(target, problem, remedy)
}

export function groupWarning({ target }: CarriedGroup, problem: string, remedy = ''): Finding {
  return { severity: 'warning', subject: `group ${target}`, problem, remedy, details: { group: target } }
}
