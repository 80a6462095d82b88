import type { Api } from '../wire/api.ts'

/**
 * SaslHandshake v1, the one request here without the flexible encoding
 *   request  => mechanism STRING
 *   response => error_code [mechanism STRING]
 */
export const saslHandshake: Api<{ mechanism: string }, { errorCode: number; mechanisms: string[] }> = {
  name: 'SaslHandshake',
  key: 17,
  version: 1,
  isLegacy: true,
  encode: (writer, request) => writer.legacyString(request.mechanism),
  decode: reader => ({ errorCode: reader.int16(), mechanisms: reader.legacyArray(() => reader.legacyString()) }),
}

interface SaslAnswer {
  errorCode: number
  errorMessage: string | null
  bytes: Buffer
  /** How long the login is good for; 0 where it does not end. */
  sessionLifetimeMs: number
}

/**
 * SaslAuthenticate v2
 *   request  => auth_bytes TAGS
 *   response => error_code error_message auth_bytes session_lifetime_ms TAGS
 */
export const saslAuthenticate: Api<{ bytes: Buffer }, SaslAnswer> = {
  name: 'SaslAuthenticate',
  key: 36,
  version: 2,
  encode: (writer, { bytes }) =>
    writer
      .uvarint(bytes.length + 1)
      .raw(bytes)
      .noTags(),
  decode: reader => {
    const errorCode = reader.int16()
    const errorMessage = reader.nullableString()
    const { start, end } = reader.bytesRange()
    const bytes = Buffer.from(reader.buffer.subarray(start, end))
    return { errorCode, errorMessage, bytes, sessionLifetimeMs: Number(reader.int64()) }
  },
}
