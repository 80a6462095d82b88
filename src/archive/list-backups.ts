import { detailsField, type ErrorCode, type ErrorDetails, KafkaBackupError } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import { listBackupIds, openBackup } from './catalog.ts'
import { type LastDrills, readLastDrills } from './drill-record.ts'
import { failureCodeOf } from './read-failure.ts'
import { avoidedWarnings, deletedKeyWarnings } from './record-warnings.ts'
import { type Totals, totalsOf } from './summary.ts'
import { type FailedSection, type FoundGaps, failedSectionsOf, foundGapsOf, oldSchemasOf } from './summary-facts.ts'
import { type LastVerifications, readLastVerifications } from './verification.ts'

export type BackupSummary = { backup_id: string } & (
  | { error: string; code: ErrorCode; details?: ErrorDetails }
  | ({
      generation: number
      complete: boolean
      created_at: string
      cluster_id: string | null
      encrypted: boolean
      /** Compacted topics that may hold keys which were deleted at the source. */
      stale_topics: number
      /** Damaged objects that were read around. */
      warnings: string[]
      /** What the run of the generation could not read besides records. */
      failed_sections: FailedSection[]
      /** When the schemas were read, where the run did not read them. */
      old_schemas_at: string | null
      /** The latest first. */
      found_gaps: FoundGaps[]
    } & LastVerifications &
      LastDrills &
      Totals)
)

const CONCURRENCY = 8

/** One row a backup. One that cannot be read is a row that says so: it must not hide the others, nor itself. */
export async function listBackups(storage: Storage, signal: AbortSignal): Promise<BackupSummary[]> {
  return runPool(await listBackupIds(storage, signal), CONCURRENCY, async backup_id => {
    try {
      const manifest = await openBackup(storage, backup_id, signal)
      const { generation, complete, created_at, cluster, encryption } = manifest
      const head = { backup_id, generation, complete, created_at, cluster_id: cluster.id }
      const stale_topics = deletedKeyWarnings(manifest.topics).length
      const verified = await readLastVerifications(storage, backup_id, signal)
      const drilled = await readLastDrills(storage, backup_id, signal)
      const results = { ...verified, ...drilled, ...totalsOf(manifest.topics) }
      const warnings = avoidedWarnings(manifest)
      const facts = {
        failed_sections: failedSectionsOf(manifest),
        old_schemas_at: oldSchemasOf(manifest),
        found_gaps: foundGapsOf(manifest.topics),
      }
      return { ...head, encrypted: encryption !== undefined, stale_topics, warnings, ...facts, ...results }
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof KafkaBackupError)) throw error
      return { backup_id, error: error.message, code: failureCodeOf(error), ...detailsField(error) }
    }
  })
}
