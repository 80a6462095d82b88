import type { Connection } from './connection.ts'
import { comment, formatOrigin, formatSecurity, type JobOrigin, yaml } from './format-job.ts'

export interface PlannedRestore {
  backupId: string
  connection: Connection
  topics: { include: readonly string[]; exclude: readonly string[] }
  /** The section `storage`: the location of the imported archive. */
  storage: Record<string, unknown>
  origin: JobOrigin
}

/** Pure. The job file of a restore as text. It holds the names of secrets, and no secret. */
export function formatRestoreJob({ backupId, connection, topics, storage, origin }: PlannedRestore): string {
  return [
    ...comment('Restore job of kafka-backup, written by `kafka-backup init`.'),
    ...comment('docs/configuration.md explains all fields. Run it with --dry-run first.'),
    ...formatOrigin(origin),
    ...yaml({ mode: 'restore', backup_id: backupId }),
    '',
    'target:',
    ...yaml({ bootstrap_servers: connection.bootstrapServers }, 1),
    ...formatSecurity(connection),
    '',
    ...comment('Where `kafka-backup import` writes the archive: this program restores its own format only.'),
    ...yaml({ storage }),
    '',
    ...yaml({ restore: { topics, ...origin.options } }),
    ...(origin.metrics ? yaml({ metrics: origin.metrics }) : []),
    '',
  ].join('\n')
}
