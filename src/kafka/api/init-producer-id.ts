import type { Api } from '../wire/api.ts'

interface InitProducerIdResponse {
  throttleMs: number
  errorCode: number
  producerId: bigint
  producerEpoch: number
}

/** Without transactions the broker does not look at it. */
const NO_TRANSACTION_TIMEOUT_MS = 0x7fffffff

/**
 * InitProducerId v4, always for a new id outside of transactions
 *   request  => transactional_id transaction_timeout_ms producer_id producer_epoch TAGS
 *   response => throttle_time_ms error_code producer_id producer_epoch TAGS
 */
export const initProducerId: Api<Record<string, never>, InitProducerIdResponse> = {
  name: 'InitProducerId',
  key: 22,
  version: 4,
  encode: writer => writer.string(null).int32(NO_TRANSACTION_TIMEOUT_MS).int64(-1n).int16(-1).noTags(),
  decode: reader => ({
    throttleMs: reader.int32(),
    errorCode: reader.int16(),
    producerId: reader.int64(),
    producerEpoch: reader.int16(),
  }),
}
