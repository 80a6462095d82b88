import { createHash } from 'node:crypto'
import { carriedNotice } from '../archive/carried-notice.ts'
import { incarnationKey, labelOf } from '../archive/incarnation.ts'
import type { Manifest, ManifestPartition, ManifestTopic } from '../archive/manifest.ts'
import { avoidedWarnings, recordWarnings } from '../archive/record-warnings.ts'
import { KafkaBackupError } from '../errors.ts'
import { append } from '../lib/largest.ts'
import type { IdCheck } from './id-counts.ts'
import type { TopicRewrite } from './part-rewriter.ts'
import type { OpenFilter } from './record-filter.ts'
import { storesByName } from './registry-topics.ts'
import { describeRewrite, orderWarnings, type RestoreOptions, rankTopics } from './restore-options.ts'
import { describeLeftOut, olderWarnings, optionsFor, refuseUnknownNames, selectTopics } from './select-topics.ts'
import { lateEndWarning, rangeWarning, windowWarning } from './selection-warnings.ts'
import { formatWarnings, planSettings, type TopicSettings } from './topic-settings.ts'

export interface RestorePlan {
  backupId: string
  generation: number
  /** When the generation was committed. */
  generationCreatedAt: string
  sourceCluster: string | null
  topics: PlannedTopic[]
  warnings: string[]
  /** Of the generation; pages of a checkpoint are added when they are read. */
  avoided?: Manifest['avoided']
  /** The warning that is also reported for a complete restore. */
  notice?: string
  /** What was asked for, in one form: the same request has the same text. */
  request: string
  /** By topic of the source: what a look at its records has decided. Topics that stay as they are have none. */
  rewrites?: ReadonlyMap<string, TopicRewrite>
  /** By topic of the source: what a sample has shown of unknown ids. */
  idChecks?: ReadonlyMap<string, IdCheck>
  /** Only records that it selects. */
  filter?: OpenFilter
  /** Names the ids that records are given, where they are. */
  idMapDigest?: string
  /** Of the schemas in the backup; see `RegistrySnapshot`. */
  schemasAddedAt?: string
}

export interface PlannedTopic extends TopicSettings {
  source: ManifestTopic
  /** How the source is named to people and in reports: `name`, or `name@id` for an incarnation that is not the newest. */
  label: string
  /** Its name on the target. */
  name: string
  partitions: number
  replicationFactor: number
  /** All that is restored of it, in the order of their partitions. */
  legs: readonly PlannedLeg[]
  streams: PlannedStream[]
  /** A schema registry stored its schemas there. */
  isRegistryStore?: true
}

/** What of one partition of the source is restored. */
export interface PlannedLeg {
  topic: Pick<ManifestTopic, 'name' | 'id'>
  source: ManifestPartition
  /** Offsets of the source in [start, end). */
  start: bigint
  end: bigint
}

/** One partition of the target, and where its records come from: from one leg after the other, each in its order. */
export interface PlannedStream {
  partition: number
  legs: readonly PlannedLeg[]
  /** Of their records only those whose keys belong into this one of so many partitions; without it all of them. */
  keyedAmong?: number
}

/**
 * Pure: what of the backup goes where. All contradictions are reported together. Without `stores` topics of
 * schema registries are recognized by their names alone.
 */
export function planRestore(manifest: Manifest, options: RestoreOptions, stores = storesByName(manifest)): RestorePlan {
  const problems: string[] = []
  const { selected, leftOut } = selectTopics(manifest, options, problems, stores)
  const topics = selected.map(topic => ({
    ...planTopic(topic, labelOf(topic, manifest.topics), optionsFor(topic, manifest, options), problems),
    ...(stores.has(topic) && { isRegistryStore: true as const }),
  }))
  refuseSharedTargets(topics, problems)
  refuseUnknownNames(manifest, selected, options, problems)
  if (problems.length > 0) {
    const help = 'Nothing was written. Correct what the message names, then run the command again.'
    throw new KafkaBackupError('RESTORE_REFUSED', problems.join('; '), { help })
  }
  const { backup_id: backupId, generation, created_at: generationCreatedAt, cluster, complete } = manifest
  const warnings = avoidedWarnings(manifest)
  if (!complete) warnings.push(`generation ${generation} is incomplete: its run was interrupted`)
  const olderSettings = topics.length === 0 ? undefined : carriedNotice(manifest, 'topic_settings')
  if (olderSettings !== undefined) warnings.push(olderSettings)
  append(warnings, leftOut.map(describeLeftOut))
  append(warnings, [...selected.flatMap(partialWarning), ...olderWarnings(manifest, selected, options)])
  warnings.push(
    ...gapWarnings(topics),
    ...recordWarnings(topics.map(restoredOf)),
    ...formatWarnings(topics.map(({ source }) => source)),
    ...lateEndWarning(manifest, options.timeWindow),
    ...topics.flatMap(topic => windowWarning(restoredOf(topic), topic.label, options.timeWindow)),
    ...rangeWarnings(topics, manifest, options),
    ...orderWarnings(topics, options.order),
  )
  const ids = options.rewrite?.writes && { idMapDigest: options.rewrite.idMap.digest }
  return {
    backupId,
    generation,
    generationCreatedAt,
    sourceCluster: cluster.id,
    topics,
    warnings,
    ...(manifest.avoided && { avoided: manifest.avoided }),
    request: describeRequest(options),
    ...ids,
  }
}

