import type { Reader } from './reader.ts'
import type { Writer } from './writer.ts'

/** One kind of request in the one version that we speak. */
export interface Api<Request, Response> {
  name: string
  key: number
  version: number
  /** The version is older than the flexible encoding: neither its headers nor its fields have tags. */
  isLegacy?: true
  encode(writer: Writer, request: Request): void
  decode(reader: Reader): Response
}
