import { type ErrorCode, KafkaBackupError } from '../errors.ts'

/** Error codes of brokers that we can meet, by name, and what each is to us. */
const brokerErrors: Record<number, { name: string; code: ErrorCode }> = {
  [-1]: { name: 'UNKNOWN_SERVER_ERROR', code: 'KAFKA_NOT_READY' },
  1: { name: 'OFFSET_OUT_OF_RANGE', code: 'OFFSET_OUT_OF_RANGE' },
  2: { name: 'CORRUPT_MESSAGE', code: 'SOURCE_CORRUPT' },
  3: { name: 'UNKNOWN_TOPIC_OR_PARTITION', code: 'TOPIC_NOT_FOUND' },
  5: { name: 'LEADER_NOT_AVAILABLE', code: 'KAFKA_NOT_READY' },
  6: { name: 'NOT_LEADER_OR_FOLLOWER', code: 'KAFKA_NOT_READY' },
  7: { name: 'REQUEST_TIMED_OUT', code: 'KAFKA_NOT_READY' },
  8: { name: 'BROKER_NOT_AVAILABLE', code: 'KAFKA_NOT_READY' },
  9: { name: 'REPLICA_NOT_AVAILABLE', code: 'KAFKA_NOT_READY' },
  13: { name: 'NETWORK_EXCEPTION', code: 'KAFKA_NOT_READY' },
  14: { name: 'COORDINATOR_LOAD_IN_PROGRESS', code: 'KAFKA_NOT_READY' },
  17: { name: 'INVALID_TOPIC_EXCEPTION', code: 'KAFKA_REFUSED' },
  29: { name: 'TOPIC_AUTHORIZATION_FAILED', code: 'KAFKA_DENIED' },
  31: { name: 'CLUSTER_AUTHORIZATION_FAILED', code: 'KAFKA_DENIED' },
  35: { name: 'UNSUPPORTED_VERSION', code: 'KAFKA_UNSUPPORTED' },
  56: { name: 'KAFKA_STORAGE_ERROR', code: 'KAFKA_NOT_READY' },
  72: { name: 'LISTENER_NOT_FOUND', code: 'KAFKA_NOT_READY' },
  74: { name: 'FENCED_LEADER_EPOCH', code: 'KAFKA_NOT_READY' },
  75: { name: 'UNKNOWN_LEADER_EPOCH', code: 'KAFKA_NOT_READY' },
  78: { name: 'OFFSET_NOT_AVAILABLE', code: 'KAFKA_NOT_READY' },
  100: { name: 'UNKNOWN_TOPIC_ID', code: 'SOURCE_REPLACED' },
  103: { name: 'INCONSISTENT_TOPIC_ID', code: 'SOURCE_REPLACED' },
}

/** The error for a broker's code; `doing` says what was asked of whom, as in `reading orders/3`. */
export function brokerError(errorCode: number, doing: string): KafkaBackupError {
  const known = brokerErrors[errorCode]
  return new KafkaBackupError(
    known?.code ?? 'KAFKA_REFUSED',
    `${doing}: the broker answered ${known?.name ?? 'error'} (${errorCode})`,
  )
}
