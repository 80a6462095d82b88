import { unlessDamaged } from '../archive/damage.ts'
import { readRecorded } from '../archive/log/document.ts'
import type { RollupRef } from '../archive/log/documents.ts'
import { readCommit } from '../archive/log/open-generation.ts'
import type { Storage } from '../storage/storage.ts'

/**
 * Fails where a generation from the cut on names a damaged roll-up that begins before it: a reader needs the commits that it was made of, which are to go. Only
 * generations up to the first checkpoint behind the cut can. Of their roll-ups, one at each level lies across the cut, and the generation
 * that it ends with names the one of the level below. The cut itself may name those that others were made of later, if the store has failed in between.
 */
export async function assertRollups(
  storage: Storage,
  backupId: string,
  { cut, commits }: { cut: number; commits: readonly number[] },
  signal: AbortSignal,
): Promise<void> {
  if (!commits.some(one => one < cut)) return
  if (commits.includes(cut)) await readBefore(storage, backupId, cut, cut, signal)
  let last = commits.at(-1)
  while (last !== undefined && last >= cut) {
    const read = await readBefore(storage, backupId, last, cut, signal)
    const across = read?.before.find(({ to }) => to >= cut)
    if (read && read.base < cut && !across) return
    const next: number = !read ? last - 1 : (across?.to ?? read.base)
    last = commits.findLast(one => one <= next)
  }
}

/** The roll-ups of a generation that begin before the cut, which are read; undefined where its commit is damaged. */
async function readBefore(
  storage: Storage,
  backupId: string,
  generation: number,
  cut: number,
  signal: AbortSignal,
): Promise<{ base: number; before: RollupRef[] } | undefined> {
  const read = await unlessDamaged(readCommit(storage, backupId, generation, signal))
  if (!read) return undefined
  const base = read.commit.checkpoint?.generation ?? 0
  const before = base >= cut ? [] : read.commit.rollups.filter(({ from }) => from < cut)
  for (const one of before.flatMap(({ documents }) => documents)) await readRecorded(storage, one, signal)
  return { base, before }
}
