import type { Storage } from '../storage/storage.ts'
import type { AccessKind, AccessSection } from './access-section.ts'
import { listGenerations } from './catalog.ts'
import { type LastDrills, readLastDrills } from './drill-record.ts'
import { incarnationKey, labelOf } from './incarnation.ts'
import type { Gap, Manifest, ManifestPartition, ManifestTopic } from './manifest.ts'
import { avoidedWarnings, recordWarnings } from './record-warnings.ts'
import { type RecoveryWindow, readRecoveryWindows } from './recovery-window.ts'
import { newestOf } from './registry-files.ts'
import type { SectionName } from './registry-section.ts'
import { earlier, later } from './scalars.ts'
import { type GenerationChoice, openSelected } from './select-generation.ts'
import { type Totals, totalsOf } from './summary.ts'
import { type LastVerifications, readLastVerifications } from './verification.ts'

export interface Description extends LastVerifications, LastDrills {
  backup_id: string
  location: string
  generation: number
  generations: number[]
  complete: boolean
  started_at: string
  created_at: string
  tool_version: string
  format_version: number
  cluster: Manifest['cluster']
  selection: Manifest['selection']
  totals: Totals
  /** Null where it is not encrypted. */
  encryption: NonNullable<Manifest['encryption']> | null
  warnings: string[]
  topics: DescribedTopic[]
  /** When the settings of the topics were read. */
  topic_settings_at: string
  /** Sections that were read before the ends of this generation were fixed. */
  carried_sections: SectionName[]
  schema_registry: DescribedRegistry
  consumer_groups: DescribedGroups
  access: DescribedAccess
}

/** ACLs, quotas and users; all are `off` where the job takes none. */
export type DescribedAccess = { taken_at: string | null } & Record<AccessKind, DescribedAccessKind>

interface DescribedAccessKind {
  state: 'taken' | 'off' | 'failed'
  count: number
  /** Why it could not be read. */
  error: string | null
}

/** `none` is a backup of a version that did not take them. */
export interface DescribedGroups {
  state: 'taken' | 'off' | 'failed' | 'none'
  taken_at: string | null
  groups: number
  positions: number
  /** Groups that could not be read. */
  errors: number
  /** Why none could be listed. */
  error: string | null
}

export interface DescribedRegistry {
  enabled: boolean
  /** Null where it is not enabled. */
  taken_at: string | null
  subjects_count: number
  /** Versions of all subjects. */
  schemas_count: number
  subjects: { name: string; versions: number; latest_id: number | null }[]
}

export interface DescribedTopic extends Omit<ManifestTopic, 'partitions' | 'consumer_groups'> {
  /** What selects this incarnation in `restore.topics.include`. */
  selector: string
  partition_count: number
  records: number
  aborted_records: number
  bytes: number
  stored_bytes: number
  first_timestamp: bigint | null
  last_timestamp: bigint | null
  gaps: (Gap & { partition: number })[]
  /** Null where no complete generation holds it. */
  recovery_window: RecoveryWindow | null
  partitions: DescribedPartition[]
}

interface DescribedPartition extends Omit<ManifestPartition, 'indexes' | 'list' | 'reread'> {
  /** How far the list is that will take the place of this one; see `Compaction`. */
  reread?: { began_at: string | null; end_offset: bigint; records: number; stored_bytes: number }
}

/** The chosen state of a backup; the newest without a choice. */
export async function describeBackup(
  storage: Storage,
  backupId: string,
  choice: GenerationChoice,
  signal: AbortSignal,
): Promise<Description> {
  // First, since the state of many partitions takes much memory.
  const windows = await readRecoveryWindows(storage, backupId, signal)
  const manifest = await openSelected(storage, backupId, choice, signal)
  const generations = await listGenerations(storage, backupId, signal)
  const verified = await readLastVerifications(storage, backupId, signal)
  const drilled = await readLastDrills(storage, backupId, signal)
  return describeManifest(manifest, { location: storage.location, generations, windows, verified, drilled })
}

interface Surroundings extends Pick<Description, 'location' | 'generations'> {
  windows: ReadonlyMap<string, RecoveryWindow>
  verified: LastVerifications
  drilled: LastDrills
}

