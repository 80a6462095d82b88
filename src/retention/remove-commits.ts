import { parseLogKey } from '../archive/log/keys.ts'
import type { StoredObject } from '../storage/storage.ts'
import { assertCut } from './assert-cut.ts'
import { findCut, type LogCut } from './log-references.ts'
import type { PruneContext } from './prune-context.ts'

export interface RemovedCommits {
  /** No commit is left before it. */
  cut: LogCut
  removed: Set<number>
  /** The first one that the store has refused to remove. */
  refused?: number
}

/**
 * Removes the commits before a cut, the newest first: those before it can be opened as long as they are there. Where the store refuses one, it
 * and all that it needs have to stay. Then only those before an earlier cut go. Stores protect objects for some time, so that cut is searched by
 * halves: what is refused costs a few requests, however many commits are protected.
 */
export async function removeCommits(
  context: PruneContext,
  objects: readonly StoredObject[],
  commits: ReadonlyMap<number, StoredObject>,
  cut: LogCut,
  signal: AbortSignal,
): Promise<RemovedCommits> {
  const numbers = [...commits.keys()]
  const removed = new Set<number>()
  const removeBefore = async (end: number): Promise<number | undefined> => {
    for (const number of numbers.filter(one => one < end && !removed.has(one)).reverse()) {
      const refused = await context.remove(take(commits, number), signal)
      if (refused.length > 0) return number
      removed.add(number)
    }
    return undefined
  }
  const removeChecked = async (end: number): Promise<number | undefined> => {
    const stay = numbers.filter(one => !removed.has(one))
    await assertCut(context.parts.storage, context.backupId, { cut: end, commits: stay }, signal)
    return removeBefore(end)
  }
  // What lies before this cut was checked before anything was kept.
  const refused = await removeBefore(cut.generation)
  if (refused === undefined) return { cut, removed }
  let found: LogCut | undefined
  let [floor, ceiling] = [numbers[0] ?? 0, refused]
  for (;;) {
    const between = numbers.filter(one => one > floor && one <= ceiling)
    const middle = between[between.length >> 1]
    if (middle === undefined) break
    const left = without(context, objects, floor)
    const next = await findCut(context.parts.storage, context.backupId, left, middle, signal)
    const stopped = next && (await removeChecked(next.generation))
    if (stopped !== undefined) ceiling = stopped
    else {
      found = next ?? found
      floor = middle
    }
  }
  const [oldest = cut.generation] = numbers.filter(one => !removed.has(one))
  return { cut: found ?? { generation: oldest, checkpoint: 0 }, removed, refused }
}

function take(commits: ReadonlyMap<number, StoredObject>, number: number): StoredObject[] {
  const object = commits.get(number)
  return object ? [object] : []
}

/** Without the commits up to a generation, which may be gone. */
function without({ backupId }: PruneContext, objects: readonly StoredObject[], floor: number): StoredObject[] {
  return objects.filter(({ key }) => {
    const parsed = parseLogKey(backupId, key)
    return parsed?.kind !== 'commit' || parsed.to > floor
  })
}
