/** Pieces of segments are read with these sizes. Other memory is left to the collector. */
const MIN_BYTES = 256 << 10
const MAX_BYTES = 4 << 20
/** Most memory is taken again soon after it was given back. Of more, what has waited longest is freed: it may have a size that is rarely needed. */
const MAX_FREE_BYTES = 24 << 20

const lent = new WeakSet<ArrayBufferLike>()
let free: ArrayBufferLike[] = []
let freeBytes = 0
let sharers = 0

/** Until the returned function is called, `takeMemory` returns memory that other threads can read without a copy. */
export function shareMemory(): () => void {
  if (sharers++ === 0) dropFree()
  let isEnded = false
  return () => {
    if (!isEnded && --sharers === 0) dropFree()
    isEnded = true
  }
}

/** Memory of the other kind would take the place of memory that can be used. */
function dropFree(): void {
  free = []
  freeBytes = 0
}

/**
 * Memory with any contents, used before if possible. The collector counts what buffers refer to and marks the heap again
 * for every few of them, so that reading would cost more in collections than in reading. Who never gives it back loses nothing.
 */
export function takeMemory(bytes: number): Buffer {
  if (bytes < MIN_BYTES || bytes > MAX_BYTES) return Buffer.allocUnsafeSlow(bytes)
  const size = 2 ** Math.ceil(Math.log2(bytes))
  const known = free.findLast(one => one.byteLength === size)
  if (known) {
    free = free.filter(one => one !== known)
    freeBytes -= size
  }
  const memory = known ?? (sharers > 0 ? new SharedArrayBuffer(size) : Buffer.allocUnsafeSlow(size).buffer)
  lent.add(memory)
  return Buffer.from(memory, 0, bytes)
}

/** For memory that the caller has from elsewhere and no one else uses, such as a result of the runtime: its receiver can give it back. */
export function lendMemory(bytes: Buffer): Buffer {
  // Small buffers share memory.
  if (bytes.buffer.byteLength > Buffer.poolSize) lent.add(bytes.buffer)
  return bytes
}

/**
 * For the only user of lent bytes, who keeps no part of them: they are used again, or freed at once. Memory that was not lent, and what was
 * given back already, is left alone.
 */
export function giveBackMemory(bytes: Buffer): void {
  const { buffer } = bytes
  if (!lent.delete(buffer)) return
  if (!isReusable(buffer)) {
    freeMemory(bytes)
    return
  }
  free.push(buffer)
  freeBytes += buffer.byteLength
  while (freeBytes > MAX_FREE_BYTES) freeOldest()
}

function freeOldest(): void {
  const oldest = free.shift()
  if (!oldest) return
  freeBytes -= oldest.byteLength
  freeMemory(Buffer.from(oldest))
}

/** Whether `takeMemory` would return it. */
function isReusable(buffer: ArrayBufferLike): boolean {
  const { byteLength } = buffer
  const hasSize = byteLength >= MIN_BYTES && byteLength <= MAX_BYTES && Number.isInteger(Math.log2(byteLength))
  return hasSize && buffer instanceof SharedArrayBuffer === sharers > 0
}

/**
 * For who has received bytes of `takeMemory` and hands parts of them to others, or keeps them: the others may give them back as if
 * they had them alone, and nothing happens.
 */
export function keepMemory(bytes: Buffer): Buffer {
  lent.delete(bytes.buffer)
  return bytes
}

/** As `keepMemory`, for a caller that knows when no one else uses a part of it any more, and then calls the returned function. */
export function keepUntilFreed(bytes: Buffer): () => void {
  // Other memory may belong to someone else, too.
  return lent.delete(bytes.buffer) ? () => freeMemory(bytes) : () => undefined
}

/**
 * Frees the memory at once, for who received it alone: the collector runs late, because it sees small objects only, and often,
 * because it counts what they refer to. Memory that small buffers share stays.
 */
export function freeMemory({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength > Buffer.poolSize) buffer.transfer(0)
}

/** The same for bytes that the runtime has received. Those that are a part of other memory stay. */
export function freeChunk({ buffer, length }: Buffer): void {
  if (buffer instanceof ArrayBuffer && length === buffer.byteLength) buffer.transfer(0)
}
