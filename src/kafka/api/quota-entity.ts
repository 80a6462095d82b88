import type { Reader } from '../wire/reader.ts'
import type { Writer } from '../wire/writer.ts'

/** Whom a quota is for: one part, or two for a client of a user. */
export type QuotaEntity = QuotaEntityPart[]

export interface QuotaEntityPart {
  /** `user`, `client-id`, `ip`. */
  type: string
  /** Null is the default of all that have no quota of their own. */
  name: string | null
}

export function decodeEntity(reader: Reader): QuotaEntity {
  return reader.array(() => {
    const part = { type: reader.string(), name: reader.nullableString() }
    reader.tags()
    return part
  })
}

export function encodeEntity(writer: Writer, entity: QuotaEntity): void {
  writer.array(entity, ({ type, name }) => writer.string(type).string(name).noTags())
}
