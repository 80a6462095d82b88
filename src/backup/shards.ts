import { incarnationKey } from '../archive/incarnation.ts'
import { shardsPrefix } from '../archive/layout.ts'
import type { Manifest, ManifestTopic } from '../archive/manifest.ts'
import { furthest, type Shard } from '../archive/shard.ts'
import { KafkaBackupError } from '../errors.ts'
import { formatJson } from '../lib/json.ts'
import type { BackupPlan, KnownState } from './backup-plan.ts'
import type { ObservedSource } from './observed-source.ts'

/** One of `count` processes that share the partitions among themselves. */
export interface ShardNumber {
  /** From 0. */
  index: number
  count: number
}

/** Pure. The part of a plan that a shard is to copy: its own partitions of the topics that are there. */
export function planShard(plan: BackupPlan, shard: ShardNumber): BackupPlan {
  const topics = plan.topics
    .filter(topic => topic.state === 'current')
    .map(topic => {
      const partitions = topic.partitions.filter(({ durable }) => isOwn(topic.id, durable.partition, shard))
      const count = topic.partition_count ?? topic.partitions.length
      return { ...topic, partitions, ...(partitions.length < count && { partition_count: count }) }
    })
  return { ...plan, topics: topics.filter(({ partitions }) => partitions.length > 0) }
}

/** Pure. What the other shards cannot read is not this one's trouble. */
export function observedBy(observed: ObservedSource, shard: ShardNumber): ObservedSource {
  const topics = observed.topics.map(topic => ({
    ...topic,
    leaderless: topic.leaderless.filter(partition => isOwn(topic.id, partition, shard)),
  }))
  return { ...observed, topics }
}

/**
 * Pure. Depends on nothing but the topic's id and the partition's number, so that shards which start at different times,
 * and see different topics, never copy the same partition. Neighbours go to different shards.
 */
export function isOwn(topicId: string, partition: number, { index, count }: ShardNumber): boolean {
  const start = Number.parseInt(topicId.slice(-8), 16)
  return (start + partition) % count === index
}

/** Pure. The state of the backup as if the shards were committed. */
export function overlayShards(base: Manifest | undefined, shards: readonly Shard[]): KnownState | undefined {
  const first = base ?? shards[0]
  if (!first) return undefined
  const topics = new Map<string, ManifestTopic>((base?.topics ?? []).map(topic => [incarnationKey(topic), topic]))
  // The oldest first: of two topics of one name the one that was seen later is the newer.
  const inOrder = shards.toSorted((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at))
  for (const { partition_count: count = 0, ...topic } of inOrder.flatMap(shard => shard.topics)) {
    const known = topics.get(incarnationKey(topic))
    const own = new Set(topic.partitions.map(({ partition }) => partition))
    const others = known?.partitions.filter(({ partition }) => !own.has(partition)) ?? []
    const partitions = [...others, ...topic.partitions].sort((a, b) => a.partition - b.partition)
    const partial = partitions.length < count && { partition_count: count }
    // One that had nothing to read of a topic does not say how the others have read it.
    const readBy = known?.read_by && { read_by: known.read_by }
    topics.set(incarnationKey(topic), { ...topic, ...readBy, partitions, ...partial })
  }
  const groups = base?.consumer_groups && { consumer_groups: base.consumer_groups }
  return { backup_id: first.backup_id, cluster: first.cluster, topics: [...topics.values()], ...groups }
}

/**
 * Pure. The one complete set among what was written; an error that says which shards are missing otherwise. `help` is for the case that nothing
 * was written.
 */
export function gatherShards(found: readonly Shard[], backupId: string, generation: number, help?: string): Shard[] {
  const sets = [...Map.groupBy(found, ({ shards }) => shards)].map(([count, some]) => gatherSet(count, some))
  const whole = sets.filter(({ missing }) => missing.length === 0)
  const [only] = whole
  if (only && whole.length === 1) return only.shards
  const where = `for generation ${generation} of backup \`${backupId}\``
  if (sets.length === 0) throw incomplete(`no shard has written anything ${where}`, help)
  if (whole.length > 1) {
    const counts = whole.map(({ count }) => count).join(' and of ')
    const remedy = `remove the documents of all but one set from ${shardsPrefix(backupId, generation)} and commit again`
    throw incomplete(`there are complete sets of shards of ${counts} ${where}; ${remedy}`)
  }
  const parts = sets.map(({ count, missing }) => `${missing.map(describeMissing).join(', ')} of ${count}`)
  throw incomplete(`shards are missing ${where}: ${parts.join('; ')}`)
}

/** Pure. Shards of different jobs make no backup: one would lack partitions, or hold those of two clusters. */
export function refuseMixed(shards: readonly Shard[], selection: Shard['selection']): void {
  const [first] = shards
  for (const { shard, shards: count, cluster, selection: own } of shards) {
    const name = `shard ${shard} of ${count}`
    if (formatJson(own) !== formatJson(selection)) {
      throw mixed(`${name} was run with another \`source.topics\` than this job has`)
    }
    if (first && cluster.id !== first.cluster.id) {
      throw mixed(`${name} holds cluster ${cluster.id}, but shard ${first.shard} holds ${first.cluster.id}`)
    }
  }
}

function mixed(message: string): KafkaBackupError {
  const help = 'Run all shards with the same job file as the commit; one that is run again continues from what it has.'
  return new KafkaBackupError('CONFIG_INVALID', message, { help })
}

interface ShardSet {
  count: number
  shards: Shard[]
  missing: { index: number; hasBegun: boolean }[]
}

function gatherSet(count: number, some: readonly Shard[]): ShardSet {
  const set: ShardSet = { count, shards: [], missing: [] }
  for (let index = 0; index < count; index++) {
    const best = furthest(some.filter(({ shard }) => shard === index))
    if (best?.complete) set.shards.push(best)
    else set.missing.push({ index, hasBegun: best !== undefined })
  }
  return set
}

function describeMissing({ index, hasBegun }: { index: number; hasBegun: boolean }): string {
  return hasBegun ? `${index} (begun, not finished)` : String(index)
}

function incomplete(message: string, help?: string): KafkaBackupError {
  return new KafkaBackupError('SHARDS_INCOMPLETE', message, { help })
}
