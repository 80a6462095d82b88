import { KafkaBackupError } from '../errors.ts'
import { type MetadataTopic, NO_TOPIC_ID } from '../kafka/api/metadata.ts'
import { isIdOfName } from '../kafka/named-topic-id.ts'

/** Undefined where brokers give topics no IDs, as before Kafka 2.8. */
export function givenId({ id, name }: Pick<MetadataTopic, 'id' | 'name'>): string | undefined {
  return id === '' || id === NO_TOPIC_ID || isIdOfName(id, name) ? undefined : id
}

/** Whether another topic has the name by now; not known where one of the IDs is not. */
export function isReplaced(noted: string | undefined, now: Pick<MetadataTopic, 'id' | 'name'>): boolean {
  const id = givenId(now)
  return noted !== undefined && id !== undefined && id !== noted
}

/** During a run, or between its survey and its first record. */
export function replacedError(topic: string, isShared: boolean): KafkaBackupError {
  const message = `topic ${topic} was deleted and created again after this restore had begun to fill it: what it had written is gone`
  const own = 'Delete the topic, and run the same command again: it fills this topic again and leaves the others alone.'
  const other =
    'Set another name for it in restore.topic_mapping, and another restore.restore_id, and run the restore again.'
  return new KafkaBackupError('RESTORE_CONFLICT', message, { help: isShared ? other : own, details: { topic } })
}
