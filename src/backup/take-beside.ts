import type { BackupParts, Prepared } from './round.ts'
import { takeGroups } from './take-groups.ts'
import { takeRegistry } from './take-registry.ts'

/** What belongs to the records and is no record: the schemas, and how far consumer groups have read. */
export async function takeBeside(
  prepared: Prepared,
  backupId: string,
  parts: BackupParts,
  signal: AbortSignal,
): Promise<Prepared> {
  const withSchemas = await takeRegistry(prepared, backupId, parts, signal)
  return takeGroups(withSchemas, backupId, parts, signal)
}
