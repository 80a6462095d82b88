import type { Lease } from '../archive/hold-lease.ts'
import { hasCode } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage, StoredObject } from '../storage/storage.ts'
import type { BackupOutcome } from './outcome.ts'

export interface RemovalParts {
  storage: Storage
  lease: Pick<Lease, 'assertHeld'>
  onProgress: OnProgress
}

const CONCURRENCY = 16

/** Removes what it is given; what the store protects is counted, and left for a later prune. */
export async function removeObjects(
  objects: readonly StoredObject[],
  outcome: BackupOutcome,
  { storage, lease, onProgress }: RemovalParts,
  signal: AbortSignal,
): Promise<void> {
  let done = 0
  await runPool(objects, CONCURRENCY, async ({ key, size }) => {
    signal.throwIfAborted()
    lease.assertHeld()
    const isGone = await removeOne(storage, key, signal)
    const amount = isGone ? outcome.removed : outcome.retained
    amount.objects++
    amount.bytes += size
    onProgress({ type: 'removed', backupId: outcome.backupId, objects: ++done, totalObjects: objects.length })
  })
}

async function removeOne(storage: Storage, key: string, signal: AbortSignal): Promise<boolean> {
  try {
    await storage.remove(key, signal)
    return true
  } catch (error) {
    if (hasCode(error, 'STORAGE_RETAINED')) return false
    throw error
  }
}
