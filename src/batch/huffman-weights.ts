import { backwardBits, forwardBits } from './bit-readers.ts'

const MAX_ACCURACY = 6
const MAX_SYMBOL = 15
const MAX_WEIGHTS = 255

interface FseTable {
  symbols: Uint8Array
  bits: Uint8Array
  bases: Uint8Array
}

/**
 * The weights of a Huffman tree in FSE (RFC 8878, 4.2.1.2): a distribution table, then a bitstream, read backward, of two states that
 * take turns, until it has no bits left. Undefined for what is not such.
 */
export function decodeWeights(bytes: Buffer, start: number, end: number): number[] | undefined {
  const described = readDistribution(bytes, start, end)
  if (!described) return undefined
  const { accuracy, counts } = described
  const table = buildTable(accuracy, counts)
  const read = backwardBits(bytes, described.end, end)
  if (!table || !read) return undefined
  const weights: number[] = []
  const states = [read.take(accuracy), read.take(accuracy)]
  for (let turn = 0; weights.length < MAX_WEIGHTS; turn ^= 1) {
    const state = states[turn] ?? 0
    weights.push(table.symbols[state] ?? 0)
    // Bits that are missing are zeros; then the other state has the last weight.
    states[turn] = (table.bases[state] ?? 0) + read.take(table.bits[state] ?? 0)
    if (read.left() < 0) {
      weights.push(table.symbols[states[turn ^ 1] ?? 0] ?? 0)
      return weights
    }
  }
  return undefined
}

/**
 * FSE_Table_Description (RFC 8878, 4.1.1): the accuracy less 5 in 4 bits; then probabilities plus 1, in as many bits as what is left of
 * the sum needs, smaller numbers in one bit less; behind each 0, in 2 bits, how many more zeros follow, again behind a 3.
 */
function readDistribution(bytes: Buffer, start: number, end: number) {
  const read = forwardBits(bytes, start)
  const accuracy = read.take(4) + 5
  if (accuracy > MAX_ACCURACY) return undefined
  const counts: number[] = []
  let rest = 1 << accuracy
  while (rest > 0) {
    if (counts.length > MAX_SYMBOL) return undefined
    const count = readProbability(read, rest)
    rest -= Math.abs(count)
    counts.push(count)
    if (count !== 0) continue
    for (let more = 3; more === 3; ) {
      more = read.take(2)
      if (counts.length + more > MAX_SYMBOL) return undefined
      for (let i = 0; i < more; i++) counts.push(0)
    }
  }
  return rest === 0 && read.end() <= end ? { accuracy, counts, end: read.end() } : undefined
}

/** -1 is less than 1. */
function readProbability(read: ReturnType<typeof forwardBits>, rest: number): number {
  const bits = 32 - Math.clz32(rest + 1)
  const short = (1 << bits) - 1 - (rest + 1)
  const low = read.take(bits - 1)
  if (low < short) return low - 1
  return read.take(1) === 0 ? low - 1 : low + (1 << (bits - 1)) - short - 1
}

function buildTable(accuracy: number, counts: readonly number[]): FseTable | undefined {
  const size = 1 << accuracy
  const symbols = new Uint8Array(size)
  const next = counts.map(count => Math.abs(count))
  let high = size
  counts.forEach((count, symbol) => {
    if (count < 0 && high > 0) symbols[--high] = symbol
  })
  const step = (size >> 1) + (size >> 3) + 3
  let at = 0
  counts.forEach((count, symbol) => {
    for (let i = 0; i < count; i++) {
      symbols[at] = symbol
      do at = (at + step) & (size - 1)
      while (at >= high)
    }
  })
  if (at !== 0) return undefined
  const bits = new Uint8Array(size)
  const bases = new Uint8Array(size)
  for (let state = 0; state < size; state++) {
    const symbol = symbols[state] ?? 0
    const order = next[symbol] ?? 0
    next[symbol] = order + 1
    const own = accuracy - (31 - Math.clz32(order))
    bits[state] = own
    bases[state] = (order << own) - size
  }
  return { symbols, bits, bases }
}
