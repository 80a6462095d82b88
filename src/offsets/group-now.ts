import { KafkaBackupError } from '../errors.ts'
import type { GroupOffset } from '../kafka/group-offsets.ts'
import type { GroupState } from '../kafka/groups.ts'
import type { TopicPartition } from '../kafka/offsets.ts'
import type { OffsetsPort } from './offsets-port.ts'

/** A group as it is at the moment. */
export interface GroupNow {
  group: string
  type: GroupState['type']
  state: string
  members: number
  positions: GroupOffset[]
  /** Partitions for which an open transaction holds a newer offset; the position, if there is one, is the last committed. */
  undecided: TopicPartition[]
  /** The error of reading the group; then nothing else is known. */
  error?: KafkaBackupError
}

/** State and positions of each of these groups, in their order. */
export async function readGroups(
  port: OffsetsPort,
  groups: readonly string[],
  signal: AbortSignal,
): Promise<GroupNow[]> {
  const [states, positions] = await Promise.all([
    port.describeGroups(groups, signal),
    port.readPositions(groups, signal),
  ])
  return groups.map(group => {
    const state = states.get(group)
    const committed = positions.get(group)
    const error = [state, committed].find(one => one instanceof KafkaBackupError)
    const known = state instanceof KafkaBackupError || state === undefined ? unknownState : state
    const { type, state: name, members } = known
    const { offsets = [], undecided = [] } = committed instanceof KafkaBackupError ? {} : (committed ?? {})
    return {
      group,
      type,
      state: name,
      members,
      positions: sortPlaces(offsets),
      undecided: sortPlaces(undecided),
      ...(error && { error }),
    }
  })
}

const unknownState = { type: 'absent', state: 'unknown', members: 0 } as const

export function sortPlaces<T extends { topic: string; partition: number }>(places: readonly T[]): T[] {
  return [...places].sort((a, b) => (a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1))
}
