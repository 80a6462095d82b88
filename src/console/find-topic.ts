import { labelOf } from '../archive/incarnation.ts'
import type { ManifestPartition, ManifestTopic } from '../archive/manifest.ts'
import { KafkaBackupError } from '../errors.ts'
import type { OpenedBackup } from './archive-reader.ts'

/** A topic of a backup with its label, which is its name unless a newer incarnation has that. */
export interface FoundTopic {
  topic: ManifestTopic
  label: string
}

/** Looks a label up among the topics of the backup. */
export function findTopic({ manifest }: Pick<OpenedBackup, 'manifest'>, label: string): FoundTopic {
  const { topics, backup_id, generation } = manifest
  const [name] = label.split('@')
  const topic = topics.find(one => one.name === name && labelOf(one, topics) === label)
  if (topic) return { topic, label }
  const message = `generation ${generation} of backup ${backup_id} holds no topic ${label.slice(0, 260)}`
  throw new KafkaBackupError('TOPIC_NOT_FOUND', message)
}

/** The incarnations of the same name, the current one included. */
export function incarnationsOf({ manifest }: Pick<OpenedBackup, 'manifest'>, { topic }: FoundTopic): FoundTopic[] {
  const { topics } = manifest
  return topics.filter(({ name }) => name === topic.name).map(one => ({ topic: one, label: labelOf(one, topics) }))
}

export function findPartition({ topic, label }: FoundTopic, number: number): ManifestPartition {
  const partition = topic.partitions.find(one => one.partition === number)
  if (partition) return partition
  throw new KafkaBackupError('TOPIC_NOT_FOUND', `topic ${label} has no partition ${number} in this backup`)
}
