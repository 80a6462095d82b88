import { KafkaBackupError } from '../errors.ts'
import { partitionKey, type TopicPartition } from '../kafka/offsets.ts'
import { isPattern } from '../lib/glob.ts'
import type { GroupNow } from './group-now.ts'
import type { OffsetsPort, TopicFacts } from './offsets-port.ts'
import { type DesiredOffset, findMissing, NO_TIME } from './plan-reset.ts'
import type { PlainRequest } from './reset-request.ts'
import { compilePlaces, type PositionSelection } from './select-groups.ts'

/** What the strategies want that look at nothing but the log; an error where a group has nothing to be set. */
export async function desiredByStrategy(
  request: PlainRequest,
  groups: readonly GroupNow[],
  port: OffsetsPort,
  signal: AbortSignal,
): Promise<Map<string, DesiredOffset[] | KafkaBackupError>> {
  const named = request.selection.topics.filter(topic => !isPattern(topic))
  const topics = await port.describeTopics(named, signal)
  const missing = named.find(topic => !topics.has(topic))
  if (missing !== undefined) throw unknownTopic(missing)
  const scopes = new Map(groups.map(now => [now.group, scopeOf(now, request.selection, topics)]))
  const decide = await openDecision(request, [...scopes.values()].flat(), port, signal)
  return new Map(
    [...scopes].map(([group, places]): [string, DesiredOffset[] | KafkaBackupError] => {
      if (places.length === 0) return [group, nothingToSet(group, request.selection)]
      return [group, places.map(place => ({ topic: place.topic, partition: place.partition, ...decide(place) }))]
    }),
  )
}

/** All partitions of topics that are named; for all else, those that the group has a position on. */
function scopeOf(
  { positions }: GroupNow,
  selection: PositionSelection,
  topics: ReadonlyMap<string, TopicFacts>,
): TopicPartition[] {
  const named = [...topics].flatMap(([topic, { partitions: count }]) =>
    (selection.partitions.length > 0 ? selection.partitions : [...Array(count).keys()]).map(partition => ({
      topic,
      partition,
    })),
  )
  const isWanted = compilePlaces(selection)
  return [...named, ...positions.filter(one => !topics.has(one.topic) && isWanted(one))]
}

type Decide = (place: TopicPartition) => Pick<DesiredOffset, 'to' | 'note'>

async function openDecision(
  request: PlainRequest,
  places: readonly TopicPartition[],
  port: OffsetsPort,
  signal: AbortSignal,
): Promise<Decide> {
  switch (request.strategy) {
    case 'earliest':
    case 'latest':
      return () => ({ to: request.strategy })
    case 'offset':
      return () => ({ to: request.offset })
    case 'timestamp': {
      const unique = [...new Map(places.map(place => [partitionKey(place), place])).values()]
      const topics = await port.describeTopics([...new Set(unique.map(({ topic }) => topic))], signal)
      const there = unique.filter(place => findMissing(place, topics) === undefined)
      const found = await port.findByTime(there, request.timestampMs, signal)
      return place => {
        const offset = found.get(partitionKey(place))
        if (offset === undefined) return { to: { problem: NO_TIME } }
        return offset < 0n ? { to: 'latest', note: 'no record is that late' } : { to: offset }
      }
    }
    default:
      return request satisfies never
  }
}

function nothingToSet(group: string, { topics }: PositionSelection): KafkaBackupError {
  const where = topics.length > 0 ? ' that are selected' : ''
  return new KafkaBackupError('GROUP_NOT_FOUND', `group ${group} has no committed offsets${where}`, {
    details: { group },
    help: 'Check the name with `kafka-backup offsets list`; `--topic` with the name of a topic gives a group its first positions.',
  })
}

function unknownTopic(topic: string): KafkaBackupError {
  return new KafkaBackupError('TOPIC_NOT_FOUND', `there is no topic ${topic} on this cluster`, {
    details: { topic },
    help: 'No committed offset was changed. Correct `--topic`.',
  })
}
