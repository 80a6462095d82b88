import type { Readable } from 'node:stream'
import { copyBody } from '../../lib/copy-body.ts'
import { takeMemory } from '../../lib/recycled-memory.ts'
import { type ByteRange, cutRange, parseContentRange, type ReceivedBytes } from './api.ts'

/** The response to a request for an object or a range of it. */
interface ObjectResponse {
  body: Readable
  contentLength: number | undefined
  contentRange: string | undefined
}

/**
 * The bytes that were wanted from the body of a response. One that is streamed states no length and is read to its end. `assertFits`
 * throws where the size is too large, before memory is allocated for it.
 */
export async function readBody(
  { body, contentLength, contentRange }: ObjectResponse,
  wanted: ByteRange | undefined,
  assertFits: (bytes: number) => unknown,
): Promise<ReceivedBytes> {
  try {
    const part = parseContentRange(contentRange, wanted)
    const stated = contentLength ?? part?.length
    assertFits(stated ?? 0)
    const bytes = stated === undefined ? await readChunks(body, assertFits) : await readStated(body, stated)
    return { bytes: cutRange(bytes, wanted, part !== undefined), isMeasured: stated !== undefined }
  } catch (error) {
    // A body that is not read would keep its connection.
    body.destroy()
    throw error
  }
}

async function readStated(body: Readable, stated: number): Promise<Buffer> {
  const bytes = takeMemory(stated)
  if ((await copyBody(body, bytes)) === stated) return bytes
  throw Object.assign(new Error('the response ended early'), { code: 'ECONNRESET' })
}

async function readChunks(body: Readable, assertFits: (bytes: number) => unknown): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    assertFits(bytes)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
