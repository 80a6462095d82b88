import { restoreAccessFields } from './access-schema.ts'
import { camelKeys } from './camel-keys.ts'
import { restoreGroupsSchema } from './groups-schema.ts'
import { configName, partitionNumber, storedTopicName, storedTopicPattern, topicName } from './kafka-text-rules.ts'
import { fields, type Item, mapItem, mapOf, type Reference, reference } from './leaf.ts'
import { selectionFields } from './restore-selection.ts'
import { choice, duration, flag, integer, integerIn, size } from './scalar-leaves.ts'
import { anyText, backupId, jsonOfText, readText, text, textList } from './text-leaves.ts'

const KiB = 2 ** 10

const MiB = 2 ** 20

const policyFields = {
  existing_topics: choice(['fail', 'append'], {
    description:
      'What happens when a topic of the target holds records that are not of this restore. `append` writes behind them.',
  }).prefault('fail'),
  retention: choice(['fail', 'hold', 'apply'], {
    description:
      'What happens when the retention of a topic would delete restored records at once, for their age. `hold` leaves ' +
      'its retention off until you set it, `apply` lets the records go.',
  }).prefault('fail'),
  offset_headers: flag({
    description:
      'Adds headers to each record that name where it came from: `x-original-topic`, `x-original-partition`, ' +
      '`x-original-offset`, `x-original-timestamp` and `x-source-cluster`.',
  }).prefault(false),
  consumer_groups: restoreGroupsSchema,
  ...restoreAccessFields,
  verify: flag({
    description:
      'Reads the target back and compares it with the backup when all is written, before settings that were held back ' +
      'are applied. Exit code 3 where something differs.',
  }).prefault(false),
}

const runFields = {
  restore_id: text(backupId, {
    description:
      'The name of this restore, under which an interrupted one is found again. Without it: made of the backup, the ' +
      'target cluster and the mapping.',
  }).exactOptional(),
  order: textList(storedTopicPattern, {
    description:
      'Topics to restore first, in this order, by their names in the backup; all others follow. As many partitions are filled at the same time ' +
      'as `memory_budget` allows.',
    allowed: 'topic names or patterns with * and ?',
    min: 0,
  }).prefault([]),
  commit_interval: duration({
    description: 'How often the progress is recorded on the target.',
    min: '1s',
    max: '1h',
  }).prefault('5s'),
  batch_bytes: size({
    description: 'The size that small batches are merged to, since a request takes one batch a partition.',
    minBytes: 16 * KiB,
    maxBytes: 64 * MiB,
  }).prefault('1MiB'),
  rate_limit: size({
    description: 'The most bytes that are written to the cluster in a second, all connections together.',
    minBytes: 1024,
  }).exactOptional(),
  memory_budget: size({ description: 'Memory for the buffers of restored data.', minBytes: 32 * MiB }).prefault(
    '96MiB',
  ),
  connections_per_broker: integer({
    description: 'Connections that write to one broker at the same time.',
    min: 1,
    max: 16,
  }).prefault(4),
}

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
const placementFields = {
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

export const restoreSchema = fields({ ...selectionFields, ...placementFields, ...policyFields, ...runFields })
  .transform(restore =>
    camelKeys(restore, {
      as_of: 'asOfMs',
      time_window_start: 'timeWindowStartMs',
      time_window_end: 'timeWindowEndMs',
      commit_interval: 'commitIntervalMs',
      memory_budget: 'memoryBudgetBytes',
      rate_limit: 'bytesPerSecond',
    }),
  )
  .meta({ description: 'What is restored, to where on the target, and how.' })
  .prefault({})
