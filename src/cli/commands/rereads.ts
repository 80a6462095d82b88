import type { RereadNotice } from '../../backup/reread-notices.ts'

/** Compacted topics that are read again from their log start, for JSON output. */
export function rereadDocuments(rereads: readonly RereadNotice[]) {
  return rereads.map(({ topic, partitions, reason, deleteRetentionMs, isResumed }) => ({
    topic,
    partitions,
    reason,
    delete_retention_ms: deleteRetentionMs,
    resumed: isResumed,
  }))
}
