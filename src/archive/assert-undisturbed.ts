import { KafkaBackupError } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import { readManifest, scanManifests } from './catalog.ts'
import type { Lease } from './held-lease.ts'
import { commitKey } from './log/keys.ts'
import { readCommit } from './log/read-commit.ts'
import { FORMAT_VERSION, type Manifest } from './manifest.ts'

/** What a writer is about to make count. */
export interface PendingState {
  backupId: string
  /** The generation that it continues; undefined for the first one. */
  previous: Pick<Manifest, 'generation' | 'run' | 'format_version'> | undefined
  /** The objects that it adds. */
  keys: readonly string[]
}

const CONCURRENCY = 16

/**
 * For a writer whose lease had expired, because it was suspended or the store did not answer: a prune or a delete may have taken it
 * for dead and removed what it is about to name. Fails with WRITER_CONFLICT then. The lease has been renewed before: a process that
 * begins to remove objects from now on sees it, and one that has begun is seen here.
 */
export async function assertUndisturbed(
  storage: Storage,
  lease: Pick<Lease, 'others'>,
  { backupId, previous, keys }: PendingState,
  signal: AbortSignal,
): Promise<void> {
  const prune = (await lease.others(signal)).find(({ role }) => role === 'prune')
  if (prune) throw disturbed(storage, backupId, `it is being pruned (${prune.holder})`)
  const { manifests, mark } = await scanManifests(storage, backupId, signal)
  if (mark) throw disturbed(storage, backupId, 'it was marked as expired')
  if (previous) {
    const { generation } = previous
    const isLog = previous.format_version > FORMAT_VERSION
    const isThere = isLog ? await storage.stat(commitKey(backupId, generation), signal) : manifests.has(generation)
    // Commits without the marker are what is left of a backup that was deleted.
    if (!isThere || manifests.size === 0) throw disturbed(storage, backupId, `its generation ${generation} was removed`)
    const run = isLog
      ? (await readCommit(storage, backupId, generation, signal)).commit.run
      : (await readManifest(storage, backupId, generation, signal)).run
    if (run !== previous.run) throw disturbed(storage, backupId, `its generation ${generation} is another one`)
  }
  await runPool(keys, CONCURRENCY, async key => {
    if (!(await storage.stat(key, signal))) throw disturbed(storage, backupId, `${key} was removed`)
  })
}

function disturbed({ location }: Storage, backupId: string, why: string): KafkaBackupError {
  const message = `the lease on backup \`${backupId}\` at ${location} could not be renewed in time, and meanwhile the backup was changed: ${why}. Nothing was committed`
  return new KafkaBackupError('WRITER_CONFLICT', message, { help: 'Run the same command again.' })
}
