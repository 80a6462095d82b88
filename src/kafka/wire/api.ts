import type { Reader } from './reader.ts'
import type { Writer } from './writer.ts'

/** A kind of request, with the versions of it that this client can use. */
export interface ApiVersions {
  name: string
  key: number
  oldest: number
  newest: number
  /** The first version with the flexible encoding: compact lengths, and tags in the headers and at each level. */
  flexibleFrom: number
}

/** A request and its answer, in the version that the two sides agreed on. */
export interface Api<Request, Response> extends ApiVersions {
  encode(writer: Writer, request: Request, version: number): void
  /** The request is what was asked: some answers do not repeat it. */
  decode(reader: Reader, version: number, request: Request): Response
  /** Before this version a request asks for one thing: one is sent for each, and the answers are joined. */
  oneByOne?: {
    before: number
    split(request: Request): Request[]
    join(responses: Response[]): Response
  }
}
