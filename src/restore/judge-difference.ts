import { effectiveSetting, isCompacted } from '../archive/effective-settings.ts'
import { isInternalTopic } from '../archive/manifest.ts'
import { type Finding, topicError, topicWarning } from '../observe/finding.ts'
import { compareSetting } from './inherited-settings.ts'
import type { RestoreOptions } from './options.ts'
import type { PlannedTopic } from './plan.ts'

type Settings = ReadonlyMap<string, string>

/** What of the source an existing topic keeps in another way. Policy, times and sizes have findings of their own. */
const TIMESTAMP_TYPE = 'message.timestamp.type'
const comparedAlways = ['retention.ms', 'retention.bytes', TIMESTAMP_TYPE]
const comparedWhereCompacted = ['delete.retention.ms', 'min.compaction.lag.ms', 'max.compaction.lag.ms']

/** Brokers take records of these topics from themselves only, and such a topic with other settings harms the cluster. */
export function judgeInternal({ name }: PlannedTopic): Finding[] {
  if (!isInternalTopic(name)) return []
  const problem = 'it belongs to Kafka itself, and brokers refuse records from clients there'
  const groups = 'committed offsets are restored as consumer groups'
  return [topicError(name, problem, `map it to another name (restore.topic_mapping), or leave it out; ${groups}`)]
}

/** Of the number of partitions that the topic has on the target, or is going to have. */
export function judgePlacement(topic: PlannedTopic, count: number): Finding[] {
  const { name, source, streams, partitions } = topic
  if (streams.some(({ keyedAmong }) => keyedAmong !== undefined)) return []
  const held = source.partitions.reduce((most, one) => Math.max(most, one.partition + 1), source.partition_count ?? 0)
  const findings: Finding[] = []
  if (partitions !== count && partitions !== held) {
    const problem = `restore.partition_count asks for ${partitions} partitions, and the topic exists and has ${count}`
    findings.push(topicWarning(name, problem, 'its partitions stay as they are'))
  }
  if (count !== held) {
    const problem =
      `it has ${count} partitions on the target and ${held} at the source: the records keep their partitions, and ` +
      'producers that place records by key write a key to another partition from now on'
    const remedy = `set restore.repartition: by_key, or use a topic with ${held} partitions`
    findings.push(topicWarning(name, problem, remedy))
  }
  return findings
}

/** Of a topic that the restore does not create: it keeps its settings, whatever the source and the job say. */
export function judgeDifferences(
  topic: PlannedTopic,
  settings: Settings,
  { topicConfig }: Pick<RestoreOptions, 'topicConfig'>,
): Finding[] {
  const names = [...comparedAlways, ...(isCompacted(topic.source) ? comparedWhereCompacted : [])]
  const differing = names.flatMap(name => {
    const [was, here] = [effectiveSetting(topic.source, name), settings.get(name)]
    if (was === undefined || here === undefined || topicConfig.has(name)) return []
    return compareSetting(name, was, here) === 'set' ? [`${name} was ${was}, here ${here}`] : []
  })
  const ignored = [...topicConfig].flatMap(([name, value]) => {
    const here = settings.get(name)
    return here === undefined || here === value ? [] : [`${name}: ${value}, here ${here}`]
  })
  const keeps = 'the topic exists and keeps its settings'
  const isLate = (one: string) => one.startsWith(TIMESTAMP_TYPE)
  const [late, early] = [differing.filter(isLate), differing.filter(one => !isLate(one))]
  const warn = (some: readonly string[], problem: string, remedy: string) =>
    some.length === 0 ? [] : [topicWarning(topic.name, `${keeps}${problem} ${some.join('; ')}`, remedy)]
  return [
    ...warn(early, ', which differ from the source:', changeBefore),
    ...warn(late, ', which differ from the source:', changeAfter),
    ...warn(ignored, '; restore.topic_config asks for', changeAfter),
  ]
}

/** Of what decides how long records stay: changed later, it comes too late for those that expire meanwhile. */
const changeBefore =
  'change them before the restore, because records can expire while it runs, or delete the topic: the restore then creates it'
const changeAfter = 'change them after the restore, or delete the topic: the restore then creates it'

/** Of records that are added to a compacted topic: the last one of a key counts, whichever is older. */
export function judgeReplacement({ name }: PlannedTopic, settings: Settings, fullPartitions: number): Finding[] {
  if (fullPartitions === 0 || !settings.get('cleanup.policy')?.includes('compact')) return []
  const problem =
    'it is compacted and already contains records: restored records come after them and replace newer values of the same key'
  return [topicWarning(name, problem, 'map it to another name (restore.topic_mapping) to keep the current values')]
}
