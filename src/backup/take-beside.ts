import type { BackupParts, Prepared } from './round.ts'
import { takeAccess } from './take-access.ts'
import { takeGroups } from './take-groups.ts'
import { takeRegistry } from './take-registry.ts'

/** What belongs to the records and is no record: the schemas, how far consumer groups have read, and who may do what. */
export async function takeBeside(
  prepared: Prepared,
  backupId: string,
  parts: BackupParts,
  signal: AbortSignal,
): Promise<Prepared> {
  const withSchemas = await takeRegistry(prepared, backupId, parts, signal)
  const withGroups = await takeGroups(withSchemas, backupId, parts, signal)
  return takeAccess(withGroups, backupId, parts, signal)
}
