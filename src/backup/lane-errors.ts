import { KafkaBackupError } from '../errors.ts'
import { brokerError } from '../kafka/broker-errors.ts'
import type { Chunk } from './chunk.ts'
import type { AnswerPart } from './fetch-position.ts'
import { TruncationError } from './find-truncation.ts'
import type { PartitionCopy } from './partition-copy.ts'

const OFFSET_OUT_OF_RANGE = 1

export function unreadable(copy: PartitionCopy): KafkaBackupError {
  const range = `${copy.position} to ${copy.end}`
  return new KafkaBackupError(
    'SOURCE_UNREADABLE',
    `${copy.name}: the broker returns nothing for the offsets ${range}`,
    {
      details: { ...copy.details, offset: copy.position },
    },
  )
}

export function notThere(copy: PartitionCopy, part: AnswerPart | undefined): KafkaBackupError {
  const stable = part ? `has decided offsets up to ${part.lastStableOffset}` : 'does not answer for it'
  const remote = copy.isTiered ? '; the topic is tiered, so see the remote storage of the broker' : ''
  const message = `${copy.name}: no whole batch comes at offset ${copy.position} of ${copy.end}; the broker ${stable}${remote}`
  return new KafkaBackupError('KAFKA_NOT_READY', message, { details: { ...copy.details, offset: copy.position } })
}

export function partError(copy: PartitionCopy, part: AnswerPart): KafkaBackupError | undefined {
  if (part.errorCode !== 0) return brokerError(part.errorCode, `reading ${copy.name}`, null, copy.details)
  if (part.divergesAt === undefined) return undefined
  const history = `the history that this backup holds up to ${copy.position} is not the source's any more`
  const message = `${copy.name}: ${history}; they part at offset ${part.divergesAt} at the latest`
  return new TruncationError(copy.topic, message)
}

export function otherTail(copy: PartitionCopy): KafkaBackupError {
  const message = `${copy.name} has another history than this backup: the batch before offset ${copy.position} is not the one that is stored`
  return new TruncationError(copy.topic, message)
}

/** The bounds of the partition are then asked for again. */
export function lostTail(copy: PartitionCopy): KafkaBackupError {
  return brokerError(OFFSET_OUT_OF_RANGE, `reading ${copy.name}`, null, copy.details)
}

/** Epochs only ever rise within a log: a batch of a lower one is from another history than what is stored before it. */
export function olderEpoch(copy: PartitionCopy, { headers }: Chunk, storedEpoch: number): KafkaBackupError | undefined {
  const [first] = headers
  if (!first || first.leaderEpoch < 0 || first.leaderEpoch >= storedEpoch) return undefined
  const [epoch, offset] = [first.leaderEpoch, first.baseOffset]
  const message = `${copy.name}: the batch at offset ${offset} has leader epoch ${epoch}, but this backup holds epoch ${storedEpoch} before it`
  return new TruncationError(copy.topic, message)
}
