import { isSameIncarnation, newestById, numberOf } from '../archive/incarnation.ts'
import type { Gap, Manifest, ManifestPartition, ManifestTopic } from '../archive/manifest.ts'
import { emptyPartition, withGap } from '../archive/summary.ts'
import { KafkaBackupError } from '../errors.ts'
import { isIdOfName } from '../kafka/named-topic-id.ts'
import type { PartitionBounds } from '../kafka/offsets.ts'
import { append, largest } from '../lib/largest.ts'
import type { BackupOptions } from './backup-options.ts'
import type { BackupPlan, KnownState, PlannedPartition, PlannedTopic, RereadRules } from './backup-plan.ts'
import { findReplaced } from './find-truncation.ts'
import type { ObservedSource, ObservedTopic } from './observed-source.ts'
import { planCompaction } from './plan-compacted.ts'
import { warnExpired, warnUnread } from './reread-notices.ts'

interface PlanOptions extends Pick<BackupOptions, 'onTruncation' | 'newIncarnations'> {
  /** When compacted partitions are read again; null leaves what was read of them as it is. */
  rereads?: RereadRules | null
}

const plainRules: RereadRules = { mode: 'auto', intervalMs: 0 }

/**
 * Pure: what to copy, given the source as it is and the newest committed state. Only what is decided is copied: an open
 * transaction ends the backup of its partition at its first record. A source that lost records which the backup holds is
 * refused, unless the job says that the topic then starts a new incarnation: what is stored stays as it is, and the topic
 * is copied from its log start.
 */
export function planBackup(
  observed: ObservedSource,
  previous: KnownState | undefined,
  now: string,
  { rereads: rules = plainRules, ...options }: PlanOptions = { onTruncation: 'fail' },
): BackupPlan {
  refuseOtherCluster(observed, previous)
  // By id alone: a broker that lags behind may show a topic again that counts as replaced, and what is stored of it stays.
  const earlier = newestById(previous?.topics ?? [])
  const replaced = findReplaced(observed, earlier, options)
  const warnings = [...observed.warnings]
  const { consumer_groups: groups, topic_settings_at: knownAt } = previous ?? {}
  const facts: PlanFacts = { now, warnings, groups, rules, observedAt: observed.observedAt, knownAt }
  const topics = observed.topics.map(topic => {
    const before = earlier.get(topic.id)
    return before && replaced.has(topic.id)
      ? planTopic(topic, undefined, facts, numberOf(before) + 1)
      : planTopic(topic, before, facts, before && numberOf(before))
  })
  if (rules) append(warnings, [...warnUnread({ topics }, rules), ...warnExpired({ topics })])
  const kept = (previous?.topics ?? []).filter(topic => !topics.some(one => isSameIncarnation(one, topic)))
  const isVisible = ({ name }: ManifestTopic) => observed.visible.has(name)
  const old = kept.map(topic => keepTopic(topic, successorOf(topic, observed, kept), isVisible(topic), facts))
  return { topics: [...old, ...topics], warnings, ...(observed.notes && { notes: observed.notes }) }
}

interface PlanFacts {
  now: string
  warnings: string[]
  /** What the newest committed state says of consumer groups. */
  groups: Manifest['consumer_groups'] | undefined
  rules: RereadRules | null
  observedAt: string
  /** When the settings of its topics were read, if that was before it. */
  knownAt: string | undefined
}

/** A backup holds one cluster. */
export function refuseOtherCluster(observed: ObservedSource, previous: KnownState | undefined): void {
  const id = previous?.cluster.id
  if (!id || !observed.clusterId || id === observed.clusterId) return
  throw new KafkaBackupError(
    'CONFIG_INVALID',
    `backup \`${previous.backup_id}\` holds cluster ${id}, but source.bootstrap_servers lead to ${observed.clusterId}`,
    { help: 'Use another backup_id for another cluster.' },
  )
}

function planTopic(
  topic: ObservedTopic,
  before: ManifestTopic | undefined,
  { now, warnings, rules, observedAt, knownAt }: PlanFacts,
  number = 1,
): PlannedTopic {
  const heldBy = new Map(before?.partitions.map(one => [one.partition, one]))
  const partitions = topic.partitions.map(({ partition, bounds, sizeBytes }) => {
    warnOfOpenTransaction(topic.name, partition, bounds, warnings)
    const held = heldBy.get(partition)
    const planned = planPartition(partition, bounds, held, now)
    const facts = { topic, bounds, sizeBytes, before: held, known: before, knownAt, observedAt }
    return rules ? planCompaction(planned, { ...facts, rules }) : planned
  })
  const { name, id, kafkaId, internal, configs, replicationFactor } = topic
  const hidden = keepHidden(topic, before, warnings)
  const all = [...partitions, ...hidden].sort((a, b) => a.durable.partition - b.durable.partition)
  const incarnation = number > 1 && { incarnation: number }
  const settings = { internal, replication_factor: replicationFactor, configs, partitions: all }
  const count = countPartitions(topic, all)
  const partial = all.length < count && { partition_count: count }
  const inForce = !topic.hasUnknownSettings && { effective_configs: topic.effectiveConfigs }
  const rest = { ...settings, ...inForce, ...partial }
  const identity = {
    ...(isIdOfName(id, name) && { id_source: 'name' as const }),
    ...(kafkaId !== undefined && { kafka_id: kafkaId }),
    ...(before?.read_by && { read_by: before.read_by }),
  }
  return { name, id, ...identity, ...incarnation, state: 'current', ...rest }
}

