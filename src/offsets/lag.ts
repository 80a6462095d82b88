import type { GroupOffset } from '../kafka/group-offsets.ts'
import { partitionKey } from '../kafka/offsets.ts'
import { readFacts } from './cluster-facts.ts'
import { type GroupNow, readGroups } from './group-now.ts'
import type { OffsetsPort } from './offsets-port.ts'
import { compilePlaces, isOwnGroup, type PositionSelection, selectGroups } from './select-groups.ts'

export interface LaggingPosition extends GroupOffset {
  /** Null where the partition is not there. */
  logStart: bigint | null
  logEnd: bigint | null
  /** Records, or offsets where there are holes, up to the end; below 0 where the position is behind the end. */
  lag: bigint | null
}

export interface LaggingGroup extends Omit<GroupNow, 'positions'> {
  positions: LaggingPosition[]
}

export interface LagReport {
  groups: LaggingGroup[]
  /** Groups of a type that this program does not know, with that type. */
  leftOut: { group: string; type: string }[]
}

/** The selected groups, or all of other programs, with how far each is behind. */
export async function readLags(
  port: OffsetsPort,
  selection: PositionSelection,
  signal: AbortSignal,
): Promise<LagReport> {
  const listed = await port.listGroups(signal)
  const usable = listed.filter(({ type }) => type !== 'other').map(({ group }) => group)
  const names =
    selection.groups.length > 0 ? selectGroups(selection.groups, usable) : usable.filter(group => !isOwnGroup(group))
  const isWanted = compilePlaces(selection)
  const groups = (await readGroups(port, names, signal)).map(now => ({
    ...now,
    positions: now.positions.filter(isWanted),
  }))
  const { bounds } = await readFacts(
    port,
    groups.flatMap(({ positions }) => positions),
    signal,
  )
  const leftOut = listed
    .filter(({ type }) => type === 'other')
    .map(({ group, typeName }) => ({ group, type: typeName }))
  return {
    groups: groups.map(now => ({
      ...now,
      positions: now.positions.map(one => {
        const range = bounds.get(partitionKey(one))
        const { logStart = null, highWatermark: logEnd = null } = range ?? {}
        return { ...one, logStart, logEnd, lag: logEnd === null ? null : logEnd - one.offset }
      }),
    })),
    leftOut,
  }
}
