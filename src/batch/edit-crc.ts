/** The polynomial of CRC-32C; as everywhere here, the bit of the highest power is the lowest. */
const POLYNOMIAL = 0x82f63b78
const ONE = 0x80000000

const table = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
  return crc
})

/** The remainder of a short part of a batch: for a few bytes a native call costs more than the sum. */
export function remainderOf(bytes: Uint8Array, start: number, end: number): number {
  let crc = 0
  for (let at = start; at < end; at++) crc = (crc >>> 8) ^ (table[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0)
  return crc
}

/**
 * Pure. The CRC-32C of bytes after an edit of a part with `restBytes` behind it, from the CRC before and the remainders of the part. A sum is
 * linear: what changes is the difference of the remainders, moved by as many zero bytes as follow. The other bytes are not read again, so one that
 * was damaged since its CRC was checked still does not match.
 */
export function crcAfterEdit(crc: number, before: number, after: number, restBytes: number): number {
  return (crc ^ multiply(powerOf(restBytes), before ^ after)) >>> 0
}

/** The product of two polynomials modulo the one of CRC-32C. */
function multiply(first: number, second: number): number {
  let product = 0
  let shifted = second
  for (let bits = first; bits !== 0; bits <<= 1) {
    if (bits < 0) product ^= shifted
    shifted = shifted & 1 ? (shifted >>> 1) ^ POLYNOMIAL : shifted >>> 1
  }
  return product
}

/** x to the power of 8 times a power of two, of which the index is the exponent. */
const powers = new Int32Array(32)
powers[0] = 0x00800000
for (let i = 1; i < powers.length; i++) powers[i] = multiply(powers[i - 1] ?? 0, powers[i - 1] ?? 0)

/** x to the power of so many bytes. */
function powerOf(bytes: number): number {
  let power = ONE | 0
  for (let rest = bytes, i = 0; rest !== 0; rest >>>= 1, i++) {
    if (rest & 1) power = multiply(power, powers[i] ?? 0)
  }
  return power
}
