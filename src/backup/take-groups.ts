import { writeGroups } from '../archive/groups.ts'
import type { GroupsSection } from '../archive/groups-section.ts'
import type { Manifest } from '../archive/manifest.ts'
import { KafkaBackupError } from '../errors.ts'
import type { PartitionEnds } from '../kafka/offsets.ts'
import { formatUtc } from '../lib/clock.ts'
import type { ObservedSource } from './observed-source.ts'
import type { BackupParts, Prepared } from './round.ts'

/**
 * Reads the positions of consumer groups and stores them, for the generation to come. The ends of the partitions are fixed by
 * then: a group that goes on reading may stand beyond them, and is recorded where it stands. Groups that cannot be listed
 * do not hold the data up; the manifest then says so.
 */
export async function takeGroups(
  prepared: Prepared,
  backupId: string,
  parts: Pick<BackupParts, 'storage' | 'clock' | 'newRun' | 'readGroups' | 'onProgress'>,
  signal: AbortSignal,
): Promise<Prepared> {
  const { previous } = prepared
  const { groups, warnings } = await take(prepared, backupId, parts, signal)
  const all = [...warnings, ...tellLoss(groups, previous)]
  return { ...prepared, groups, plan: { ...prepared.plan, warnings: [...prepared.plan.warnings, ...all] } }
}

async function take(
  { observed, previous }: Prepared,
  backupId: string,
  parts: Parameters<typeof takeGroups>[2],
  signal: AbortSignal,
): Promise<{ groups: GroupsSection; warnings: string[] }> {
  if (!parts.readGroups) return { groups: { state: 'off' }, warnings: [] }
  const takenAt = formatUtc(parts.clock.now())
  try {
    const reading = await parts.readGroups(endsOf(observed), signal)
    const generation = (previous?.generation ?? 0) + 1
    const place = { backupId, generation, run: parts.newRun(), takenAt, previous: previous?.consumer_groups }
    const groups = await writeGroups(parts.storage, reading, place, signal)
    parts.onProgress({ type: 'groups_read', groups: groups.groups, positions: groups.positions })
    return { groups, warnings: reading.warnings }
  } catch (error) {
    if (signal.aborted || !(error instanceof KafkaBackupError) || !error.code.startsWith('KAFKA_')) throw error
    const { message } = error
    const warning = `consumer groups could not be listed, so that this generation has none of their positions: ${message}`
    return { groups: { state: 'failed', taken_at: takenAt, error: message }, warnings: [warning] }
  }
}

function endsOf({ topics }: ObservedSource): PartitionEnds {
  return new Map(
    topics.map(({ name, partitions }) => [
      name,
      new Map(partitions.map(({ partition, bounds }) => [partition, bounds.highWatermark])),
    ]),
  )
}

/** Fewer than before may be right, but an empty list is more often a permission that is gone. */
function tellLoss(groups: GroupsSection, previous: Manifest | undefined): string[] {
  const before = previous?.consumer_groups
  if (before?.state !== 'taken' || before.groups === 0) return []
  const had = `the generation before had ${before.groups}`
  if (groups.state === 'off') return [`consumer groups are no longer taken (backup.consumer_groups.include); ${had}`]
  if (groups.state === 'taken' && groups.groups === 0) {
    return [`no consumer group has a position on the topics; ${had}, which stay in it`]
  }
  return []
}
