import { KafkaBackupError } from '../errors.ts'

/** The source has another history than what is stored, as the copying found out. */
export class TruncationError extends KafkaBackupError {
  readonly topic: string

  constructor(topic: string, message: string) {
    super('SOURCE_TRUNCATED', message)
    this.topic = topic
  }
}

/** The topic whose truncation ended a run, also where a part of the run could be kept. */
export function truncatedTopic(error: unknown): string | undefined {
  if (error instanceof TruncationError) return error.topic
  return error instanceof KafkaBackupError && error.cause !== undefined ? truncatedTopic(error.cause) : undefined
}