/** Partitions without a leader that no run has read are not listed, but the topic has them. */
function countPartitions({ leaderless }: ObservedTopic, listed: readonly PlannedPartition[]): number {
  return largest([...leaderless, ...listed.map(({ durable }) => durable.partition)].map(one => one + 1))
}

/** Kafka never removes partitions: one that is not shown is unknown to a broker that lags behind. What is stored stays. */
function keepHidden(topic: ObservedTopic, before: ManifestTopic | undefined, warnings: string[]): PlannedPartition[] {
  const shown = new Set(topic.partitions.map(({ partition }) => partition))
  const hidden = (before?.partitions ?? []).filter(({ partition }) => !shown.has(partition))
  return hidden.map(durable => {
    const why = topic.leaderless.includes(durable.partition) ? 'has no leader' : 'is not shown by the cluster'
    warnings.push(`${topic.name}/${durable.partition}: ${why} at the moment; what this backup holds of it is kept`)
    return { durable, end: durable.end_offset, logStart: durable.start_offset, newGaps: [] }
  })
}

function planPartition(
  partition: number,
  bounds: PartitionBounds,
  before: ManifestPartition | undefined,
  now: string,
): PlannedPartition {
  const { lastStable: end, logStart, highWatermark: high_watermark } = bounds
  if (!before) {
    const durable = { ...emptyPartition(partition, logStart), high_watermark, last_stable_offset: end }
    return { durable, end, logStart, newGaps: [] }
  }
  // The topic is there: whatever hid it, or showed another in its place, it was not the end of it.
  const isOver = ({ to, reason }: Gap) => to === null && reason !== 'unreadable'
  const gaps = before.gaps.some(isOver) ? before.gaps.filter(gap => !isOver(gap)) : before.gaps
  const durable = { ...before, high_watermark, last_stable_offset: end, gaps }
  // Of a hole at the end of the log nothing is lost when the log start passes it.
  if (logStart <= (before.read_to ?? before.end_offset)) return { durable, end, logStart, newGaps: [] }
  const gap: Gap = { from: before.end_offset, to: logStart, reason: 'retention', found_at: now }
  return { durable: withGap(durable, gap), end, logStart, newGaps: [gap] }
}

/** Which topic has its name now. Shards may have seen two of one name, of which the cluster has none any more. */
function successorOf(
  topic: ManifestTopic,
  observed: ObservedSource,
  kept: readonly ManifestTopic[],
): Pick<ManifestTopic, 'id'> | undefined {
  const later = kept.slice(kept.indexOf(topic) + 1).filter(({ state }) => state !== 'replaced')
  return [...observed.topics, ...later].find(({ name }) => name === topic.name)
}

/** A topic of an earlier run that is not, or no longer, part of this one. What is stored of it stays. */
function keepTopic(
  topic: ManifestTopic,
  successor: Pick<ManifestTopic, 'id'> | undefined,
  isVisible: boolean,
  { now, warnings, groups }: PlanFacts,
): PlannedTopic {
  const replaced = topic.state !== 'replaced' && successor !== undefined
  const truncated = successor?.id === topic.id
  const deleted = topic.state === 'current' && !isVisible
  if (replaced) warnings.push(describeReplaced(topic, truncated))
  else if (deleted) warnings.push(`topic ${topic.name} is not there any more; what this backup holds of it is kept`)
  const reason = replaced ? (truncated ? 'source_truncated' : 'topic_recreated') : deleted ? 'topic_deleted' : undefined
  return {
    ...topic,
    state: replaced || topic.state === 'replaced' ? 'replaced' : 'absent',
    partitions: topic.partitions.map(held => {
      const { reread, ...durable } = held
      const { end_offset: end, start_offset: logStart } = durable
      if (!reason && reread) return { durable: held, end, logStart, newGaps: [] }
      if (!reason) return { durable, end, logStart, newGaps: [] }
      const gap: Gap = { from: end, to: null, reason, found_at: now }
      const isKnown = durable.gaps.some(one => one.from === end && one.to === null)
      return { durable: isKnown ? durable : withGap(durable, gap), end, logStart, newGaps: isKnown ? [] : [gap] }
    }),
    // Those of the generations to come are of its successor, or of none.
    ...(topic.state === 'current' && groups?.state === 'taken' && { consumer_groups: groups }),
    ...(replaced && { replaced_at: now }),
  }
}

function describeReplaced({ name }: ManifestTopic, truncated: boolean): string {
  const what = truncated ? 'starts a new incarnation' : 'was deleted and created again'
  return `topic ${name} ${what}; the records of both incarnations are kept, and a restore takes the newest by default`
}

function warnOfOpenTransaction(topic: string, partition: number, bounds: PartitionBounds, warnings: string[]): void {
  const behind = bounds.highWatermark - bounds.lastStable
  if (behind <= 0n) return
  const offsets = `${bounds.lastStable} to ${bounds.highWatermark}`
  warnings.push(
    `${topic}/${partition}: an open transaction keeps the newest ${behind} offsets (${offsets}) out of this backup`,
  )
}
