import { openBackup } from '../archive/catalog.ts'
import { readGroups } from '../archive/groups.ts'
import { KafkaBackupError } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import type { Origin, OriginPosition } from './origin.ts'

/** Groups as a backup keeps them; the error says why nothing is known of one. */
export interface BackedUpGroup {
  group: string
  error: string | null
  positions: readonly OriginPosition[]
}

/** The positions that the newest generation of a backup holds of consumer groups. */
export async function readBackupOrigin(storage: Storage, backupId: string, signal: AbortSignal): Promise<Origin> {
  const manifest = await openBackup(storage, backupId, signal)
  const { consumer_groups: section } = manifest
  if (section?.state === 'taken') return originOfBackup(manifest, (await readGroups(storage, section, signal)).groups)
  const why = section?.state === 'failed' ? `: ${section.error}` : ''
  throw new KafkaBackupError('OFFSETS_REFUSED', `the backup ${backupId} holds no consumer groups${why}`)
}

export function originOfBackup(
  { backup_id, generation, cluster }: { backup_id: string; generation: number; cluster: { id: string | null } },
  groups: readonly BackedUpGroup[],
): Origin {
  return {
    name: `generation ${generation} of the backup ${backup_id}`,
    clusterId: cluster.id,
    groups: groups.map(({ group, error, positions }) => ({ group, positions, ...(error !== null && { error }) })),
  }
}
