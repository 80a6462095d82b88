import type { Readable } from 'node:stream'
import { copyBody } from '../../lib/copy-body.ts'
import { takeMemory } from '../../lib/recycled-memory.ts'

/**
 * The body of a response. One that is streamed states no length and is read to its end. `assertFits` throws where the size
 * is too large, before memory is allocated for it.
 */
export async function readBody(
  body: Readable,
  stated: number | undefined,
  assertFits: (bytes: number) => unknown,
): Promise<Buffer> {
  try {
    assertFits(stated ?? 0)
    return stated === undefined ? await readChunks(body, assertFits) : await readStated(body, stated)
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
