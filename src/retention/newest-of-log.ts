import { readManifest, type ScannedManifests } from '../archive/catalog.ts'
import { writerManifestOf } from '../archive/log/as-manifest.ts'
import { assertFollows } from '../archive/log/exchanged-commit.ts'
import { listCommits } from '../archive/log/list-commits.ts'
import { openGeneration } from '../archive/log/open-generation.ts'
import { readCommit } from '../archive/log/read-commit.ts'
import type { Manifest } from '../archive/manifest.ts'
import type { Storage } from '../storage/storage.ts'

export interface NewestGenerations {
  newest?: Manifest
  newestComplete?: Manifest
  /** They are of version 2. */
  isLog?: boolean
  /** They are of version 1, and a writer has begun with version 2 without a commit. */
  isPending?: boolean
}

/** The newest generations of a backup of version 2; undefined without a commit. A backup that is to be removed may be marked already. */
export async function newestOfLog(
  storage: Storage,
  backupId: string,
  manifests: ScannedManifests['manifests'],
  signal: AbortSignal,
): Promise<NewestGenerations | undefined> {
  const commits = await listCommits(storage, backupId, signal)
  const number = commits.at(-1)
  if (number === undefined) return undefined
  const found = await openGeneration(storage, backupId, number, signal)
  // It needs commits that a prune would take for covered by a roll-up or a checkpoint. The next run writes a checkpoint.
  const [lost] = found.lost
  if (lost) throw lost
  // All that the newest generation does not name may go.
  await assertFollows(storage, found, signal)
  const newest = writerManifestOf(found)
  if (newest.complete) return { newest, newestComplete: newest, isLog: true }
  for (const generation of commits.reverse()) {
    if (!(await readCommit(storage, backupId, generation, signal)).commit.complete) continue
    const opened = await openGeneration(storage, backupId, generation, signal)
    return { newest, newestComplete: writerManifestOf(opened), isLog: true }
  }
  for (const generation of [...manifests.keys()].reverse().slice(1)) {
    const manifest = await readManifest(storage, backupId, generation, signal)
    if (manifest.complete) return { newest, newestComplete: manifest, isLog: true }
  }
  return { newest, isLog: true }
}
