import type { Storage } from '../../storage/storage.ts'
import { incarnationKey } from '../incarnation.ts'
import { listSegments } from '../indexes.ts'
import type { Manifest, Segment } from '../manifest.ts'
import { ownerOf } from './as-manifest.ts'
import type { ListTails } from './list-tails.ts'
import { type OpenedGeneration, openGeneration } from './open-generation.ts'
import { tailOf } from './plan-merges.ts'
import { SegmentLists } from './segment-lists.ts'

/** The segments that a generation of version 2 has of a list. */
export async function readList(
  storage: Storage,
  { backupId, generation }: { backupId: string; generation: number },
  list: string,
  signal: AbortSignal,
): Promise<readonly Segment[]> {
  const opened = await openGeneration(storage, backupId, generation, signal)
  return new SegmentLists(storage, opened).read(list, opened.state.lists.get(list), signal)
}

/** The same for a generation of version 1. */
export async function readFirstList(
  storage: Storage,
  manifest: Manifest | undefined,
  list: string,
  signal: AbortSignal,
): Promise<readonly Segment[]> {
  const owner = ownerOf(list)
  const topic = manifest?.topics.find(one => incarnationKey(one) === owner.topic)
  const partition = topic?.partitions.find(one => one.partition === owner.partition)
  const found = owner.isReread ? partition?.reread : partition
  return topic && found ? listSegments(storage, topic, found, signal) : []
}

/** Reads what a writer that merges has to know of all lists. `onList` sees all segments of each. */
export async function readTails(
  storage: Storage,
  opened: OpenedGeneration,
  tails: ListTails,
  onList: ((list: string, segments: readonly Segment[]) => void) | undefined,
  signal: AbortSignal,
): Promise<void> {
  const lists = new SegmentLists(storage, opened)
  // Those of a page one after the other.
  for (const list of [...opened.state.lists.keys()].sort()) {
    const segments = await lists.read(list, opened.state.lists.get(list), signal)
    tails.set(list, tailOf(segments))
    onList?.(list, segments)
  }
}
