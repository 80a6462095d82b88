import type { BackupStatus } from '../../archive/backup-status.ts'
import type { StatusLevel } from '../../archive/status-finding.ts'
import type { ErrorCode } from '../../errors.ts'

/** The backups at a location, or why they cannot be read. */
export type LocationStatus =
  | { location: string; level: StatusLevel; backups: BackupStatus[] }
  | { location: string; level: 'critical'; error: string; code: ErrorCode }
