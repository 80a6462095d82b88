import type { Api } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'
import { requestTable } from './request-table.ts'

interface DescribeAclsResponse {
  errorCode: number
  errorMessage: string | null
  acls: WireAcl[]
}

const ANY = 1

/**
 * DescribeAcls v1 to v3: all rules of the cluster; v3 knows rules on users. TAGS from v2 on
 *   request  => resource_type_filter resource_name_filter pattern_type_filter principal_filter host_filter operation
 *               permission_type TAGS
 *   response => throttle_time_ms error_code error_message [resource_type resource_name pattern_type [acl] TAGS] TAGS
 *   acl      => principal host operation permission_type TAGS
 */
export const describeAcls: Api<Record<never, never>, DescribeAclsResponse> = {
  ...requestTable.describeAcls,
  encode: writer => writer.int8(ANY).string(null).int8(ANY).string(null).string(null).int8(ANY).int8(ANY).noTags(),
  decode: reader => {
    reader.int32()
    const errorCode = reader.int16()
    const errorMessage = reader.nullableString()
    return { errorCode, errorMessage, acls: reader.array(() => decodeResource(reader)).flat() }
  },
}

function decodeResource(reader: Reader): WireAcl[] {
  const resource = { resourceType: reader.int8(), resourceName: reader.string(), patternType: reader.int8() }
  const acls = reader.array(() => {
    const acl = {
      ...resource,
      principal: reader.string(),
      host: reader.string(),
      operation: reader.int8(),
      permission: reader.int8(),
    }
    reader.tags()
    return acl
  })
  reader.tags()
  return acls
}

interface CreateAclsRequest {
  acls: readonly WireAcl[]
}

interface CreateAclsResponse {
  throttleMs: number
  /** In the order of the request. */
  results: { errorCode: number; errorMessage: string | null }[]
}

/**
 * CreateAcls v1 to v3, TAGS from v2 on; v3 knows rules on users
 *   request  => [resource_type resource_name resource_pattern_type principal host operation permission_type TAGS] TAGS
 *   response => throttle_time_ms [error_code error_message TAGS] TAGS
 */
export const createAclsApi: Api<CreateAclsRequest, CreateAclsResponse> = {
  ...requestTable.createAcls,
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

/** A rule of access, with the numbers that the protocol has for its kinds. */
export interface WireAcl {
  resourceType: number
  resourceName: string
  patternType: number
  principal: string
  host: string
  operation: number
  permission: number
}
