import { type ErrorCode, type ErrorDetails, KafkaBackupError } from '../errors.ts'

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
  10: { name: 'MESSAGE_TOO_LARGE', code: 'KAFKA_REFUSED' },
  12: { name: 'OFFSET_METADATA_TOO_LARGE', code: 'KAFKA_REFUSED' },
  13: { name: 'NETWORK_EXCEPTION', code: 'KAFKA_NOT_READY' },
  14: { name: 'COORDINATOR_LOAD_IN_PROGRESS', code: 'KAFKA_NOT_READY' },
  15: { name: 'COORDINATOR_NOT_AVAILABLE', code: 'KAFKA_NOT_READY' },
  16: { name: 'NOT_COORDINATOR', code: 'KAFKA_NOT_READY' },
  17: { name: 'INVALID_TOPIC_EXCEPTION', code: 'KAFKA_REFUSED' },
  18: { name: 'RECORD_LIST_TOO_LARGE', code: 'KAFKA_REFUSED' },
  19: { name: 'NOT_ENOUGH_REPLICAS', code: 'KAFKA_NOT_READY' },
  20: { name: 'NOT_ENOUGH_REPLICAS_AFTER_APPEND', code: 'KAFKA_NOT_READY' },
  22: { name: 'ILLEGAL_GENERATION', code: 'GROUP_ACTIVE' },
  24: { name: 'INVALID_GROUP_ID', code: 'KAFKA_REFUSED' },
  25: { name: 'UNKNOWN_MEMBER_ID', code: 'GROUP_ACTIVE' },
  27: { name: 'REBALANCE_IN_PROGRESS', code: 'GROUP_ACTIVE' },
  28: { name: 'INVALID_COMMIT_OFFSET_SIZE', code: 'KAFKA_REFUSED' },
  29: { name: 'TOPIC_AUTHORIZATION_FAILED', code: 'KAFKA_DENIED' },
  30: { name: 'GROUP_AUTHORIZATION_FAILED', code: 'KAFKA_DENIED' },
  31: { name: 'CLUSTER_AUTHORIZATION_FAILED', code: 'KAFKA_DENIED' },
  32: { name: 'INVALID_TIMESTAMP', code: 'KAFKA_REFUSED' },
  35: { name: 'UNSUPPORTED_VERSION', code: 'KAFKA_UNSUPPORTED' },
  36: { name: 'TOPIC_ALREADY_EXISTS', code: 'KAFKA_REFUSED' },
  37: { name: 'INVALID_PARTITIONS', code: 'KAFKA_REFUSED' },
  38: { name: 'INVALID_REPLICATION_FACTOR', code: 'KAFKA_REFUSED' },
  39: { name: 'INVALID_REPLICA_ASSIGNMENT', code: 'KAFKA_REFUSED' },
  40: { name: 'INVALID_CONFIG', code: 'KAFKA_REFUSED' },
  41: { name: 'NOT_CONTROLLER', code: 'KAFKA_NOT_READY' },
  42: { name: 'INVALID_REQUEST', code: 'KAFKA_REFUSED' },
  43: { name: 'UNSUPPORTED_FOR_MESSAGE_FORMAT', code: 'KAFKA_REFUSED' },
  44: { name: 'POLICY_VIOLATION', code: 'KAFKA_REFUSED' },
  45: { name: 'OUT_OF_ORDER_SEQUENCE_NUMBER', code: 'KAFKA_REFUSED' },
  46: { name: 'DUPLICATE_SEQUENCE_NUMBER', code: 'KAFKA_REFUSED' },
  47: { name: 'INVALID_PRODUCER_EPOCH', code: 'KAFKA_REFUSED' },
  54: { name: 'SECURITY_DISABLED', code: 'KAFKA_NO_AUTHORIZER' },
  56: { name: 'KAFKA_STORAGE_ERROR', code: 'KAFKA_NOT_READY' },
  59: { name: 'UNKNOWN_PRODUCER_ID', code: 'KAFKA_REFUSED' },
  68: { name: 'NON_EMPTY_GROUP', code: 'GROUP_ACTIVE' },
  69: { name: 'GROUP_ID_NOT_FOUND', code: 'KAFKA_REFUSED' },
  72: { name: 'LISTENER_NOT_FOUND', code: 'KAFKA_NOT_READY' },
  73: { name: 'TOPIC_DELETION_DISABLED', code: 'KAFKA_REFUSED' },
  74: { name: 'FENCED_LEADER_EPOCH', code: 'KAFKA_NOT_READY' },
  75: { name: 'UNKNOWN_LEADER_EPOCH', code: 'KAFKA_NOT_READY' },
  76: { name: 'UNSUPPORTED_COMPRESSION_TYPE', code: 'KAFKA_REFUSED' },
  78: { name: 'OFFSET_NOT_AVAILABLE', code: 'KAFKA_NOT_READY' },
  86: { name: 'GROUP_SUBSCRIBED_TO_TOPIC', code: 'GROUP_ACTIVE' },
  87: { name: 'INVALID_RECORD', code: 'KAFKA_REFUSED' },
  88: { name: 'UNSTABLE_OFFSET_COMMIT', code: 'KAFKA_NOT_READY' },
  89: { name: 'THROTTLING_QUOTA_EXCEEDED', code: 'KAFKA_NOT_READY' },
  90: { name: 'PRODUCER_FENCED', code: 'KAFKA_REFUSED' },
  100: { name: 'UNKNOWN_TOPIC_ID', code: 'SOURCE_REPLACED' },
  103: { name: 'INCONSISTENT_TOPIC_ID', code: 'SOURCE_REPLACED' },
  109: { name: 'OFFSET_MOVED_TO_TIERED_STORAGE', code: 'KAFKA_NOT_READY' },
  113: { name: 'STALE_MEMBER_EPOCH', code: 'GROUP_ACTIVE' },
}

/**
 * The error for a broker's code; `doing` says what was asked of whom, as in `reading orders/3`, and `said` is what the
 * broker put into words itself. `details` has what `doing` names, as data.
 */
export function brokerError(
  errorCode: number,
  doing: string,
  said: string | null = null,
  details: ErrorDetails = {},
): KafkaBackupError {
  const known = brokerErrors[errorCode]
  const explanation = said === null || said === '' ? '' : `: ${said}`
  return new KafkaBackupError(
    known?.code ?? 'KAFKA_REFUSED',
    `${doing}: the broker answered ${brokerErrorName(errorCode)}${explanation}`,
    { details },
  )
}

/** As Kafka itself calls it, with its number: `MESSAGE_TOO_LARGE (10)`. */
function brokerErrorName(errorCode: number): string {
  return `${brokerErrors[errorCode]?.name ?? 'error'} (${errorCode})`
}
