import type { Api } from '../wire/api.ts'
import { requestTable } from './request-table.ts'

interface DescribeUserScramCredentialsResponse {
  errorCode: number
  errorMessage: string | null
  users: {
    user: string
    errorCode: number
    errorMessage: string | null
    credentials: { mechanism: number; iterations: number }[]
  }[]
}

/**
 * DescribeUserScramCredentials v0: all users that log in with SCRAM. Salts and keys are never told. An empty list asks for all;
 * null is defined to do the same, but a broker that would refuse it never answers
 *   request  => [name TAGS] TAGS
 *   response => throttle_time_ms error_code error_message [user] TAGS
 *   user     => user error_code error_message [mechanism iterations TAGS] TAGS
 */
export const describeUserScramCredentials: Api<Record<never, never>, DescribeUserScramCredentialsResponse> = {
  ...requestTable.describeUserScramCredentials,
  encode: writer => writer.array([], () => undefined).noTags(),
  decode: reader => {
    reader.int32()
    const errorCode = reader.int16()
    const errorMessage = reader.nullableString()
    const users = reader.array(() => {
      const user = { user: reader.string(), errorCode: reader.int16(), errorMessage: reader.nullableString() }
      const credentials = reader.array(() => {
        const credential = { mechanism: reader.int8(), iterations: reader.int32() }
        reader.tags()
        return credential
      })
      reader.tags()
      return { ...user, credentials }
    })
    return { errorCode, errorMessage, users }
  },
}
