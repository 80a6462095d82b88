import type { Api } from '../wire/api.ts'
import { decodeEntity, encodeEntity, type QuotaEntity } from './quota-entity.ts'

export interface AlterClientQuotasRequest {
  entries: readonly { entity: QuotaEntity; values: readonly { key: string; value: number }[] }[]
  /** Checks everything and changes nothing. */
  validateOnly: boolean
}

export interface AlterClientQuotasResponse {
  throttleMs: number
  entries: { entity: QuotaEntity; errorCode: number; errorMessage: string | null }[]
}

/**
 * AlterClientQuotas v1: keys that are not named stay; of one entity all are set or none. This client removes none
 *   request  => [[entity] [key value remove TAGS] TAGS] validate_only TAGS
 *   response => throttle_time_ms [error_code error_message [entity] TAGS] TAGS
 *   entity   => entity_type entity_name TAGS
 */
export const alterClientQuotas: Api<AlterClientQuotasRequest, AlterClientQuotasResponse> = {
  name: 'AlterClientQuotas',
  key: 49,
  version: 1,
  encode: (writer, { entries, validateOnly }) =>
    writer
      .array(entries, ({ entity, values }) => {
        encodeEntity(writer, entity)
        writer.array(values, ({ key, value }) => writer.string(key).float64(value).boolean(false).noTags()).noTags()
      })
      .boolean(validateOnly)
      .noTags(),
  decode: reader => ({
    throttleMs: reader.int32(),
    entries: reader.array(() => {
      const [errorCode, errorMessage] = [reader.int16(), reader.nullableString()]
      const entity = decodeEntity(reader)
      reader.tags()
      return { entity, errorCode, errorMessage }
    }),
  }),
}
