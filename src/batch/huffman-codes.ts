import { decodeWeights } from './huffman-weights.ts'

/** The codes of a Huffman tree of zstd, by symbol. */
export interface HuffmanCodes {
  /** 0 for a symbol that has no code. */
  bits: Uint8Array
  codes: Uint16Array
  /** Behind the description of the tree. */
  end: number
}

const MAX_BITS = 11
const SYMBOLS = 256

/**
 * Huffman_Tree_Description (RFC 8878, 4.2.1): UINT8 size, then as many bytes of weights in FSE; or, from 128 on, as many weights as the
 * size is above 127, two in a byte, the first in the high half. The weight of the last symbol is what completes the sum.
 *
 * Undefined for what is not such a description.
 */
export function readHuffmanCodes(bytes: Buffer, start: number, limit: number): HuffmanCodes | undefined {
  const size = bytes[start]
  if (size === undefined || start >= limit) return undefined
  const isDirect = size >= 128
  const end = behindTree(bytes, start)
  if (end > limit) return undefined
  const weights = isDirect ? directWeights(bytes, start + 1, size - 127) : decodeWeights(bytes, start + 1, end)
  const maxBits = weights && completeWeights(weights)
  return maxBits === undefined ? undefined : { ...assignCodes(weights ?? [], maxBits), end }
}

/** Where the description of a tree ends. */
export function behindTree(bytes: Buffer, start: number): number {
  const size = bytes[start] ?? 0
  return start + 1 + (size >= 128 ? (size - 127 + 1) >> 1 : size)
}

function directWeights(bytes: Buffer, start: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => {
    const pair = bytes[start + (i >> 1)] ?? 0
    return i % 2 === 0 ? pair >> 4 : pair & 0x0f
  })
}

/** Adds the last weight, and returns the length of the longest code. Undefined where no weight completes the others. */
function completeWeights(weights: number[]): number | undefined {
  let sum = 0
  for (const weight of weights) sum += weight > 0 ? 1 << (weight - 1) : 0
  const maxBits = 32 - Math.clz32(sum)
  const rest = (1 << maxBits) - sum
  const last = 32 - Math.clz32(rest)
  weights.push(last)
  const isTree = sum > 0 && weights.length <= SYMBOLS && maxBits <= MAX_BITS && rest === 1 << (last - 1)
  return isTree ? maxBits : undefined
}

/** From the longest codes on, those of the same length in the order of their symbols. */
function assignCodes(weights: readonly number[], maxBits: number): Pick<HuffmanCodes, 'bits' | 'codes'> {
  const bits = new Uint8Array(SYMBOLS)
  const codes = new Uint16Array(SYMBOLS)
  const next = firstCodes(weights, maxBits)
  for (let symbol = 0; symbol < weights.length; symbol++) {
    const weight = weights[symbol] ?? 0
    if (weight === 0) continue
    const code = next[weight] ?? 0
    next[weight] = code + 1
    bits[symbol] = maxBits + 1 - weight
    codes[symbol] = code
  }
  return { bits, codes }
}

/** By weight. */
function firstCodes(weights: readonly number[], maxBits: number): Uint16Array {
  const counts = new Uint16Array(maxBits + 2)
  for (const weight of weights) counts[weight] = (counts[weight] ?? 0) + 1
  const first = new Uint16Array(maxBits + 2)
  let start = 0
  for (let weight = 1; weight <= maxBits; weight++) {
    first[weight] = start >> (weight - 1)
    start += (counts[weight] ?? 0) << (weight - 1)
  }
  return first
}
