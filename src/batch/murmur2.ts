/** The partition that Kafka's default partitioner chooses for a record with this key. */
export function partitionForKey(key: Buffer, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions
}

const SEED = 0x9747b28c
const M = 0x5bd1e995
const R = 24

/** The signed 32-bit murmur2 of Kafka's clients: four bytes at a time, little-endian, then the rest. */
export function murmur2(bytes: Buffer): number {
  const whole = bytes.length & ~3
  let hash = SEED ^ bytes.length
  for (let i = 0; i < whole; i += 4) {
    const k = Math.imul(bytes.readInt32LE(i), M)
    hash = Math.imul(hash, M) ^ Math.imul(k ^ (k >>> R), M)
  }
  for (let i = bytes.length - 1; i >= whole; i--) hash ^= bytes.readUInt8(i) << (8 * (i - whole))
  if (whole < bytes.length) hash = Math.imul(hash, M)
  hash = Math.imul(hash ^ (hash >>> 13), M)
  return hash ^ (hash >>> 15)
}
