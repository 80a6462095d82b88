import { textOf } from '../lib/json.ts'
import { filterSchema } from './filter-schema.ts'
import { storedTopicName, storedTopicPartition, storedTopicPattern } from './kafka-text-rules.ts'
import { type Complain, distinctList, fields, type Item, mapOf, reference } from './leaf.ts'
import { nearMatch } from './near-match.ts'
import { isMap } from './problem.ts'
import { integer, integerIn, time } from './scalar-leaves.ts'
import { textList } from './text-leaves.ts'

const allowed = 'an offset from 0, as a whole number'

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

const json = { anyOf: [{ type: 'integer', minimum: 0 }, { type: 'string', pattern: '^\\d+$' }, reference] }

const LAST = 2n ** 63n - 1n

const offsetRange: Item<OffsetRange, WrittenRange> = {
  allowed: '{start: offset, end: offset}, the end itself left out; one of the two may be missing',
  json: { type: 'object', properties: { start: json, end: json }, additionalProperties: false, minProperties: 1 },
  read: (value, complain) => {
    if (!isMap(value)) {
      complain({ wrong: 'is not a map' })
      return undefined
    }
    for (const name of Object.keys(value).filter(key => key !== 'start' && key !== 'end')) {
      const near = nearMatch(name, ['start', 'end'])
      complain({ at: [name], about: 'field', wrong: 'is not a known key', allowed: 'start, end', near })
    }
    const start = readBound(value, 'start', complain)
    const end = readBound(value, 'end', complain)
    if (Object.keys(value).length === 0) complain({ about: 'field', wrong: 'has neither start nor end' })
    if (start !== undefined && end !== undefined && start >= end) {
      complain({ about: 'field', wrong: 'selects nothing: its start is not below its end', allowed: undefined })
    }
    return { ...(start !== undefined && { start }), ...(end !== undefined && { end }) }
  },
}

/** The fields of `restore` that say which records of the backup are restored. */
export const selectionFields = {
  generation: integer({
    description: 'The state of the backup to restore, as `list --generations` numbers them. Without it: the newest.',
    min: 1,
  }).exactOptional(),
  as_of: time({
    description:
      'Restores the newest complete generation that was committed by this time, instead of `generation`. The times of records do ' +
      'not matter.',
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
  filter: filterSchema.exactOptional(),
}

/** Offsets from `start` up to but without `end`; an end that is not given is that of the backup. */
export interface OffsetRange {
  readonly start?: bigint
  readonly end?: bigint
}

/** As a program may write it: a large offset is a bigint or a text. */
export interface WrittenRange {
  readonly start?: Offset
  readonly end?: Offset
}

type Offset = number | bigint | string

function readBound(range: Record<string, unknown>, name: 'start' | 'end', complain: Complain): bigint | undefined {
  if (!Object.hasOwn(range, name)) return undefined
  const refuse = (wrong: string, about: 'field' | 'value' = 'value') => {
    complain({ at: [name], about, wrong, allowed })
    return undefined
  }
  const value = range[name]
  if (value === null) return refuse('has no value', 'field')
  if (typeof value === 'number' && value > Number.MAX_SAFE_INTEGER) {
    return refuse('is too large to be read exactly as a number: put quotes around it')
  }
  if (!/^\d+$/.test(textOf(value))) return refuse('is not an offset')
  const offset = BigInt(textOf(value))
  return offset > LAST ? refuse('is beyond the last offset that Kafka has') : offset
}
