import { KafkaBackupError, toKafkaBackupError } from '../errors.ts'
import { partitionKey, type TopicPartition } from '../kafka/offsets.ts'
import { isPattern } from '../lib/glob.ts'
import { type MappingRun, type OffsetMapping, translateByRuns } from './mapping.ts'
import { type Origin, type OriginPosition, originGroup } from './origin.ts'
import { type DesiredOffset, NONE_COMMITTED } from './plan-reset.ts'
import { compilePlaces, type PositionSelection } from './select-groups.ts'
import { topicIdsIn } from './snapshot.ts'

export type DesiredOffsets = Map<string, DesiredOffset[] | KafkaBackupError>

/** Positions as they were, on the cluster that they are from. */
export function desiredFromOrigin(
  origin: Origin,
  groups: readonly string[],
  selection: PositionSelection,
): DesiredOffsets {
  return perGroup(groups, origin, selection, positions =>
    positions.map(({ topic, partition, offset, metadata }) => ({
      ...{ topic, partition, to: offset, metadata },
      topicId: origin.topicIds?.get(topic),
    })),
  )
}

/** Through the runs of an offset map, or directly from the offsets in a file. */
export function desiredByMapping(
  mapping: OffsetMapping,
  origin: Origin | undefined,
  groups: readonly string[],
  selection: PositionSelection,
): DesiredOffsets {
  if ('runs' in mapping) {
    if (!origin) throw needsOrigin('from_mapping with the output of `offset-map`')
    const ids = topicIdsIn({ topics: mapping.target_topics ?? [] })
    const isWhole = selection.partitions.length === 0
    return perGroup(groups, origin, selection, positions =>
      translate(positions, mapping.runs, isWhole).map(one => ({ ...one, topicId: ids.get(one.topic) })),
    )
  }
  const isWanted = compilePlaces(selection)
  refuseUnknownPlaces(
    selection,
    mapping.positions.filter(one => one.group === undefined || groups.includes(one.group)),
    'the mapping',
  )
  return new Map(
    groups.map(group => {
      const meant = mapping.positions.filter(one => (one.group ?? group) === group && isWanted(one))
      // What is written for the group itself goes before what is written for all.
      const special = new Set(meant.filter(one => one.group !== undefined).map(partitionKey))
      const own = meant.filter(one => one.group !== undefined || !special.has(partitionKey(one)))
      const desiredOffsets = own.map(({ topic, partition, offset }) => ({ topic, partition, to: offset }))
      return [group, desiredOffsets.length > 0 ? desiredOffsets : nothingSelected('the mapping', group)]
    }),
  )
}

/**
 * A partition of which nothing was restored has nothing that was read: it is begun where its namesake begins, if the restore
 * kept the partitions.
 */
function translate(
  positions: readonly OriginPosition[],
  runs: readonly MappingRun[],
  isWhole: boolean,
): DesiredOffset[] {
  const desiredOffsets: DesiredOffset[] = translateByRuns(positions, runs)
  const covered = new Set(desiredOffsets.map(partitionKey))
  const names = new Map(runs.map(run => [run.topic, run.target_topic]))
  const spread = new Set(runs.flatMap(run => (run.partition === run.target_partition ? [] : [run.topic])))
  const known = new Set(runs.map(partitionKey))
  for (const { topic: source, partition } of positions) {
    const topic = names.get(source) ?? source
    const isMapped =
      known.has(partitionKey({ topic: source, partition })) || covered.has(partitionKey({ topic, partition }))
    if (!isMapped) desiredOffsets.push({ topic, partition, ...withoutRuns(source, names.has(source), spread) })
  }
  if (!isWhole) return desiredOffsets
  const restored = runs.map(run => ({ topic: run.target_topic, partition: run.target_partition }))
  const read = positions.flatMap(one => names.get(one.topic) ?? [])
  return [...desiredOffsets, ...withoutOffset(read, restored, desiredOffsets)]
}

/** Restored partitions of the topics that a group has read, on which it gets nothing. */
export function withoutOffset(
  topics: readonly string[],
  restored: readonly TopicPartition[],
  rows: readonly TopicPartition[],
): DesiredOffset[] {
  const [read, known] = [new Set(topics), new Set(rows.map(partitionKey))]
  const places = new Map(restored.map(place => [partitionKey(place), place]))
  return [...places]
    .filter(([key, { topic }]) => read.has(topic) && !known.has(key))
    .map(([, { topic, partition }]) => ({ topic, partition, ...NONE_COMMITTED }))
}

function withoutRuns(topic: string, isKnown: boolean, spread: ReadonlySet<string>): Pick<DesiredOffset, 'to' | 'note'> {
  if (!isKnown) return { to: { problem: 'the mapping does not contain the topic' } }
  const note = 'nothing of this partition was restored'
  if (!spread.has(topic)) return { to: 'earliest', note }
  return {
    to: {
      problem: `${note}, and the restore did not keep the partitions of ${topic}, so no offset here corresponds to it`,
    },
  }
}

export function perGroup<T>(
  groups: readonly string[],
  origin: Origin,
  selection: PositionSelection,
  turn: (positions: OriginPosition[]) => T[],
): Map<string, T[] | KafkaBackupError> {
  const isWanted = compilePlaces(selection)
  const selected = new Set(groups)
  refuseUnknownPlaces(
    selection,
    origin.groups.flatMap(({ group, positions }) => (selected.has(group) ? positions : [])),
    origin.name,
  )
  return new Map(
    groups.map(group => {
      try {
        const own = originGroup(origin, group).positions.filter(isWanted)
        return [group, own.length > 0 ? turn(own) : nothingSelected(origin.name, group)]
      } catch (error) {
        return [group, toKafkaBackupError(error)]
      }
    }),
  )
}

/** A name or number that no group has a position on is a slip, and its offsets would be left out of the reset without a word. */
function refuseUnknownPlaces(
  { topics, partitions }: PositionSelection,
  places: readonly TopicPartition[],
  where: string,
): void {
  if (places.length === 0) return
  const topic = topics.find(one => !isPattern(one) && !places.some(place => place.topic === one))
  const isWanted = compilePlaces({ topics, partitions: [] })
  const partition = partitions.find(one => !places.some(place => isWanted(place) && place.partition === one))
  if (topic === undefined && partition === undefined) return
  const what = topic === undefined ? `partition ${partition}` : `topic ${topic}`
  const message = `${where} has no committed offsets of the selected groups on ${what}`
  throw new KafkaBackupError('TOPIC_NOT_FOUND', message, {
    help: 'No committed offset was changed. Correct `--topic` or `--partition`.',
  })
}

function nothingSelected(where: string, group: string): KafkaBackupError {
  return new KafkaBackupError('GROUP_NOT_FOUND', `${where} has no selected committed offsets of group ${group}`, {
    details: { group },
  })
}

function needsOrigin(what: string): KafkaBackupError {
  return new KafkaBackupError('USAGE', `${what} needs the committed offsets at the source`, {
    help: 'Name a snapshot of the source with --from-snapshot, or a backup with its groups with --backup-id.',
  })
}
