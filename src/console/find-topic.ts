import { incarnationKey, labelOf } from '../archive/incarnation.ts'
import type { ManifestPartition, ManifestTopic } from '../archive/manifest.ts'
import { KafkaBackupError } from '../errors.ts'
import type { OpenedBackup } from './archive-reader.ts'

/** A topic of a backup with its label, which is its name unless a newer incarnation has that. */
export interface FoundTopic {
  topic: ManifestTopic
  label: string
}

/** Names the same incarnation in every generation, also after the topic is created again: its label would then be that of another one. */
export function permanentLabel({ topic }: Pick<FoundTopic, 'topic'>): string {
  return `${topic.name}@${incarnationKey(topic)}`
}

/** Looks a label, or a permanent one, up among the topics of the backup. */
export function findTopic({ manifest }: Pick<OpenedBackup, 'manifest'>, label: string): FoundTopic {
  const { topics, backup_id, generation } = manifest
  const [name] = label.split('@')
  const isMeant = (one: ManifestTopic) => labelOf(one, topics) === label || permanentLabel({ topic: one }) === label
  const topic = topics.find(one => one.name === name && isMeant(one))
  if (topic) return { topic, label: labelOf(topic, topics) }
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
