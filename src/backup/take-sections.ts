import { writeAccess } from '../archive/access.ts'
import { type AccessKind, type AccessSection, accessKinds } from '../archive/access-section.ts'
import { BackgroundCreates } from '../archive/background-creates.ts'
import { writeGroups } from '../archive/groups.ts'
import type { GroupsSection } from '../archive/groups-section.ts'
import type { Manifest } from '../archive/manifest.ts'
import { writeRegistry } from '../archive/write-registry.ts'
import { KafkaBackupError } from '../errors.ts'
import type { PartitionEnds } from '../kafka/offsets.ts'
import { formatUtc } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import type { ObservedSource } from './observed-source.ts'
import type { BackupParts, Prepared } from './round.ts'

interface SectionStore {
  storage: Pick<Storage, 'create'>
}

/** Everything in a backup but records: schemas, committed offsets of consumer groups, and access rules. */
export async function takeSections(
  prepared: Prepared,
  backupId: string,
  parts: BackupParts,
  signal: AbortSignal,
): Promise<Prepared> {
  const taken = await beginSections(prepared, backupId, parts, signal)
  await taken.stored?.()
  return taken
}

/** The same, while groups and access rules are still being stored: records are copied meanwhile. */
export async function beginSections(
  prepared: Prepared,
  backupId: string,
  parts: BackupParts,
  signal: AbortSignal,
): Promise<Prepared> {
  const withSchemas = await takeRegistry(prepared, backupId, parts, signal)
  const creates = new BackgroundCreates(parts.storage)
  const later = { ...parts, storage: creates }
  try {
    const withGroups = await takeGroups(withSchemas, backupId, later, signal)
    return { ...(await takeAccess(withGroups, backupId, later, signal)), stored: () => creates.settled() }
  } catch (error) {
    await creates.settled().catch(() => undefined)
    throw error
  }
}

/**
 * Reads the schema registry and stores its contents for the next generation. The ends of the partitions are already fixed:
 * a record below them carries an ID that was assigned before, so its schema is included.
 */
export async function takeRegistry(
  prepared: Prepared,
  backupId: string,
  parts: Pick<BackupParts, 'storage' | 'newRun' | 'readRegistry' | 'onProgress' | 'encryption'>,
  signal: AbortSignal,
): Promise<Prepared> {
  if (!parts.readRegistry) return prepared
  const { plan, previous } = prepared
  const snapshot = await parts.readRegistry(signal)
  parts.onProgress({ type: 'schemas_read', subjects: snapshot.subjects.size, versions: snapshot.versions.length })
  const generation = (previous?.generation ?? 0) + 1
  const { folderOf } = parts.encryption ?? {}
  const place = { backupId, generation, run: parts.newRun(), previous: previous?.schema_registry, folderOf }
  const registry = await writeRegistry(parts.storage, snapshot, place, signal)
  const warnings = [
    ...plan.warnings,
    ...snapshot.warnings,
    ...(snapshot.versions.length > 0 ? [] : warnOfEmptyRegistry(previous)),
  ]
  return { ...prepared, registry, plan: { ...plan, warnings } }
}

/** An empty registry is valid, but rarely the intended one if it had schemas before. */
function warnOfEmptyRegistry(previous: Manifest | undefined): string[] {
  const held = previous?.schema_registry?.subjects.filter(({ versions }) => versions.length > 0) ?? []
  if (!previous || held.length === 0) return []
  const count = held.reduce((sum, { versions }) => sum + versions.length, 0)
  return [
    `the schema registry no longer has any schemas; generation ${previous.generation} has ${count} versions of ` +
      `${held.length} subjects, and can still be restored`,
  ]
}

/**
 * Reads the committed offsets of consumer groups and stores them for the next generation. The ends of the partitions are
 * already fixed: the offset of a group that keeps reading may be beyond them. If groups cannot be listed, the backup
 * continues and the manifest records that.
 */
export async function takeGroups(
  prepared: Prepared,
  backupId: string,
  parts: Pick<BackupParts, 'clock' | 'newRun' | 'readGroups' | 'onProgress'> & SectionStore,
  signal: AbortSignal,
): Promise<Prepared> {
  const { previous } = prepared
  const { groups, warnings } = await readAndStoreGroups(prepared, backupId, parts, signal)
  const all = [...warnings, ...warnOfLostGroups(groups, previous)]
  return { ...prepared, groups, plan: { ...prepared.plan, warnings: [...prepared.plan.warnings, ...all] } }
}

async function readAndStoreGroups(
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
    const warning = `consumer groups could not be listed, so this generation has none of their committed offsets: ${message}`
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

/** Fewer groups may be right, but an empty list is more often a lost permission. */
function warnOfLostGroups(groups: GroupsSection, previous: Manifest | undefined): string[] {
  const before = previous?.consumer_groups
  if (before?.state !== 'taken' || before.groups === 0) return []
  const had = `the generation before had ${before.groups}`
  if (groups.state === 'off') return [`consumer groups are no longer taken (backup.consumer_groups.include); ${had}`]
  if (groups.state === 'taken' && groups.groups === 0) {
    return [`no consumer group has a committed offset on the topics; ${had}, which stay in it`]
  }
  return []
}

/**
 * Reads the ACLs, quotas and users that the job selects and stores them for the next generation. If they cannot be read,
 * the backup continues and the manifest records that.
 */
export async function takeAccess(
  prepared: Prepared,
  backupId: string,
  parts: Pick<BackupParts, 'clock' | 'newRun' | 'readAccess'> & SectionStore,
  signal: AbortSignal,
): Promise<Prepared> {
  const { previous, plan } = prepared
  const access = await readAndStoreAccess(prepared, backupId, parts, signal)
  const warnings = accessKinds.flatMap(kind => accessWarnings(kind, access?.[kind], previous?.access?.[kind]))
  return { ...prepared, ...(access && { access }), plan: { ...plan, warnings: [...plan.warnings, ...warnings] } }
}

async function readAndStoreAccess(
  { previous }: Prepared,
  backupId: string,
  { storage, clock, newRun, readAccess }: Parameters<typeof takeAccess>[2],
  signal: AbortSignal,
): Promise<AccessSection | undefined> {
  if (!readAccess) return undefined
  const takenAt = formatUtc(clock.now())
  const generation = (previous?.generation ?? 0) + 1
  const place = { backupId, generation, run: newRun(), takenAt, previous: previous?.access }
  return writeAccess(storage, await readAccess(signal), place, signal)
}

const labels: Record<AccessKind, string> = { acls: 'ACLs', quotas: 'client quotas', users: 'SCRAM users' }

/** Fewer may be right, but none at all is more often a mistake. */
function accessWarnings(
  kind: AccessKind,
  now: AccessSection[AccessKind] = { state: 'off' },
  before: AccessSection[AccessKind] = { state: 'off' },
): string[] {
  if (now.state === 'failed') {
    return [`${labels[kind]} could not be read, so this generation has none: ${now.error}`]
  }
  if (before.state !== 'taken' || before.count === 0) return []
  const had = `the generation before had ${before.count}`
  if (now.state === 'off') return [`${labels[kind]} are no longer taken (backup.${kind}); ${had}`]
  return now.count === 0 ? [`the source no longer has ${labels[kind]}; ${had}, which stay in it`] : []
}
