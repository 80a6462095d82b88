/** Timestamps of Kafka, of which there may be none: null is neither early nor late. */
export function earlier(a: bigint | null, b: bigint | null): bigint | null {
  return a === null ? b : b === null || a < b ? a : b
}

export function later(a: bigint | null, b: bigint | null): bigint | null {
  return a === null ? b : b === null || a > b ? a : b
}
