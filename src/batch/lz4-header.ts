const CONTENT_SIZE = 0x08
const DICTIONARY = 0x01
const MAGIC_BYTES = 4

/**
 * The LZ4 frame with the right checksum in its header. Kafka's clients of message format v0 included the magic in what
 * they summed up, and its readers ignore the checksum there.
 */
export function repairHeaderChecksum(frame: Buffer): Buffer {
  const flags = frame[MAGIC_BYTES] ?? 0
  const end = MAGIC_BYTES + 2 + (flags & CONTENT_SIZE ? 8 : 0) + (flags & DICTIONARY ? 4 : 0)
  if (frame.length <= end) throw new RangeError('an lz4 frame ends inside its header')
  const repaired = Buffer.from(frame)
  repaired[end] = headerChecksum(frame.subarray(MAGIC_BYTES, end))
  return repaired
}

/** The second byte of the XXH32 (seed 0) of the descriptor. */
export function headerChecksum(descriptor: Buffer): number {
  return (xxh32OfFew(descriptor) >>> 8) & 0xff
}

const PRIMES = [2654435761, 2246822519, 3266489917, 668265263, 374761393] as const

/** XXH32 of less than 16 bytes. */
function xxh32OfFew(bytes: Buffer): number {
  let hash = (PRIMES[4] + bytes.length) | 0
  let at = 0
  for (; at + 4 <= bytes.length; at += 4) {
    hash = Math.imul(rotate(hash + Math.imul(bytes.readUInt32LE(at), PRIMES[2]), 17), PRIMES[3])
  }
  for (; at < bytes.length; at++) hash = Math.imul(rotate(hash + Math.imul(bytes[at] ?? 0, PRIMES[4]), 11), PRIMES[0])
  hash = Math.imul(hash ^ (hash >>> 15), PRIMES[1])
  hash = Math.imul(hash ^ (hash >>> 13), PRIMES[2])
  return (hash ^ (hash >>> 16)) >>> 0
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits))
}
