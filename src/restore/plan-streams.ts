import type { ManifestPartition, ManifestTopic } from '../archive/manifest.ts'
import type { RestoreOptions } from './options.ts'
import type { PlannedLeg, PlannedStream } from './plan.ts'

/** Pure: what of each partition of the topic is restored, in the order of their numbers. */
export function planLegs(source: ManifestTopic, options: RestoreOptions, problems: string[]): PlannedLeg[] {
  const wanted = options.partitions.get(source.name)
  const moved = options.partitionMapping.get(source.name)
  for (const partition of [...(wanted ?? []), ...(moved?.keys() ?? [])]) {
    if (!source.partitions.some(one => one.partition === partition)) {
      problems.push(`the backup holds no partition ${source.name}/${partition}`)
    }
  }
  return source.partitions
    .filter(({ partition }) => wanted === undefined || wanted.includes(partition))
    .toSorted((a, b) => a.partition - b.partition)
    .map(one => planLeg(source, one, options))
}

/** Pure: every partition of the source goes into one of the target. */
export function keepPartitions(
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
export function placeByKey(
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

function planLeg(topic: ManifestTopic, source: ManifestPartition, { offsetRanges }: RestoreOptions): PlannedLeg {
  const range = offsetRanges.get(`${topic.name}/${source.partition}`)
  const start = later(source.start_offset, range?.start)
  const end = range?.end !== undefined && range.end < source.end_offset ? range.end : source.end_offset
  return { topic: { name: topic.name, id: topic.id }, source, start, end: later(end, start) }
}

function later(first: bigint, second: bigint | undefined): bigint {
  if (second === undefined || second < first) return first
  return second
}
