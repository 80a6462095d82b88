/**
 * Zigzag variable-length integers, as records use them: groups of 7 bits, the lowest first, and the sign in the lowest
 * bit. A cursor is moved along instead of returning pairs.
 */
export interface Cursor {
  buffer: Buffer
  position: number
}

export function readVarint(cursor: Cursor): number {
  const value = readNumber(cursor)
  return Number.isNaN(value) ? Number(readVarlong(cursor)) : value
}

/** The value where it takes no more than 7 groups (48 bits and a sign); else NaN, and the cursor stays where it was. */
export function readNumber(cursor: Cursor): number {
  const { buffer } = cursor
  let position = cursor.position
  let low = 0
  for (let shift = 0; shift < 28; shift += 7) {
    const byte = buffer[position++] ?? cutOff()
    low |= (byte & 0x7f) << shift
    if (byte < 0x80) {
      cursor.position = position
      return (low >>> 1) ^ -(low & 1)
    }
  }
  let value = low
  for (let scale = 2 ** 28; scale < 2 ** 49; scale *= 2 ** 7) {
    const byte = buffer[position++] ?? cutOff()
    value += (byte & 0x7f) * scale
    if (byte < 0x80) {
      cursor.position = position
      return value % 2 === 0 ? value / 2 : -(value + 1) / 2
    }
  }
  return Number.NaN
}

export function readVarlong(cursor: Cursor): bigint {
  const small = readNumber(cursor)
  if (!Number.isNaN(small)) return BigInt(small)
  let value = 0n
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = cursor.buffer[cursor.position++] ?? cutOff()
    value |= BigInt(byte & 0x7f) << shift
    if (byte < 0x80) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n))
  }
  throw new RangeError('a variable-length integer is longer than ten bytes')
}

/** How many bytes a safe integer of up to 52 bits takes. */
export function varintBytes(value: number): number {
  let rest = zigzag(value)
  if (rest < 2 ** 14) return rest < 2 ** 7 ? 1 : 2
  if (rest < 2 ** 28) return rest < 2 ** 21 ? 3 : 4
  let bytes = 1
  for (; rest >= 0x80; bytes++) rest = Math.floor(rest / 0x80)
  return bytes
}

/** Writes a safe integer of up to 52 bits and returns the position behind it. The caller has made room. */
export function writeVarint(buffer: Buffer, position: number, value: number): number {
  let at = position
  let rest = zigzag(value)
  for (; rest >= 2 ** 31; rest = Math.floor(rest / 0x80)) buffer[at++] = (rest % 0x80) | 0x80
  for (; rest >= 0x80; rest >>>= 7) buffer[at++] = (rest & 0x7f) | 0x80
  buffer[at++] = rest
  return at
}

export function varlongBytes(value: bigint): number {
  let bytes = 1
  for (let rest = wideZigzag(value); rest >= 0x80n; rest >>= 7n) bytes++
  return bytes
}

export function writeVarlong(buffer: Buffer, position: number, value: bigint): number {
  let at = position
  let rest = wideZigzag(value)
  for (; rest >= 0x80n; rest >>= 7n) buffer[at++] = Number(rest & 0x7fn) | 0x80
  buffer[at++] = Number(rest)
  return at
}

function zigzag(value: number): number {
  return value < 0 ? -2 * value - 1 : 2 * value
}

function wideZigzag(value: bigint): bigint {
  return BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
}

function cutOff(): never {
  throw new RangeError('a variable-length integer is cut off')
}
