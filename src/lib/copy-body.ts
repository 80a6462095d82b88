import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { freeChunk } from './recycled-memory.ts'

/**
 * Copies a body of stated length into memory, and returns how many bytes came. What the runtime has received them in is freed on the way: the
 * collector would leave tens of megabytes of it. Rejects where the body fails or is closed before its end.
 */
export async function copyBody(body: Readable, target: Buffer): Promise<number> {
  let filled = 0
  const copied = new LastChunk()
  const received = new LastChunk()
  const onReceived = (chunk: Buffer) => received.replace(chunk)
  // The parser of HTTP copies what it takes out of the chunks of the socket. Of a body that is complete the socket may serve another request.
  const { socket, complete } = body as Partial<IncomingMessage>
  if (complete === false) socket?.on('data', onReceived)
  body.on('data', (chunk: Buffer) => {
    filled += chunk.copy(target, filled)
    copied.replace(chunk)
  })
  try {
    await finished(body)
  } finally {
    socket?.off('data', onReceived)
  }
  copied.free()
  received.free()
  return filled
}

/** Frees a chunk when the next one comes: until then it is still read. */
class LastChunk {
  #chunk: Buffer | undefined

  replace(chunk: Buffer): void {
    this.free()
    this.#chunk = chunk
  }

  free(): void {
    if (this.#chunk) freeChunk(this.#chunk)
    this.#chunk = undefined
  }
}
