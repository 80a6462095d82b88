/** Reads from the lowest bit of the first byte on. */
export function forwardBits(bytes: Buffer, start: number) {
  let at = start * 8
  return {
    take: (count: number): number => {
      let value = 0
      for (let i = 0; i < count; i++, at++) value |= (((bytes[at >> 3] ?? 0) >> (at & 7)) & 1) << i
      return value
    },
    /** Behind the last byte of which a bit was taken. */
    end: (): number => (at + 7) >> 3,
  }
}

/**
 * Reads from the end of bytes[start, end) to its beginning, each number from its highest bit on. The highest bit that is set in the last byte
 * only marks the end. Undefined where there is none.
 */
export function backwardBits(bytes: Buffer, start: number, end: number) {
  const last = end > start ? (bytes[end - 1] ?? 0) : 0
  if (last === 0) return undefined
  let left = (end - 1 - start) * 8 + (31 - Math.clz32(last))
  return {
    /** Up to 16 bits. Those before the beginning are zeros. */
    take: (count: number): number => {
      left -= count
      const missing = Math.min(Math.max(-left, 0), count)
      const at = Math.max(left, 0)
      const from = start + (at >> 3)
      // They lie in three bytes.
      const bits = (bytes[from] ?? 0) | ((bytes[from + 1] ?? 0) << 8) | ((bytes[from + 2] ?? 0) << 16)
      return ((bits >> (at & 7)) & ((1 << (count - missing)) - 1)) << missing
    },
    /** Negative where more were taken than there are. */
    left: (): number => left,
  }
}
