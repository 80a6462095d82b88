/** Smaller ones are not worth it, and may lie in memory that the runtime shares among several. */
const MIN_BYTES = 256 << 10

/** Gives the memory of a buffer back at once; its bytes must not be used any more. The collector would first wait for 64 MB of such memory. */
export function freeMemory({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength >= MIN_BYTES) buffer.transfer(0)
}
