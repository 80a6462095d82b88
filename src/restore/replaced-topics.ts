import { KafkaBackupError } from '../errors.ts'

export { givenId, isReplaced } from '../kafka/given-topic-id.ts'

/** During a run, or between its survey and its first record. */
export function replacedError(topic: string, isShared: boolean): KafkaBackupError {
  return lostTopicError(topic, 'was deleted and created again', isShared, `Delete the topic, and ${AGAIN}`)
}

/** The target has no topic of the name any more. */
export function deletedError(topic: string, isShared: boolean): KafkaBackupError {
  return lostTopicError(topic, 'was deleted', isShared, `To restore it, ${AGAIN}`)
}

const AGAIN = 'run the same command again: it fills this topic again and leaves the others alone.'

function lostTopicError(topic: string, what: string, isShared: boolean, own: string): KafkaBackupError {
  const message = `topic ${topic} ${what} after this restore had begun to fill it: what it had written is gone`
  const other =
    'Set another name for it in restore.topic_mapping, and another restore.restore_id, and run the restore again.'
  return new KafkaBackupError('RESTORE_CONFLICT', message, { help: isShared ? other : own, details: { topic } })
}
