/** Zigzag variable-length integers, as records use them. A cursor is moved along instead of returning pairs. */
export interface Cursor {
  buffer: Buffer
  position: number
}

export function readVarint(cursor: Cursor): number {
  return Number(readVarlong(cursor))
}

export function readVarlong(cursor: Cursor): bigint {
  let low = 0
  let shift = 0
  // Up to four groups fit a plain number, and almost every value ends there.
  for (; shift < 28; shift += 7) {
    const byte = cursor.buffer.readUInt8(cursor.position++)
    low |= (byte & 0x7f) << shift
    if (byte < 0x80) return BigInt((low >>> 1) ^ -(low & 1))
  }
  let value = BigInt(low)
  for (; shift < 70; shift += 7) {
    const byte = cursor.buffer.readUInt8(cursor.position++)
    value |= BigInt(byte & 0x7f) << BigInt(shift)
    if (byte < 0x80) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n))
  }
  throw new RangeError('a variable-length integer is longer than ten bytes')
}
