const TWO_TO_32 = 2 ** 32
/** Up to here the upper half times 2^32, plus the lower half, is an exact number. */
const MAX_UPPER = 2 ** 20

/**
 * A big-endian 64-bit integer. Buffer's own method makes several BigInts on the way to the result, which adds up where a round reads
 * tens of thousands of offsets and times.
 */
export function readInt64(bytes: Buffer, position: number): bigint {
  const upper = bytes.readInt32BE(position)
  if (upper >= MAX_UPPER || upper < -MAX_UPPER) return bytes.readBigInt64BE(position)
  return BigInt(upper * TWO_TO_32 + bytes.readUInt32BE(position + 4))
}
