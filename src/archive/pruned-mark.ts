import type { Storage } from '../storage/storage.ts'
import { prunedMarkKey } from './layout.ts'

/** Says that a backup is given up. For people: that it is there is all that counts. */
export interface PrunedMark {
  format: 'kafka-backup-pruned'
  format_version: 1
  backup_id: string
  run: string
  host: string
  tool_version: string
  marked_at: string
  /** Why it goes. */
  reason: string
}

/**
 * From now on the backup is gone for everyone but a prune. Only a prune writes it, under its lease and where none is; so it
 * need not be created conditionally, which some stores refuse where an object was removed before.
 */
export async function writePrunedMark(storage: Storage, mark: PrunedMark, signal: AbortSignal): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify(mark, undefined, 1)}\n`)
  await storage.replace(prunedMarkKey(mark.backup_id), bytes, signal)
}
