import type { Api } from '../wire/api.ts'
import { decodeEntity, type QuotaEntity } from './quota-entity.ts'

export interface DescribeClientQuotasResponse {
  errorCode: number
  errorMessage: string | null
  entries: { entity: QuotaEntity; values: { key: string; value: number }[] }[]
}

/**
 * DescribeClientQuotas v1: all quotas of the cluster
 *   request  => [entity_type match_type match TAGS] strict TAGS
 *   response => throttle_time_ms error_code error_message [[entity] [key value TAGS] TAGS] TAGS
 *   entity   => entity_type entity_name TAGS
 */
export const describeClientQuotas: Api<Record<never, never>, DescribeClientQuotasResponse> = {
  name: 'DescribeClientQuotas',
  key: 48,
  version: 1,
  encode: writer =>
    writer
      .array([], () => undefined)
      .boolean(false)
      .noTags(),
  decode: reader => {
    reader.int32()
    const errorCode = reader.int16()
    const errorMessage = reader.nullableString()
    const entries = reader.array(() => {
      const entity = decodeEntity(reader)
      const values = reader.array(() => {
        const pair = { key: reader.string(), value: reader.float64() }
        reader.tags()
        return pair
      })
      reader.tags()
      return { entity, values }
    })
    return { errorCode, errorMessage, entries }
  },
}