/** Pure. The description of a state that is open already. */
export function describeManifest(
  manifest: Manifest,
  { location, generations, windows, verified, drilled }: Surroundings,
): Description {
  const { backup_id, generation, complete, started_at, created_at, tool_version, format_version } = manifest
  const point = { generation, created_at }
  // Where it was committed in the meantime, its new topics have no window yet.
  const ownWindow = complete ? { oldest: point, newest: point } : null
  return {
    backup_id,
    location,
    generation,
    generations,
    complete,
    started_at,
    created_at,
    tool_version,
    format_version,
    cluster: manifest.cluster,
    selection: manifest.selection,
    ...verified,
    ...drilled,
    totals: totalsOf(manifest.topics),
    encryption: manifest.encryption ?? null,
    warnings: describeWarnings(manifest),
    topics: manifest.topics.map(topic => ({
      ...describeTopic(topic, manifest.topics),
      recovery_window: windows.get(incarnationKey(topic)) ?? ownWindow,
    })),
    topic_settings_at: manifest.topic_settings_at ?? manifest.started_at,
    carried_sections: manifest.carried_sections ?? [],
    schema_registry: describeRegistry(manifest.schema_registry),
    consumer_groups: describeGroups(manifest.consumer_groups),
    access: describeAccess(manifest.access),
  }
}

/** What a run has warned of once is true for all generations after it. */
function describeWarnings({ warnings, topics, avoided = [] }: Manifest): string[] {
  return [...new Set([...avoidedWarnings({ avoided }), ...warnings, ...recordWarnings(topics)])]
}

function describeRegistry(section: Manifest['schema_registry']): DescribedRegistry {
  const subjects = (section?.subjects ?? []).map(({ name, versions }) => ({
    name,
    versions: versions.length,
    latest_id: newestOf(versions)?.id ?? null,
  }))
  return {
    enabled: section !== undefined,
    taken_at: section?.backup_timestamp ?? null,
    subjects_count: subjects.length,
    schemas_count: subjects.reduce((sum, { versions }) => sum + versions, 0),
    subjects,
  }
}

function describeGroups(section: Manifest['consumer_groups']): DescribedGroups {
  const { state } = section ?? { state: 'none' as const }
  const counts = section?.state === 'taken' ? section : { groups: 0, positions: 0, errors: 0 }
  return {
    state,
    taken_at: section && 'taken_at' in section ? section.taken_at : null,
    groups: counts.groups,
    positions: counts.positions,
    errors: counts.errors,
    error: section?.state === 'failed' ? section.error : null,
  }
}

function describeAccess(section: AccessSection | undefined): DescribedAccess {
  return {
    taken_at: section?.taken_at ?? null,
    acls: describeAccessKind(section?.acls),
    quotas: describeAccessKind(section?.quotas),
    users: describeAccessKind(section?.users),
  }
}

function describeAccessKind(said: AccessSection[AccessKind] = { state: 'off' }): DescribedAccessKind {
  return {
    state: said.state,
    count: said.state === 'taken' ? said.count : 0,
    error: said.state === 'failed' ? said.error : null,
  }
}

function describeTopic(
  topic: ManifestTopic,
  topics: readonly ManifestTopic[],
): Omit<DescribedTopic, 'recovery_window'> {
  const { records, aborted_records, bytes, stored_bytes } = totalsOf([topic])
  const { partitions, consumer_groups: _, ...settings } = topic
  return {
    ...settings,
    selector: labelOf(topic, topics),
    partition_count: topic.partition_count ?? partitions.length,
    records,
    aborted_records,
    bytes,
    stored_bytes,
    first_timestamp: partitions.reduce<bigint | null>((time, p) => earlier(time, p.first_timestamp), null),
    last_timestamp: partitions.reduce<bigint | null>((time, p) => later(time, p.last_timestamp), null),
    gaps: partitions.flatMap(p => p.gaps.map(gap => ({ partition: p.partition, ...gap }))),
    partitions: partitions.map(describePartition),
  }
}

function describePartition({ indexes: _, list: __, reread, ...partition }: ManifestPartition): DescribedPartition {
  if (!reread) return partition
  const { compaction, end_offset, records, stored_bytes } = reread
  return { ...partition, reread: { began_at: compaction?.began_at ?? null, end_offset, records, stored_bytes } }
}
