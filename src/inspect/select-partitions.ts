import { exactLabelOf } from '../archive/incarnation.ts'
import type { Manifest, ManifestPartition, ManifestTopic } from '../archive/manifest.ts'
import { findFault, parseSelector, selectBy } from '../archive/topic-selector.ts'
import { KafkaBackupError } from '../errors.ts'
import { compileGlob } from '../lib/glob.ts'
import { largest } from '../lib/largest.ts'

/** Which partitions of a backup are read. */
export interface TopicChoice {
  /** A name or a pattern, with `@` for another incarnation than the newest. */
  topic: string
  /** Also older incarnations of the topics, under their names with `@`. */
  allIncarnations?: boolean | undefined
  /** All where there is none. */
  partition?: number | undefined
}

interface ChosenPartition {
  topic: ManifestTopic
  partition: ManifestPartition
  /** The name under which its records are shown. */
  label: string
}

/** Pure. Throws where the choice names nothing of the backup. */
export function selectPartitions(manifest: Manifest, choice: TopicChoice): ChosenPartition[] {
  const { topics, backup_id: backupId, generation } = manifest
  const { topic: text, partition: wanted, allIncarnations = false } = choice
  const place = `generation ${generation} of backup ${backupId}`
  const labelOf = (topic: ManifestTopic) =>
    allIncarnations && topic.state === 'replaced' ? exactLabelOf(topic, topics) : topic.name
  const found = selectTopics(topics, choice, place)
  const all = found.flatMap(topic => topic.partitions.map(partition => ({ topic, partition, label: labelOf(topic) })))
  const chosen = all.filter(one => wanted === undefined || one.partition.partition === wanted)
  if (chosen.length > 0 || wanted === undefined) return chosen
  const highest = largest(all.map(({ partition: { partition } }) => partition))
  const help = `The highest partition that the backup has of it is ${highest}.`
  const details = { topic: text, partition: wanted }
  throw new KafkaBackupError('TOPIC_NOT_FOUND', `${place}: topic ${text} has no partition ${wanted}`, { details, help })
}

function selectTopics(
  topics: readonly ManifestTopic[],
  { topic: text, allIncarnations = false }: TopicChoice,
  place: string,
): ManifestTopic[] {
  const selector = parseSelector(text)
  const older = allIncarnations && selector.which === undefined ? olderOf(selector.name, topics) : []
  const found = [...selectBy(selector, topics), ...older]
  // The older ones are enough: the topic may have been deleted on the source.
  const fault = older.length > 0 ? undefined : findFault(selector, topics)
  if (found.length > 0 && fault === undefined) return found
  const help = 'kafka-backup describe lists the topics of a backup.'
  const message = `${place}: ${fault ?? `no topic of the backup matches ${text}`}`
  throw new KafkaBackupError('TOPIC_NOT_FOUND', message, { details: { topic: text }, help })
}

function olderOf(name: string, topics: readonly ManifestTopic[]): ManifestTopic[] {
  const matches = compileGlob(name)
  return topics.filter(topic => topic.state === 'replaced' && matches(topic.name))
}
