import { KafkaBackupError } from '../errors.ts'
import type { GroupOffset } from '../kafka/group-offsets.ts'
import { partitionKey, type TopicPartition } from '../kafka/offsets.ts'
import type { Finding } from '../observe/finding.ts'
import { LEAVE_OUT } from './carried-type.ts'
import type { CarriedGroup, CarriedStream } from './carry-plan.ts'

/** The offset on one partition of the target that a group there has got. */
export interface GivenOffset extends TopicPartition {
  group: string
  /** The group of the backup whose offset it is: a run with another mapping gives those of another one. */
  source: string
}

/**
 * Whether it is noted that this restore has written the offset; its consumers may have advanced since. Unknown where a complete restore had no
 * room to note it: such an offset is kept.
 */
export type IsGiven = (offset: GivenOffset) => boolean | 'unknown'

/** Notes offsets that were written and read back, before anything reports them. */
export type NoteGiven = (offsets: readonly GivenOffset[], signal: AbortSignal) => Promise<void>

/** Pure. The committed offsets on partitions of the restore that are not noted as written by it; or those of which that is unknown. */
export function unnotedOf(
  { group: source, target, streams }: Pick<CarriedGroup, 'group' | 'target' | 'streams'>,
  present: readonly GroupOffset[],
  isGiven: IsGiven,
  answer: false | 'unknown' = false,
): GroupOffset[] {
  const wanted = new Set(streams.map(keyOf))
  const isAnswer = ({ topic, partition }: GroupOffset) =>
    isGiven({ group: target, source, topic, partition }) === answer
  return present.filter(one => wanted.has(partitionKey(one)) && isAnswer(one))
}

/** Pure. The partitions of the target on which the group has no committed offset, of these. */
export function missingOf(
  { streams }: Pick<CarriedGroup, 'streams'>,
  present: readonly GroupOffset[],
): CarriedStream[] {
  const has = new Set(present.map(partitionKey))
  return streams.filter(stream => !has.has(keyOf(stream)))
}

/** Pure. Where more groups get offsets than the notes of a partition have room for. The remedy is for brokers that take less than by default. */
export function findCrowded(groups: readonly CarriedGroup[], maxNoted: number, remedy = ''): Finding[] {
  const counts = new Map<string, number>()
  for (const key of groups.flatMap(({ streams }) => streams.map(keyOf))) counts.set(key, (counts.get(key) ?? 0) + 1)
  const crowded = [...counts].filter(([, count]) => count > maxNoted)
  const [first] = crowded
  if (!first) return []
  const places = crowded.length === 1 ? '1 partition' : `${crowded.length} partitions`
  const problem =
    `more than ${maxNoted} groups get offsets on ${places}, such as ${first[1]} on ${first[0]}, and the progress of the restore ` +
    `has room for ${remedy === '' ? '' : 'about '}${maxNoted}. If the complete restore runs again, it keeps the offsets of the other groups, also those that it has not written`
  return [{ severity: 'warning', subject: 'consumer groups', problem, remedy }]
}

/**
 * Throws where the target has other offsets than those that the restore writes, and no note that it has written them. Equal ones are
 * fine, because the group continues where it should: a run may have died before it could note them.
 */
export function assertOwn(
  { target, type }: Pick<CarriedGroup, 'target' | 'type'>,
  unnoted: readonly GroupOffset[],
  expected: readonly GroupOffset[],
): void {
  const byKey = new Map(expected.map(one => [partitionKey(one), one]))
  const foreign = unnoted.filter(one => {
    const wanted = byKey.get(partitionKey(one))
    return wanted && !isSame(one, wanted)
  })
  const [first] = foreign
  if (!first) return
  const kind = type === 'share' ? 'start offset' : 'committed offset'
  const others = foreign.length - 1
  const more = others === 0 ? '' : ` and of ${others} more ${others === 1 ? 'partition' : 'partitions'}`
  throw new KafkaBackupError(
    'GROUP_ACTIVE',
    `the ${kind} ${first.offset} of group ${target} on ${partitionKey(first)}${more} is not one that this restore wrote, ` +
      `by its progress: a consumer may have started too early. ${remedyFor(target)}`,
    { details: { group: target, topic: first.topic, partition: first.partition } },
  )
}

export function isSame(one: GroupOffset | undefined, other: GroupOffset): boolean {
  return one?.offset === other.offset && one.metadata === other.metadata
}

export function remedyFor(group: string): string {
  return `Stop its consumers, delete the offsets of group ${group} on the target and run the same command again, or ${LEAVE_OUT}`
}

function keyOf({ targetTopic: topic, targetPartition: partition }: CarriedStream): string {
  return partitionKey({ topic, partition })
}
