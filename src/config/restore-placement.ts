import { configName, partitionNumber, topicName } from './kafka-text-rules.ts'
import { type Reference, reference } from './leaf.ts'
import { type Item, mapItem, mapOf } from './map-leaves.ts'
import { choice, flag, integer, integerIn } from './scalar-leaves.ts'
import { storedTopicName } from './stored-topic-rules.ts'
import { jsonOfText, readText } from './text-leaves.ts'
import { anyText } from './text-rules.ts'

const targetTopic: Item<string, string> = {
  allowed: topicName.allowed,
  json: jsonOfText(topicName),
  read: (value, complain) => readText(topicName, value, complain),
}

const pairs = mapItem(partitionNumber, integerIn({ min: 0, max: 99_999 }), 'a map of partitions, such as {0: 1, 1: 0}')

const partitionPairs: Item<ReadonlyMap<number, number>, Readonly<Record<number, number | Reference>>> = {
  allowed: pairs.allowed,
  json: pairs.json,
  read: (value, complain) => {
    const read = pairs.read(value, complain)
    return read && new Map([...read].map(([from, to]) => [Number(from), to]))
  },
}

/** Settings are texts for Kafka; a number or a boolean is taken as the text that it is. */
const setting: Item<string, string | number | boolean> = {
  allowed: 'a text, a number, true or false',
  json: { anyOf: [{ type: ['number', 'boolean'] }, jsonOfText(anyText), reference] },
  read: (value, complain) => {
    const isExact = typeof value === 'boolean' || (typeof value === 'number' && Math.abs(value) < 2 ** 53)
    if (isExact) return String(value)
    if (typeof value !== 'number') return readText(anyText, value, complain)
    complain({ wrong: 'is too large to be read exactly as a number: put quotes around it' })
    return undefined
  },
}

/** The fields of `restore` that say where the records go: topics, their partitions, and how topics are made. */
export const placementFields = {
  topic_mapping: mapOf(storedTopicName, targetTopic, {
    description: 'Other names for topics on the target: source topic to target topic. Other topics keep their names.',
    type: 'map of text to text',
    allowed: 'a map of topic names to topic names, no two to the same',
  }).prefault({}),
  repartition: choice(['keep', 'by_key'], {
    description:
      'Which partition a record goes to: `keep` keeps its partition, `by_key` takes the one where a producer of Kafka ' +
      'puts its key among the partitions of the target. Without a key it goes to its partition modulo their number.',
  }).prefault('keep'),
  partition_count: mapOf(storedTopicName, integerIn({ min: 1, max: 100_000 }), {
    description:
      'Partitions of a topic on the target, by its name in the backup; otherwise as many as the source had, and with ' +
      '`repartition: keep` not fewer.',
    type: 'map of text to integer',
    allowed: 'a map of topic names to numbers of partitions: 1 to 100000',
  }).prefault({}),
  partition_mapping: mapOf(storedTopicName, partitionPairs, {
    description:
      'Other partitions for those of a topic: source partition to target partition. Not with `repartition: by_key`.',
    type: 'map of text to map of integer',
    allowed: 'a map of topic names to maps of partitions, such as {orders: {0: 1, 1: 0}}',
  }).prefault({}),
  create_topics: flag({ description: 'Makes the topics that the target does not have.' }).prefault(true),
  replication_factor: integer({
    description: 'Replicas of the topics that are made. Without it: as many as at the source, if the target can.',
    min: 1,
    max: 32_767,
  }).exactOptional(),
  topic_config: mapOf(configName, setting, {
    description: "Settings of all topics that are made, over those of the source, such as `{'retention.ms': -1}`.",
    type: 'map of text to text',
    allowed: 'a map of names of topic settings to their values',
  }).prefault({}),
}
