import { unlessDamaged } from '../archive/damage.ts'
import { readRecorded } from '../archive/log/document.ts'
import { readCommit } from '../archive/log/open-generation.ts'
import type { Storage } from '../storage/storage.ts'

/**
 * Fails where a generation from the cut on names a damaged roll-up that begins before it: a reader needs the commits that it was made of, which are to go. Only
 * generations up to the first checkpoint behind the cut can. Of their roll-ups, one at each level lies across the cut, and the generation
 * that it ends with names the one of the level below.
 */
export async function assertRollups(
  storage: Storage,
  backupId: string,
  { cut, commits }: { cut: number; commits: readonly number[] },
  signal: AbortSignal,
): Promise<void> {
  const hasBefore = commits.some(one => one < cut)
  let last = commits.at(-1)
  while (hasBefore && last !== undefined && last >= cut) {
    const read = await unlessDamaged(readCommit(storage, backupId, last, signal))
    const base = read?.commit.checkpoint?.generation ?? 0
    const before = base >= cut ? [] : (read?.commit.rollups ?? []).filter(({ from }) => from < cut)
    for (const one of before.flatMap(({ documents }) => documents)) await readRecorded(storage, one, signal)
    const across = before.find(({ to }) => to >= cut)
    if (read && base < cut && !across) return
    const next: number = !read ? last - 1 : (across?.to ?? base)
    last = commits.findLast(one => one <= next)
  }
}
