import type { Api } from '../wire/api.ts'
import { requestTable } from './request-table.ts'

interface InitProducerIdResponse {
  throttleMs: number
  errorCode: number
  producerId: bigint
  producerEpoch: number
}

/** Without transactions the broker does not look at it. */
const NO_TRANSACTION_TIMEOUT_MS = 0x7fffffff

/**
 * InitProducerId v0 to v4, always for a new id outside of transactions, TAGS from v2 on
 *   request  => transactional_id transaction_timeout_ms producer_id (v3) producer_epoch (v3) TAGS
 *   response => throttle_time_ms error_code producer_id producer_epoch TAGS
 */
export const initProducerId: Api<Record<string, never>, InitProducerIdResponse> = {
  ...requestTable.initProducerId,
  encode: (writer, _, version) => {
    writer.string(null).int32(NO_TRANSACTION_TIMEOUT_MS)
    if (version >= 3) writer.int64(-1n).int16(-1)
    writer.noTags()
  },
  decode: reader => ({
    throttleMs: reader.int32(),
    errorCode: reader.int16(),
    producerId: reader.int64(),
    producerEpoch: reader.int16(),
  }),
}
