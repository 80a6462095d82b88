import type { Api } from '../wire/api.ts'
import { requestTable } from './request-table.ts'

interface DescribedCluster {
  errorCode: number
  errorMessage: string | null
  /** Bits by operation code. */
  authorizedOperations: number
}

/**
 * DescribeCluster v0, for what we may do to the cluster itself
 *   request  => include_cluster_authorized_operations TAGS
 *   response => throttle_time_ms error_code error_message cluster_id controller_id [broker_id host port rack TAGS]
 *               cluster_authorized_operations TAGS
 */
export const describeCluster: Api<Record<never, never>, DescribedCluster> = {
  ...requestTable.describeCluster,
  encode: writer => writer.boolean(true).noTags(),
  decode: reader => {
    reader.int32()
    const errorCode = reader.int16()
    const errorMessage = reader.nullableString()
    reader.string()
    reader.int32()
    reader.array(() => {
      reader.int32()
      reader.string()
      reader.int32()
      reader.nullableString()
      reader.tags()
    })
    return { errorCode, errorMessage, authorizedOperations: reader.int32() }
  },
}
