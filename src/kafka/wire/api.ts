import type { Reader } from './reader.ts'
import type { Writer } from './writer.ts'

/** One kind of request in the one version that we speak; every version used here has the flexible encoding. */
export interface Api<Request, Response> {
  name: string
  key: number
  version: number
  encode(writer: Writer, request: Request): void
  decode(reader: Reader): Response
}
