import { KafkaBackupError } from '../errors.ts'
import type { TypedGroup } from '../kafka/group-progress.ts'
import type { GroupNow } from './group-now.ts'
import type { PlannedGroup, PlannedPosition } from './plan-reset.ts'

/** Where offsets come from: the type that the group had there, and the name of the place for messages. */
interface Elsewhere {
  type: string | undefined
  name: string
}

/**
 * Pure. The plan of a group, with what its type asks for: start offsets of a share group cannot become the committed offsets
 * of another group, a share group that is missing is created as one, and what a changed start offset delivers again is noted.
 */
export function planForType(planned: PlannedGroup, origin?: Elsewhere): PlannedGroup {
  const { now, positions, error } = planned
  if (error) return planned
  const type = origin?.type === 'absent' ? undefined : origin?.type
  if (now.type !== 'absent' && type !== undefined && isShare(type) !== isShare(now.type)) {
    return { now, positions: [], error: otherType(now, type, origin?.name ?? '') }
  }
  if (!isShare(now.type === 'absent' ? type : now.type)) return planned
  const created = now.type === 'absent' ? { createAs: 'share' as const } : {}
  return { now, ...created, positions: positions.map(tellRedelivery) }
}

/** The group as it is set and read back. */
export function typeToSet({ now, createAs }: PlannedGroup): TypedGroup {
  return { group: now.group, type: createAs ?? now.type }
}

function isShare(type: string | undefined): boolean {
  return type === 'share'
}

function otherType({ group, type }: GroupNow, other: string, where: string): KafkaBackupError {
  const message = `group ${group} is a ${type} group on this cluster and a ${other} group in ${where}`
  return new KafkaBackupError('OFFSETS_REFUSED', message, {
    details: { group },
    help: 'No committed offset was changed. Delete the group on this cluster, or leave it out.',
  })
}

function tellRedelivery(position: PlannedPosition): PlannedPosition {
  if (!position.isChange || position.to === null) return position
  const note = [position.note, 'records from here on are delivered again, also acknowledged ones']
  return { ...position, note: note.filter(text => text !== undefined).join('; ') }
}
