import type { Api } from '../wire/api.ts'
import type { WireAcl } from './wire-acl.ts'

export interface CreateAclsRequest {
  acls: readonly WireAcl[]
}

export interface CreateAclsResponse {
  throttleMs: number
  /** In the order of the request. */
  results: { errorCode: number; errorMessage: string | null }[]
}

/**
 * CreateAcls v3
 *   request  => [resource_type resource_name resource_pattern_type principal host operation permission_type TAGS] TAGS
 *   response => throttle_time_ms [error_code error_message TAGS] TAGS
 */
export const createAclsApi: Api<CreateAclsRequest, CreateAclsResponse> = {
  name: 'CreateAcls',
  key: 30,
  version: 3,
  encode: (writer, { acls }) =>
    writer
      .array(acls, acl =>
        writer
          .int8(acl.resourceType)
          .string(acl.resourceName)
          .int8(acl.patternType)
          .string(acl.principal)
          .string(acl.host)
          .int8(acl.operation)
          .int8(acl.permission)
          .noTags(),
      )
      .noTags(),
  decode: reader => ({
    throttleMs: reader.int32(),
    results: reader.array(() => {
      const result = { errorCode: reader.int16(), errorMessage: reader.nullableString() }
      reader.tags()
      return result
    }),
  }),
}

/** CreateAcls v2, of brokers that do not know rules on users: the same fields. */
export const createAclsBeforeUsers: typeof createAclsApi = { ...createAclsApi, version: 2 }
