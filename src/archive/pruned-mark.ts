import { hasCode } from '../errors.ts'
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

/** From now on the backup is gone for everyone but a prune; a mark that is there already stays as it is. */
export async function writePrunedMark(storage: Storage, mark: PrunedMark, signal: AbortSignal): Promise<void> {
  try {
    const bytes = Buffer.from(`${JSON.stringify(mark, undefined, 1)}\n`)
    await storage.create(prunedMarkKey(mark.backup_id), bytes, signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_EXISTS')) throw error
  }
}