/** Pure: as they are filled. The plan has another order, which is part of what a restore is known by. */
export function orderTopics(topics: readonly PlannedTopic[], { order }: RestoreOptions): PlannedTopic[] {
  const rankOf = rankTopics(order)
  return topics.toSorted((a, b) => rankOf(a) - rankOf(b))
}

/** A name for the restore that the same job finds again after a crash, and that another one does not hit upon. */
export function deriveRestoreId(
  { backupId, request }: Pick<RestorePlan, 'backupId' | 'request'>,
  targetCluster: string | null,
): string {
  return shortHash([backupId, targetCluster, request])
}

/** Tells whether notes of an earlier run are about the same records at the same places. */
export function fingerprintOf(plan: RestorePlan): string {
  const topics = plan.topics.map(({ source, name, legs, streams }) => [
    incarnationKey(source),
    source.name,
    name,
    legs.map(leg => [leg.source.partition, `${leg.start}`, `${leg.end}`]),
    // Where keys decide, every partition has all legs.
    streams.map(one => [one.partition, one.keyedAmong ?? one.legs.map(leg => leg.source.partition)]),
  ])
  const ids = plan.idMapDigest === undefined ? [] : [plan.idMapDigest]
  return shortHash([plan.backupId, plan.generation, plan.request, topics, ...ids])
}

function shortHash(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
}

/** All that decides which records go where, and nothing of how fast. */
export function describeRequest(options: RestoreOptions): string {
  const { topics, topicMapping, partitions, offsetRanges, timeWindow, partitionMapping, offsetHeaders } = options
  const request = { topics, topicMapping, partitions, offsetRanges, timeWindow, partitionMapping, offsetHeaders }
  // Only where keys decide does a number of partitions move records.
  const byKey = options.repartition === 'by_key' && { byKey: options.partitionCount }
  const rewrite = options.rewrite?.writes && { rewrite: describeRewrite(options.rewrite) }
  const choice = {
    generation: options.generation ?? null,
    ...(options.asOfMs !== undefined && { asOf: options.asOfMs }),
  }
  const filter = options.filter && { filter: options.filter.request }
  return JSON.stringify({ ...request, ...byKey, ...rewrite, ...filter, ...choice }, (_, value) => {
    if (value instanceof Map) return [...value].sort(([a], [b]) => (a < b ? -1 : 1))
    return typeof value === 'bigint' ? `${value}` : value
  })
}

function planTopic(source: ManifestTopic, label: string, options: RestoreOptions, problems: string[]): PlannedTopic {
  const name = options.topicMapping.get(source.name) ?? source.name
  const legs = planLegs(source, options, problems)
  const held = source.partitions.reduce((most, one) => Math.max(most, one.partition + 1), source.partition_count ?? 0)
  const asked = options.partitionCount.get(source.name)
  const streams =
    options.repartition === 'by_key'
      ? placeByKey(source, legs, options, problems, asked ?? held)
      : keepPartitions(source, legs, options, problems)
  const highest = streams.reduce((most, { partition }) => Math.max(most, partition + 1), 0)
  const partitions = asked ?? Math.max(held, highest)
  if (partitions < highest) {
    const fewer = `${partitions} partitions are fewer than the ${highest} needed`
    problems.push(`restore.partition_count.${source.name}: ${fewer} (restore.repartition: by_key fits them in)`)
  }
  const replicationFactor = options.replicationFactor ?? source.replication_factor
  const settings = planSettings(source.configs, options.topicConfig, options.retention)
  return { source, label, name, partitions, replicationFactor, legs, streams, ...settings }
}

