/** At most so many slots of the table are in use, since a lookup tries the next slot until one is free. */
const MAX_LOAD = 0.6

/**
 * The sizes of many objects by key. The keys themselves are not kept, only 53 bits of a hash each: a location may have
 * millions of objects. Two keys with the same bits have no size that is known; of a million keys, one time in 18,000 there are two.
 */
export class SizeTable {
  #hashes = new Float64Array(1024).fill(Number.NaN)
  #sizes = new Float64Array(1024)
  #count = 0

  /** Each key once. */
  add(key: string, size: number): void {
    if (this.#count >= this.#hashes.length * MAX_LOAD) this.#grow()
    this.#put(hashOf(key), size)
  }

  /** Undefined for a key that is not there, NaN where it is not known. */
  get(key: string): number | undefined {
    const at = this.#slotOf(hashOf(key))
    return Number.isNaN(this.#hashes[at]) ? undefined : this.#sizes[at]
  }

  #put(hash: number, size: number): void {
    const at = this.#slotOf(hash)
    const isNew = Number.isNaN(this.#hashes[at])
    if (isNew) this.#count++
    this.#hashes[at] = hash
    this.#sizes[at] = isNew ? size : Number.NaN
  }

  /** Where the hash is, or the free slot for it. */
  #slotOf(hash: number): number {
    // Their number is a power of two.
    const last = this.#hashes.length - 1
    for (let at = upperBits(hash) & last; ; at = (at + 1) & last) {
      const found = this.#hashes[at] as number
      if (found === hash || Number.isNaN(found)) return at
    }
  }

  #grow(): void {
    const [hashes, sizes] = [this.#hashes, this.#sizes]
    this.#hashes = new Float64Array(2 * hashes.length).fill(Number.NaN)
    this.#sizes = new Float64Array(2 * hashes.length)
    this.#count = 0
    for (const [i, hash] of hashes.entries()) if (!Number.isNaN(hash)) this.#put(hash, sizes[i] ?? 0)
  }
}

const LOWER_BITS = 21

function upperBits(hash: number): number {
  return (hash / 2 ** LOWER_BITS) >>> 0
}

/** 53 bits from two lanes of 32; each character goes into both. */
function hashOf(key: string): number {
  let a = 0x9e3779b9
  let b = 0x85ebca6b
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i)
    a = Math.imul(a ^ code, 0x01000193)
    b = Math.imul(b ^ code, 0x5bd1e995)
    b ^= b >>> 13
  }
  a ^= a >>> 16
  return (b >>> 0) * 2 ** LOWER_BITS + (Math.imul(a, 0x7feb352d) >>> (32 - LOWER_BITS))
}
