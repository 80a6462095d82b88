import { hasCode } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { commitGroupOffsets, fetchGroupOffsets, type GroupOffset } from '../kafka/group-offsets.ts'
import { partitionKey } from '../kafka/offsets.ts'
import type { GivenOffset, IsGiven } from '../offsets/given-offsets.ts'
import { addMarks, LEFT_OUT, MAX_MARKED, markOf, splitMarks } from './group-marks.ts'
import { explainRefused } from './note-room.ts'
import { decodeNotes, type RestoreProgress, restoreGroup, streamKey } from './progress.ts'
import { takenOver } from './run-mark.ts'

/** Pure. What the notes of earlier runs say. Those of partitions that a run has completed may have had no room for more groups. */
export function givenIn({ streams }: Pick<RestoreProgress, 'streams'>): IsGiven {
  const notes = new Map(
    [...streams].map(([key, { given = '', isDone }]) => [key, { marks: new Set(splitMarks(given)), isDone }]),
  )
  return one => {
    const noted = notes.get(streamKey(one))
    if (!noted) return false
    const isFull = noted.marks.size >= MAX_MARKED || noted.marks.has(LEFT_OUT)
    return noted.marks.has(markOf(one)) || (noted.isDone && isFull && 'unknown')
  }
}

/**
 * Adds the groups to the notes of a restore whose records are written, and leaves everything else in them as it is. What has no note
 * gets none: its offsets then do not count as given. Brokers may take less metadata than by default, and are offered fewer groups then.
 */
export async function noteGiven(
  cluster: Cluster,
  restoreId: string,
  offsets: readonly GivenOffset[],
  signal: AbortSignal,
): Promise<void> {
  for (let room = MAX_MARKED; room > 0; room = Math.floor(room / 2)) {
    try {
      // Another run of a complete restore may note groups at the same time.
      for (let hasChanged = true; hasChanged; )
        hasChanged = !(await addGiven(cluster, restoreId, offsets, room, signal))
      return
    } catch (error) {
      if (room === 1 || !hasCode(error, 'KAFKA_REFUSED')) throw explainRefused(error)
    }
  }
}

/** False where other groups were noted meanwhile. */
async function addGiven(
  cluster: Cluster,
  restoreId: string,
  offsets: readonly GivenOffset[],
  room: number,
  signal: AbortSignal,
): Promise<boolean> {
  const group = restoreGroup(restoreId)
  const byPlace = Map.groupBy(offsets, partitionKey)
  const places = [...byPlace.values()].flatMap(([first]) => first ?? [])
  const notes = (await fetchGroupOffsets(cluster, group, places, signal)).filter(one => decodeNotes([one]).length > 0)
  const changed = notes.flatMap(one => {
    const own = byPlace.get(partitionKey(one))
    if (!own) return []
    const note: { x?: string } = JSON.parse(one.metadata)
    const x = addMarks(note.x ?? '', own, room)
    return [{ ...one, metadata: JSON.stringify({ ...note, x }) }]
  })
  const known = new Set([...notes, ...changed].map(({ metadata }) => metadata))
  const knownRest = new Set(notes.map(withoutMarks))
  const otherMarks = new Error('other groups were noted meanwhile')
  try {
    await commitGroupOffsets(cluster, group, changed, signal, current => {
      const others = current.filter(({ metadata }) => !known.has(metadata))
      const isSame = (one: GroupOffset) => decodeNotes([one]).length > 0 && knownRest.has(withoutMarks(one))
      if (!others.every(isSame)) throw takenOver(restoreId)
      if (others.length > 0) throw otherMarks
    })
    return true
  } catch (error) {
    if (error !== otherMarks) throw error
    return false
  }
}

function withoutMarks(one: GroupOffset): string {
  const { x: _, ...rest } = JSON.parse(one.metadata)
  return JSON.stringify([partitionKey(one), `${one.offset}`, rest])
}
