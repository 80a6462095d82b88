import { commitGeneration } from '../archive/commit.ts'
import { freshKey } from '../archive/incarnation.ts'
import type { Manifest, ManifestTopic, Segment } from '../archive/manifest.ts'
import { renewCopies } from '../archive/newest-copies.ts'
import { totalsOf } from '../archive/summary.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import { describeLosses, type ImportCounts } from './describe-losses.ts'
import { type ImportPlaces, importPartition } from './import-partition.ts'
import { importGroups } from './oso-groups.ts'
import type { OsoManifest } from './oso-manifest.ts'
import { readOsoManifest, refuseExisting } from './oso-places.ts'
import { topicOf } from './topic-entry.ts'

export interface ImportParts {
  from: Storage
  to: Storage
  backupId: string
  run: string
  toolVersion: string
  /** The time now, in UTC. */
  now: () => string
  onProgress: OnProgress
}

export interface ImportReport {
  backup_id: string
  from: string
  to: string
  generation: number
  topics: number
  partitions: number
  records: number
  bytes: number
  stored_bytes: number
  gaps: number
  /** Segments that could not be read: their offsets are gaps. */
  damaged_segments: number
  /** What the archive had lost already, and what the import cannot take. */
  losses: string[]
}

/** Reads what is to be imported, and refuses a place that is taken. Writes nothing, not even a lease. */
export async function prepareImport(
  { from, to, backupId }: Pick<ImportParts, 'from' | 'to' | 'backupId'>,
  signal: AbortSignal,
): Promise<OsoManifest> {
  const source = await readOsoManifest(from, backupId, signal)
  await refuseExisting(to, backupId, signal)
  return source
}

/** Copies an archive of OSO kafka-backup to a new backup with one generation. The archive is only read. */
export async function importOso(parts: ImportParts, signal: AbortSignal): Promise<ImportReport> {
  const { from, to, backupId, run, now } = parts
  const source = await prepareImport(parts, signal)
  const startedAt = now()
  const counts: ImportCounts = { records: 0, addedHeaders: 0, duplicates: 0, holes: new Map(), damaged: [] }
  const places: ImportPlaces = { from, to, backupId, run, foundAt: startedAt }
  const { topics, freshSegments } = await importTopics(source, places, counts, parts, signal)
  const groups = await importGroups(places, topics, signal)
  const losses = [...describeLosses(source, counts), ...groups.losses]
  const draft = {
    ...{
      tool_version: parts.toolVersion,
      backup_id: backupId,
      generation: 1,
      run,
      complete: counts.damaged.length === 0,
    },
    ...{ created_at: now(), started_at: startedAt },
    cluster: { id: source.source_cluster_id || null, brokers: source.source_brokers?.length ?? 0 },
    selection: { include: topics.map(({ name }) => name), exclude: [] },
    topics,
    ...(groups.section && { consumer_groups: groups.section }),
    warnings: losses.map(loss => `imported from OSO kafka-backup: ${loss}`),
  }
  const { manifest } = await commitGeneration(to, { manifest: draft, freshSegments, attempt: 1 }, signal)
  for (const message of await renewCopies(to, manifest, signal)) parts.onProgress({ type: 'warning', message })
  return describeImport(manifest, parts, counts, losses)
}

async function importTopics(
  source: OsoManifest,
  places: ImportPlaces,
  counts: ImportCounts,
  { onProgress }: ImportParts,
  signal: AbortSignal,
): Promise<{ topics: ManifestTopic[]; freshSegments: Map<string, Segment[]> }> {
  const topics: ManifestTopic[] = []
  const freshSegments = new Map<string, Segment[]>()
  for (const one of source.topics) {
    const topic = topicOf(one)
    for (const partition of one.partitions) {
      const imported = await importPartition(one.name, partition, places, counts, signal)
      topic.partitions[partition.partition_id] = imported.partition
      if (imported.segments.length > 0) freshSegments.set(freshKey(topic, partition.partition_id), imported.segments)
      onProgress({
        type: 'note',
        message: `${one.name}/${partition.partition_id}: ${imported.partition.records} records`,
      })
    }
    topics.push(topic)
  }
  return { topics, freshSegments }
}

function describeImport(
  manifest: Manifest,
  { from, to, backupId }: ImportParts,
  { damaged }: ImportCounts,
  losses: string[],
): ImportReport {
  const { topics, partitions, records, bytes, stored_bytes, gaps } = totalsOf(manifest.topics)
  return {
    ...{ backup_id: backupId, from: from.location, to: to.location, generation: manifest.generation },
    ...{ topics, partitions, records, bytes, stored_bytes, gaps, damaged_segments: damaged.length, losses },
  }
}
