import { fields } from './leaf.ts'
import { distinctList, mapOf } from './map-leaves.ts'
import { offsetRange } from './offset-range.ts'
import { integer, integerIn } from './scalar-leaves.ts'
import { storedTopicName, storedTopicPartition, storedTopicPattern } from './stored-topic-rules.ts'
import { textList } from './text-leaves.ts'
import { time } from './time-leaf.ts'

const topicsSchema = fields({
  include: textList(storedTopicPattern, {
    description:
      'Topics to restore, by their names in the backup; `*` alone takes all. Of a topic that was replaced, the newest ' +
      'incarnation is taken; `name@<topic ID>` or `name@<time>` selects an older one. Internal topics and those in which a ' +
      'schema registry stored its schemas (`_schemas`) are taken only by their full names.',
    allowed: 'at least one topic name or pattern with * and ?',
    min: 1,
  }).prefault(['*']),
  exclude: textList(storedTopicPattern, {
    description: 'Topics to leave out, even where `include` matches them.',
    allowed: 'topic names or patterns with * and ?',
    min: 0,
  }).prefault([]),
})
  .meta({ description: 'Which topics are restored.' })
  .prefault({})

/** The fields of `restore` that say which records of the backup are restored. */
export const selectionFields = {
  generation: integer({
    description: 'The state of the backup to restore, as `describe` numbers them. Without it: the newest.',
    min: 1,
  }).exactOptional(),
  topics: topicsSchema,
  partitions: mapOf(
    storedTopicName,
    distinctList(integerIn({ min: 0, max: 99_999 }), 'a list of partition numbers, such as [0, 2]'),
    {
      description: 'The only partitions to restore of a topic, by its name in the backup. Other topics are whole.',
      type: 'map of text to list of integer',
      allowed: 'a map of topic names to lists of partition numbers, such as {orders: [0, 2]}',
    },
  ).prefault({}),
  offset_ranges: mapOf(storedTopicPartition, offsetRange, {
    description:
      'The only offsets to restore of a partition: those from `start` up to but without `end`. Other partitions are whole.',
    type: 'map of text to range',
    allowed: 'a map of topic/partition to ranges, such as {orders/0: {start: 100, end: 200}}',
  }).prefault({}),
  time_window_start: time({
    description: 'Only records with this timestamp or a later one are restored.',
  }).exactOptional(),
  time_window_end: time({ description: 'Only records with an earlier timestamp are restored.' }).exactOptional(),
}
