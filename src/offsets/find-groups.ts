import { KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { type CommittedOffsets, fetchCommittedOffsets } from '../kafka/group-offsets.ts'
import { describeGroupStates, type GroupListing, listGroups } from '../kafka/groups.ts'
import { compileGlobs } from '../lib/glob.ts'
import { type FoundGroup, type GroupSelection, OWN_GROUPS } from './model.ts'

export interface FoundGroups {
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
