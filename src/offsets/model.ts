import type { CommittedOffsets } from '../kafka/group-offsets.ts'
import type { GroupType } from '../kafka/groups.ts'
import type { TopicPartition } from '../kafka/offsets.ts'

/** Which groups are meant: those that match a pattern of `include` and none of `exclude`. */
export interface GroupSelection {
  include: readonly string[]
  exclude: readonly string[]
}

/** A group as it was found on a cluster. */
export interface FoundGroup extends Pick<CommittedOffsets, 'undecided'> {
  group: string
  type: GroupType
  /** The broker's own word, such as `Stable` or `Empty`; null where it could not be asked. */
  state: string | null
  members: number | null
  /** Why it could not be read; its positions are then not known. */
  error: string | null
  positions: CommittedOffsets['offsets']
  /** Partitions of a share group without a start offset. */
  unset: TopicPartition[]
}

/** What tells the notes of a restore, which are kept as offsets of a group, from a group of consumers. */
export const OWN_GROUPS = '__kafka-backup.'
