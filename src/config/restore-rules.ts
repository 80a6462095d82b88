import { compileGlobs, isPattern } from '../lib/glob.ts'
import { numberOf } from '../lib/json.ts'
import { parseTime } from '../lib/point-in-time.ts'
import { all, any, checkRules, empty, type FieldRule, forbidden, has, is, not, off } from './field-rules.ts'
import {
  nameOf,
  partitionNumber,
  storedTopicName,
  storedTopicPartition,
  storedTopicPattern,
} from './kafka-text-rules.ts'
import { isMap, type Problem, valueAt } from './problem.ts'

type Fields = Record<string, unknown>

/**
 * The rules of a restore that span fields; see `registry-rules.ts` for why they look at plain data. Messages name keys
 * but no values, which may come from variables.
 */
export function checkRestoreRules(tree: unknown): Problem[] {
  const restore = valueAt(tree, ['restore'])
  if (!isMap(restore)) return []
  return [
    ...checkWindow(restore),
    ...checkTargets(restore),
    ...checkTopics(restore),
    ...checkPartitions(restore),
    ...checkPlacement(restore),
    ...checkFilter(restore),
    ...checkRules(restoreRules, restore, ['restore']),
  ]
}

function checkWindow({ time_window_start, time_window_end }: Fields): Problem[] {
  if (time_window_start === undefined || time_window_end === undefined) return []
  const [start, end] = [parseTime(time_window_start), parseTime(time_window_end)]
  if (typeof start !== 'bigint' || typeof end !== 'bigint' || start < end) return []
  return [about(['time_window_end'], 'is not after time_window_start, so that no record is in the window')]
}

/** A filter without a condition would select nothing or everything. */
function checkFilter({ filter }: Fields): Problem[] {
  if (!isMap(filter)) return []
  const conditions = ['keys', 'key_prefixes', 'headers', 'texts', 'where']
  // What is not a list is refused elsewhere.
  const isGiven = (value: unknown) => value !== undefined && !(Array.isArray(value) && value.length === 0)
  if (conditions.some(name => isGiven(filter[name]))) return []
  return [about(['filter'], 'has no condition: give keys, key_prefixes, headers, texts or where, or leave it out')]
}

function checkTargets(restore: Fields): Problem[] {
  const mapping = new Map(entriesOf(restore, 'topic_mapping'))
  const isTaken = selectionOf(restore)
  const named = textsAt(restore, 'include').filter(topic => !isPattern(topic))
  const kept = new Set(named.filter(topic => isTaken(topic) && !mapping.has(topic)))
  const first = new Map<string, string>()
  return [...mapping].flatMap(([source, target]) => {
    if (typeof target !== 'string') return []
    const path = ['topic_mapping', source]
    if (kept.has(target)) return [about(path, 'goes to a topic of restore.topics.include that keeps its own name')]
    const other = first.get(target)
    if (other !== undefined) return [about(path, `goes to the same topic as ${other}`)]
    first.set(target, source)
    return []
  })
}

/** What is said of a topic that is not restored would be ignored. */
function checkTopics(restore: Fields): Problem[] {
  const isTaken = selectionOf(restore)
  const byTopic = ['topic_mapping', 'partitions', 'partition_count', 'partition_mapping'].flatMap(field =>
    entriesOf(restore, field).map(([key]) => ({ field, key, topic: key })),
  )
  const byPartition = rangesOf(restore).map(({ key, topic }) => ({ field: 'offset_ranges', key, topic }))
  return [...byTopic, ...byPartition]
    .filter(({ topic }) => storedTopicName.wrong(topic) === undefined && !isTaken(topic))
    .map(({ field, key, topic }) => about([field, key], `has no effect: restore.topics leaves ${topic} out`))
}

/** And so what is said of a partition. */
function checkPartitions(restore: Fields): Problem[] {
  const ranges = rangesOf(restore).map(range => ({ ...range, path: ['offset_ranges', range.key] }))
  const moved = entriesOf(restore, 'partition_mapping').flatMap(([topic, pairs]) =>
    keysOf(pairs).map(partition => ({ topic, partition, path: ['partition_mapping', topic, partition] })),
  )
  return [...ranges, ...moved]
    .filter(({ topic, partition }) => {
      const only = valueAt(restore, ['partitions', topic])
      return partitionNumber.wrong(partition) === undefined && Array.isArray(only) && !contains(only, partition)
    })
    .map(({ path }) => about(path, 'has no effect: restore.partitions leaves the partition out'))
}

function checkPlacement(restore: Fields): Problem[] {
  return entriesOf(restore, 'partition_mapping').flatMap(([topic, pairs]) => {
    const count = valueAt(restore, ['partition_count', topic])
    return Object.entries(isMap(pairs) ? pairs : {})
      .filter(([, to]) => count !== undefined && numberOf(to) >= numberOf(count))
      .map(([from]) =>
        about(
          ['partition_mapping', topic, from],
          `goes to a partition that ${topic} does not have with its partition_count`,
        ),
      )
  })
}

export const restoreRules: readonly FieldRule[] = [
  forbidden(
    'as_of',
    not(has('generation')),
    'selects a state of the backup, as {generation} does; keep one of the two',
  ),
  forbidden(
    'partition_mapping',
    any(not(all(has('repartition'), is('repartition', 'by_key'))), empty('partition_mapping')),
    'contradicts {repartition} by_key, which places records by their keys; keep one of the two',
  ),
  // Settings of topics that the restore creates.
  ...['replication_factor', 'topic_config'].map(name =>
    forbidden(name, not(off('create_topics')), 'has no effect with {create_topics}: false'),
  ),
]

function entriesOf(restore: Fields, field: string): [string, unknown][] {
  const map = restore[field]
  return isMap(map) ? Object.entries(map) : []
}

function keysOf(map: unknown): string[] {
  return isMap(map) ? Object.keys(map) : []
}

function rangesOf(restore: Fields): { key: string; topic: string; partition: string }[] {
  return entriesOf(restore, 'offset_ranges')
    .filter(([key]) => storedTopicPartition.wrong(key) === undefined)
    .map(([key]) => {
      const slash = key.lastIndexOf('/')
      const [topic, partition] = [key.slice(0, slash), key.slice(slash + 1)]
      return { key, topic, partition }
    })
}

function contains(partitions: readonly unknown[], partition: string): boolean {
  return partitions.some(each => numberOf(each) === numberOf(partition))
}

/** Whether a topic is restored; where the patterns are wrong themselves, every topic is. */
function selectionOf(restore: Fields): (topic: string) => boolean {
  const [include, exclude] = [textsAt(restore, 'include', ['*']), textsAt(restore, 'exclude')]
  if ([...include, ...exclude].some(pattern => storedTopicPattern.wrong(pattern) !== undefined)) return () => true
  // Which incarnations there are, only the backup tells.
  const isIncluded = compileGlobs(include.map(nameOf))
  const isExcluded = compileGlobs(exclude.filter(entry => nameOf(entry) === entry))
  return topic => isIncluded(nameOf(topic)) && !isExcluded(nameOf(topic))
}

function textsAt(restore: Fields, name: 'include' | 'exclude', fallback: string[] = []): string[] {
  const list = valueAt(restore, ['topics', name])
  return Array.isArray(list) ? list.map(String) : fallback
}

function about(path: string[], wrong: string): Problem {
  return { path: ['restore', ...path], about: 'field', wrong }
}
