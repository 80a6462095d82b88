import type { Api } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'
import type { Writer } from '../wire/writer.ts'
import { requestTable } from './request-table.ts'

interface DescribeClientQuotasResponse {
  errorCode: number
  errorMessage: string | null
  entries: { entity: QuotaEntity; values: { key: string; value: number }[] }[]
}

/**
 * DescribeClientQuotas v0 and v1, the latter with TAGS: all quotas of the cluster
 *   request  => [entity_type match_type match TAGS] strict TAGS
 *   response => throttle_time_ms error_code error_message [[entity] [key value TAGS] TAGS] TAGS
 *   entity   => entity_type entity_name TAGS
 */
export const describeClientQuotas: Api<Record<never, never>, DescribeClientQuotasResponse> = {
  ...requestTable.describeClientQuotas,
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

interface AlterClientQuotasRequest {
  entries: readonly { entity: QuotaEntity; values: readonly { key: string; value: number }[] }[]
  /** Checks everything and changes nothing. */
  validateOnly: boolean
}

interface AlterClientQuotasResponse {
  throttleMs: number
  entries: { entity: QuotaEntity; errorCode: number; errorMessage: string | null }[]
}

/**
 * AlterClientQuotas v0 and v1, the latter with TAGS: keys that are not named stay; of one entity all are set or none. This client removes none
 *   request  => [[entity] [key value remove TAGS] TAGS] validate_only TAGS
 *   response => throttle_time_ms [error_code error_message [entity] TAGS] TAGS
 *   entity   => entity_type entity_name TAGS
 */
export const alterClientQuotas: Api<AlterClientQuotasRequest, AlterClientQuotasResponse> = {
  ...requestTable.alterClientQuotas,
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

/** Whom a quota is for: one part, or two for a client of a user. */
export type QuotaEntity = QuotaEntityPart[]

interface QuotaEntityPart {
  /** `user`, `client-id`, `ip`. */
  type: string
  /** Null is the default for entities without a quota. */
  name: string | null
}

function decodeEntity(reader: Reader): QuotaEntity {
  return reader.array(() => {
    const part = { type: reader.string(), name: reader.nullableString() }
    reader.tags()
    return part
  })
}

function encodeEntity(writer: Writer, entity: QuotaEntity): void {
  writer.array(entity, ({ type, name }) => writer.string(type).string(name).noTags())
}
