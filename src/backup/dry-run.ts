import { newestState } from '../archive/catalog.ts'
import { incarnationKey } from '../archive/incarnation.ts'
import { writerWarnings } from '../archive/log/writer-warnings.ts'
import type { Gap } from '../archive/manifest.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { fetchPartitionSizes } from '../kafka/partition-sizes.ts'
import type { BackupOptions } from './backup-options.ts'
import type { PlannedPartition, PlannedTopic } from './backup-plan.ts'
import { leaderlessError, leaderlessIn } from './observe-round.ts'
import { describeReread, noticeRereads, type RereadNotice } from './reread-notices.ts'
import { type BackupParts, prepareRound } from './round.ts'

export interface DryRun {
  backupId: string
  clusterId: string | null
  location: string
  /** The generation that a run would continue from; null for a first run. */
  resumesFrom: number | null
  topics: DryRunTopic[]
  totals: { topics: number; partitions: number; offsets: bigint; bytes: number | null }
  /** `topic/partition` of each that no broker leads: a run would not copy it, and end as partial. */
  leaderless: string[]
  gaps: (Omit<Gap, 'found_at'> & { topic: string; partition: number })[]
  /** Compacted topics that would be read again from their log start, and why; `offsets` and `bytes` include them. */
  rereads: RereadNotice[]
  /** What would be taken of the schema registry; absent where the job has none. */
  schemas?: { subjects: number; versions: number }
  warnings: string[]
}

export interface DryRunTopic {
  name: string
  partitions: number
  offsets: bigint
  /** Estimated from the sizes on the brokers' disks; null where they do not tell. */
  bytes: number | null
  isNew: boolean
}

/** What a run would copy, without writing anything. */
export async function dryRunBackup(
  options: BackupOptions,
  parts: Pick<BackupParts, 'cluster' | 'storage' | 'clock' | 'readRegistry'>,
  signal: AbortSignal,
): Promise<DryRun> {
  const found = await newestState(parts.storage, options.backupId, signal)
  const { manifest: previous } = found
  const damage = found.isLog ? await writerWarnings(parts.storage, options.backupId, found, signal) : []
  const { observed, plan } = await prepareRound(options, parts, previous, signal)
  const current = plan.topics.filter(topic => topic.state === 'current')
  const sizes = await sizesOf(current, parts.cluster, signal)
  const rereads = noticeRereads(plan)
  const leaderless = leaderlessIn(observed)
  const registry = await parts.readRegistry?.(signal)
  const known = new Set(previous?.topics.map(incarnationKey))
  const topics = current.map(({ name, partitions, ...identity }) => ({
    name,
    partitions: partitions.length,
    offsets: partitions.reduce((sum, one) => sum + offsetsOf(one), 0n),
    bytes: sizes
      ? partitions.reduce((sum, one) => sum + estimateBytes(one, sizes.get(`${name}/${one.durable.partition}`)), 0)
      : null,
    isNew: !known.has(incarnationKey(identity)),
  }))
  return {
    backupId: options.backupId,
    clusterId: observed.clusterId,
    location: parts.storage.location,
    resumesFrom: previous?.generation ?? null,
    topics,
    totals: {
      topics: topics.length,
      partitions: topics.reduce((sum, topic) => sum + topic.partitions, 0),
      offsets: topics.reduce((sum, topic) => sum + topic.offsets, 0n),
      bytes: sizes ? topics.reduce((sum, topic) => sum + (topic.bytes ?? 0), 0) : null,
    },
    leaderless,
    gaps: plan.topics.flatMap(gapsOf),
    ...(registry && { schemas: { subjects: registry.subjects.size, versions: registry.versions.length } }),
    rereads,
    warnings: [
      ...[...damage, ...(leaderless.length > 0 ? [leaderlessError(leaderless).message] : [])],
      ...plan.warnings,
      ...(plan.notes ?? []),
      ...rereads.map(describeReread),
      ...(registry?.warnings ?? []),
    ],
  }
}

function sizesOf(topics: readonly PlannedTopic[], cluster: Cluster, signal: AbortSignal) {
  const names = topics.map(({ name }) => name)
  return fetchPartitionSizes(cluster, names, signal)
}

function offsetsOf({ durable, end, reread }: PlannedPartition): bigint {
  const left = (from: bigint) => (end > from ? end - from : 0n)
  return left(durable.end_offset) + (reread ? left(reread.durable.end_offset) : 0n)
}

/** The partition's size, in proportion to the share of its offsets that would be copied. */
function estimateBytes(planned: PlannedPartition, sizeBytes: number | undefined): number {
  const wanted = Number(offsetsOf(planned))
  const { high_watermark } = planned.durable
  const held = Number(high_watermark - planned.logStart)
  return sizeBytes === undefined || held <= 0 ? 0 : Math.round((sizeBytes * wanted) / held)
}

function gapsOf({ name, partitions }: PlannedTopic): DryRun['gaps'] {
  return partitions.flatMap(({ durable, newGaps }) =>
    newGaps.map(({ from, to, reason }) => ({ topic: name, partition: durable.partition, from, to, reason })),
  )
}
