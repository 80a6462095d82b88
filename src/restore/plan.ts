import { createHash } from 'node:crypto'
import { deletedKeyWarnings } from '../archive/deleted-keys.ts'
import type { Manifest, ManifestPartition, ManifestTopic } from '../archive/manifest.ts'
import { KafkaBackupError } from '../errors.ts'
import { compileGlobs } from '../lib/glob.ts'
import type { RestoreOptions } from './options.ts'
import type { TopicRewrite } from './part-rewriter.ts'
import { keepPartitions, placeByKey, planLegs } from './plan-streams.ts'
import { describeRewrite } from './rewrite-options.ts'
import { planSettings, type TopicSettings } from './topic-settings.ts'

export interface RestorePlan {
  backupId: string
  generation: number
  sourceCluster: string | null
  topics: PlannedTopic[]
  warnings: string[]
  /** The one of the warnings that is told also where nothing is left to do. */
  notice?: string
  /** What was asked for, in one form: the same wish has the same text. */
  wish: string
  /** By topic of the source: what a look at its records has decided. Topics that stay as they are have none. */
  rewrites?: ReadonlyMap<string, TopicRewrite>
  /** Names the ids that records are given, where they are. */
  idMapDigest?: string
}

export interface PlannedTopic extends TopicSettings {
  source: ManifestTopic
  /** Its name on the target. */
  name: string
  partitions: number
  replicationFactor: number
  /** All that is restored of it, in the order of their partitions. */
  legs: readonly PlannedLeg[]
  streams: PlannedStream[]
}

