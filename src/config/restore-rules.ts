import { compileGlobs } from '../lib/glob.ts'
import { isMap, type Problem, valueAt } from './problem.ts'
import { parseTime } from './time-leaf.ts'

type Fields = Record<string, unknown>

/** The rules of a restore that span fields; see `registry-rules.ts` for why they look at plain data. */
export function checkRestoreRules(tree: unknown): Problem[] {
  const restore = valueAt(tree, ['restore'])
  if (!isMap(restore)) return []
  return [
    ...checkWindow(restore),
    ...checkTargets(restore),
    ...checkSelected(restore),
    ...checkPlacement(restore),
    ...checkCreation(restore),
  ]
}

function checkWindow({ time_window_start, time_window_end }: Fields): Problem[] {
  if (time_window_start === undefined || time_window_end === undefined) return []
  const [start, end] = [parseTime(time_window_start), parseTime(time_window_end)]
  if (typeof start !== 'bigint' || typeof end !== 'bigint' || start < end) return []
  return [about(['time_window_end'], 'is not after time_window_start, so that no record is in the window')]
}

function checkTargets(restore: Fields): Problem[] {
  const first = new Map<unknown, string>()
  return entriesOf(restore, 'topic_mapping').flatMap(([source, target]) => {
    const other = first.get(target)
    if (other === undefined) {
      first.set(target, source)
      return []
    }
    return [about(['topic_mapping', source], `goes to ${String(target)}, where ${other} goes already`)]
  })
}

/** What is said of a topic or partition that is not restored would be ignored. */
function checkSelected(restore: Fields): Problem[] {
  const included = compileGlobs(textsAt(restore, 'include') ?? ['*'])
  const excluded = compileGlobs(textsAt(restore, 'exclude') ?? [])
  const topicRules = ['topic_mapping', 'partitions', 'partition_count', 'partition_mapping'] as const
  const named = topicRules.flatMap(field => entriesOf(restore, field).map(([key]) => ({ field, key, topic: key })))
  const ranges = entriesOf(restore, 'offset_ranges').map(([key]) => {
    const [topic = '', partition = ''] = key.split('/')
    return { field: 'offset_ranges', key, topic, partition }
  })
  const moved = entriesOf(restore, 'partition_mapping').flatMap(([topic, pairs]) =>
    Object.keys(isMap(pairs) ? pairs : {}).map(partition => ({ topic, partition })),
  )
  const isLeftOut = ({ topic, partition }: { topic: string; partition: string }) => {
    const only = valueAt(restore, ['partitions', topic])
    return Array.isArray(only) && !only.map(String).includes(partition)
  }
  return [
    ...[...named, ...ranges]
      .filter(({ topic }) => !included(topic) || excluded(topic))
      .map(({ field, key, topic }) => about([field, key], `has no effect: restore.topics leaves ${topic} out`)),
    ...ranges
      .filter(isLeftOut)
      .map(({ field, key }) => about([field, key], 'has no effect: restore.partitions leaves the partition out')),
    ...moved
      .filter(isLeftOut)
      .map(({ topic, partition }) =>
        about(['partition_mapping', topic, partition], 'has no effect: restore.partitions leaves the partition out'),
      ),
  ]
}

function checkPlacement(restore: Fields): Problem[] {
  return entriesOf(restore, 'partition_mapping').flatMap(([topic, pairs]) => {
    if (restore.repartition === 'by_key') {
      const wrong = `contradicts repartition by_key, which places the records of ${topic} by their keys; keep one of the two`
      return [about(['partition_mapping', topic], wrong)]
    }
    const count = valueAt(restore, ['partition_count', topic])
    return Object.entries(isMap(pairs) ? pairs : {})
      .filter(([, to]) => count !== undefined && Number(to) >= Number(count))
      .map(([from, to]) =>
        about(
          ['partition_mapping', topic, from],
          `goes to partition ${to}, but partition_count gives ${topic} ${count}`,
        ),
      )
  })
}

function checkCreation(restore: Fields): Problem[] {
  if (String(restore.create_topics) !== 'false') return []
  return ['replication_factor', 'topic_config']
    .filter(name => restore[name] !== undefined)
    .map(name => about([name], 'has no effect with create_topics: false'))
}

function entriesOf(restore: Fields, field: string): [string, unknown][] {
  const map = restore[field]
  return isMap(map) ? Object.entries(map) : []
}

function textsAt(restore: Fields, name: 'include' | 'exclude'): string[] | undefined {
  const list = valueAt(restore, ['topics', name])
  return Array.isArray(list) ? list.map(String) : undefined
}

function about(path: string[], wrong: string): Problem {
  return { path: ['restore', ...path], about: 'field', wrong }
}
