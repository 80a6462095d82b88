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
  const states = await port.describeGroups(groups, signal)
  const typed = groups.map(group => ({ group, type: knownState(states.get(group)).type }))
  const positions = await port.readPositions(typed, signal)
  return groups.map(group => {
    const state = states.get(group)
    const committed = positions.get(group)
    const error = [state, committed].find(one => one instanceof KafkaBackupError)
    const { type, state: name, members } = knownState(state)
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

function knownState(state: GroupState | KafkaBackupError | undefined): GroupState {
  return state === undefined || state instanceof KafkaBackupError ? UNKNOWN : state
}

const UNKNOWN: GroupState = { type: 'absent', state: 'unknown', members: 0 }

export function sortPlaces<T extends { topic: string; partition: number }>(places: readonly T[]): T[] {
  return [...places].sort((a, b) => (a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1))
}