/** What of one partition of the source is restored. */
export interface PlannedLeg {
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

/** Pure: what of the backup goes where. Everything that does not fit together is told at once. */
export function planRestore(manifest: Manifest, options: RestoreOptions): RestorePlan {
  const problems: string[] = []
  const selected = selectTopics(manifest, options, problems)
  const topics = selected.map(topic => planTopic(topic, options, problems))
  refuseSharedTargets(topics, problems)
  refuseUnknownNames(manifest, options, problems)
  if (problems.length > 0) throw new KafkaBackupError('RESTORE_REFUSED', problems.join('; '))
  const { backup_id: backupId, generation, cluster, complete } = manifest
  const warnings = complete ? [] : [`generation ${generation} is incomplete: its run was interrupted`]
  warnings.push(
    ...gapWarnings(topics),
    ...deletedKeyWarnings(topics.map(restoredOf)),
    ...rangeWarnings(topics, options),
  )
  const ids = options.rewrite && { idMapDigest: options.rewrite.idMap.digest }
  return { backupId, generation, sourceCluster: cluster.id, topics, warnings, wish: describeWish(options), ...ids }
}

/** A name for the restore that the same job finds again after a crash, and that another one does not hit upon. */
export function deriveRestoreId({ backupId, wish }: RestorePlan, targetCluster: string | null): string {
  return shortHash([backupId, targetCluster, wish])
}

/** Tells whether notes of an earlier run are about the same records at the same places. */
export function fingerprintOf(plan: RestorePlan): string {
  const topics = plan.topics.map(({ source, name, legs, streams }) => [
    source.id,
    source.name,
    name,
    legs.map(leg => [leg.source.partition, `${leg.start}`, `${leg.end}`]),
    // Where keys decide, every partition has all legs.
    streams.map(one => [one.partition, one.keyedAmong ?? one.legs.map(leg => leg.source.partition)]),
  ])
  const ids = plan.idMapDigest === undefined ? [] : [plan.idMapDigest]
  return shortHash([plan.backupId, plan.generation, plan.wish, topics, ...ids])
}

function shortHash(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
}

/** All that decides which records go where, and nothing of how fast. */
function describeWish(options: RestoreOptions): string {
  const { topics, topicMapping, partitions, offsetRanges, timeWindow, partitionMapping, offsetHeaders } = options
  const wish = { topics, topicMapping, partitions, offsetRanges, timeWindow, partitionMapping, offsetHeaders }
  // Only where keys decide does a number of partitions move records.
  const byKey = options.repartition === 'by_key' && { byKey: options.partitionCount }
  const rewrite = options.rewrite && { rewrite: describeRewrite(options.rewrite) }
  return JSON.stringify({ ...wish, ...byKey, ...rewrite, generation: options.generation ?? null }, (_, value) => {
    if (value instanceof Map) return [...value].sort(([a], [b]) => (a < b ? -1 : 1))
    return typeof value === 'bigint' ? `${value}` : value
  })
}

/** Of topics that had the same name one after the other, the last one. */
function selectTopics(
  manifest: Manifest,
  { topics: { include, exclude } }: RestoreOptions,
  problems: string[],
): ManifestTopic[] {
  const isIncluded = compileGlobs(include)
  const isExcluded = compileGlobs(exclude)
  const standing = manifest.topics.filter(({ state }) => state !== 'replaced')
  // Kafka's own topics have their like on the target: they are taken only by their full name.
  const selected = standing.filter(
    ({ name, internal }) => isIncluded(name) && !isExcluded(name) && (!internal || include.includes(name)),
  )
  const missing = include.filter(entry => !/[*?]/.test(entry) && !standing.some(({ name }) => name === entry))
  for (const name of missing) problems.push(`the backup holds no topic ${name} (restore.topics.include)`)
  if (manifest.topics.length === 0 && manifest.schema_registry) {
    problems.push(`generation ${manifest.generation} holds schemas and no topics; \`schemas restore\` restores those`)
  } else if (selected.length === 0 && missing.length === 0) {
    problems.push(`no topic of the backup matches restore.topics.include (${include.join(', ')})`)
  }
  return selected
}

function planTopic(source: ManifestTopic, options: RestoreOptions, problems: string[]): PlannedTopic {
  const name = options.topicMapping.get(source.name) ?? source.name
  const legs = planLegs(source, options, problems)
  const held = source.partitions.reduce((most, { partition }) => Math.max(most, partition + 1), 0)
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
  return { source, name, partitions, replicationFactor, legs, streams, ...settings }
}

function refuseSharedTargets(topics: readonly PlannedTopic[], problems: string[]): void {
  for (const [name, several] of Map.groupBy(topics, topic => topic.name)) {
    const [first, second] = several
    if (first && second) problems.push(`${first.source.name} and ${second.source.name} would both become ${name}`)
  }
}

/** A mistyped name would let the topic go where nobody wants it. */
function refuseUnknownNames({ topics }: Manifest, options: RestoreOptions, problems: string[]): void {
  const known = new Set(topics.map(({ name }) => name))
  const fields = {
    topic_mapping: options.topicMapping,
    partitions: options.partitions,
    partition_count: options.partitionCount,
    partition_mapping: options.partitionMapping,
  }
  for (const [field, byTopic] of Object.entries(fields)) {
    for (const name of byTopic.keys()) {
      if (!known.has(name)) problems.push(`restore.${field}: the backup holds no topic ${name}`)
    }
  }
  const partitions = new Set(
    topics.flatMap(({ name, partitions }) => partitions.map(one => `${name}/${one.partition}`)),
  )
  for (const key of options.offsetRanges.keys()) {
    if (!partitions.has(key)) problems.push(`restore.offset_ranges: the backup holds no partition ${key}`)
  }
}

function rangeWarnings(topics: readonly PlannedTopic[], { offsetRanges }: RestoreOptions): string[] {
  return topics.flatMap(({ source: { name }, legs }) =>
    legs
      .filter(({ source, start, end }) => start === end && offsetRanges.has(`${name}/${source.partition}`))
      .map(({ source: { partition, start_offset: start, end_offset: end } }) => {
        const held = start === end ? 'no records' : `the offsets ${start} to ${end - 1n}`
        return `${name}/${partition}: nothing is in its range (restore.offset_ranges); the backup holds ${held} of it`
      }),
  )
}

/** The topic with the partitions that are restored. */
function restoredOf({ source, legs }: PlannedTopic): ManifestTopic {
  return { ...source, partitions: legs.filter(({ start, end }) => start < end).map(leg => leg.source) }
}

function gapWarnings(topics: readonly PlannedTopic[]): string[] {
  return topics.flatMap(({ source, legs }) =>
    legs.flatMap(({ source: { partition, gaps } }) =>
      gaps.map(
        ({ from, to, reason }) =>
          `${source.name}/${partition}: the backup lacks the offsets ${from} to ${to ?? 'unknown'} (${reason})`,
      ),
    ),
  )
}
