import type { Api } from '../wire/api.ts'
import { requestTable } from './request-table.ts'

/**
 * SaslHandshake v1, which has no version with tags. Before it, the messages of a login are not Kafka requests
 *   request  => mechanism
 *   response => error_code [mechanism]
 */
export const saslHandshake: Api<{ mechanism: string }, { errorCode: number; mechanisms: string[] }> = {
  ...requestTable.saslHandshake,
  encode: (writer, request) => writer.string(request.mechanism),
  decode: reader => ({ errorCode: reader.int16(), mechanisms: reader.array(() => reader.string()) }),
}

interface SaslAnswer {
  errorCode: number
  errorMessage: string | null
  bytes: Buffer
  /** How long the login is good for; 0 where it does not end, or the broker does not tell. */
  sessionLifetimeMs: number
}

/**
 * SaslAuthenticate v0 to v2, TAGS from v2 on
 *   request  => auth_bytes TAGS
 *   response => error_code error_message auth_bytes session_lifetime_ms (v1) TAGS
 */
export const saslAuthenticate: Api<{ bytes: Buffer }, SaslAnswer> = {
  ...requestTable.saslAuthenticate,
  encode: (writer, { bytes }) => writer.bytes(bytes).noTags(),
  decode: (reader, version) => {
    const errorCode = reader.int16()
    const errorMessage = reader.nullableString()
    const { start, end } = reader.bytesRange()
    const bytes = Buffer.from(reader.buffer.subarray(start, end))
    const sessionLifetimeMs = version >= 1 ? Number(reader.int64()) : 0
    return { errorCode, errorMessage, bytes, sessionLifetimeMs }
  },
}