function refuseSharedTargets(topics: readonly PlannedTopic[], problems: string[]): void {
  for (const [name, several] of Map.groupBy(topics, topic => topic.name)) {
    const [first, second] = several
    if (first && second)
      problems.push(`${first.label} and ${second.label} would both become ${name} (restore.topic_mapping)`)
  }
}

function rangeWarnings(topics: readonly PlannedTopic[], manifest: Manifest, options: RestoreOptions): string[] {
  return topics.flatMap(({ source: topic, label, legs }) => {
    const { offsetRanges } = optionsFor(topic, manifest, options)
    return legs.flatMap(({ source, start, end }) => {
      const range = offsetRanges.get(`${topic.name}/${source.partition}`)
      return range ? rangeWarning({ name: `${label}/${source.partition}`, source, range, isEmpty: start === end }) : []
    })
  })
}

/** The topic with the partitions that are restored. */
function restoredOf({ source, legs }: PlannedTopic): ManifestTopic {
  return { ...source, partitions: legs.filter(({ start, end }) => start < end).map(leg => leg.source) }
}

function partialWarning({ name, partitions: { length }, partition_count: count = length }: ManifestTopic): string[] {
  if (length >= count) return []
  return [`${name}: the backup holds ${length} of ${count} partitions; the others had no leader, and stay empty`]
}

function gapWarnings(topics: readonly PlannedTopic[]): string[] {
  return topics.flatMap(({ label, legs }) =>
    legs.flatMap(({ source: { partition, gaps } }) =>
      gaps.map(
        ({ from, to, reason }) =>
          `${label}/${partition}: the backup lacks the offsets ${from} to ${to ?? 'unknown'} (${reason})`,
      ),
    ),
  )
}

/** Pure: what of each partition of the topic is restored, in the order of their numbers. */
function planLegs(source: ManifestTopic, options: RestoreOptions, problems: string[]): PlannedLeg[] {
  const wanted = options.partitions.get(source.name)
  const moved = options.partitionMapping.get(source.name)
  for (const partition of [...(wanted ?? []), ...(moved?.keys() ?? [])]) {
    if (!source.partitions.some(one => one.partition === partition)) {
      problems.push(`the backup holds no partition ${source.name}/${partition}`)
    }
  }
  const topic = { name: source.name, id: source.id }
  return source.partitions
    .filter(({ partition }) => wanted === undefined || wanted.includes(partition))
    .toSorted((a, b) => a.partition - b.partition)
    .map(one => planLeg(topic, one, options))
}

/** Pure: every partition of the source goes into one of the target. */
function keepPartitions(
  { name }: ManifestTopic,
  legs: readonly PlannedLeg[],
  { partitionMapping }: RestoreOptions,
  problems: string[],
): PlannedStream[] {
  const mapping = partitionMapping.get(name)
  const streams = legs.map(leg => ({
    partition: mapping?.get(leg.source.partition) ?? leg.source.partition,
    legs: [leg],
  }))
  const targets = streams.map(({ partition }) => partition)
  for (const twice of new Set(targets.filter((target, i) => targets.indexOf(target) !== i))) {
    problems.push(`restore.partition_mapping.${name}: two partitions go to ${twice}`)
  }
  return streams
}

/** Pure: every partition of the target takes its records from all of the source. */
function placeByKey(
  { name }: ManifestTopic,
  legs: readonly PlannedLeg[],
  { partitionMapping }: RestoreOptions,
  problems: string[],
  count: number,
): PlannedStream[] {
  if (partitionMapping.has(name)) {
    const rule = 'repartition: by_key, which places its records by their keys'
    problems.push(`restore.partition_mapping.${name} contradicts ${rule}; keep one of the two`)
  }
  if (legs.length === 0) return []
  return Array.from({ length: count }, (_, partition) => ({ partition, legs, keyedAmong: count }))
}

function planLeg(topic: PlannedLeg['topic'], source: ManifestPartition, { offsetRanges }: RestoreOptions): PlannedLeg {
  const range = offsetRanges.get(`${topic.name}/${source.partition}`)
  const start = later(source.start_offset, range?.start)
  const end = range?.end !== undefined && range.end < source.end_offset ? range.end : source.end_offset
  return { topic, source, start, end: later(end, start) }
}

function later(first: bigint, second: bigint | undefined): bigint {
  if (second === undefined || second < first) return first
  return second
}
