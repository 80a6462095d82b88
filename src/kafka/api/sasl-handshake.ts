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
