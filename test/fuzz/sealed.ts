import { sealJson } from '../../src/archive/seal.ts'
import { parseJson } from '../../src/lib/json.ts'

/** With the right seal: a hostile writer can make one. */
export function sealed(document: string): Buffer {
  try {
    const { checksum: _, ...rest } = parseJson(document) as Record<string, unknown>
    return sealJson(rest)
  } catch {
    return Buffer.from(document)
  }
}
