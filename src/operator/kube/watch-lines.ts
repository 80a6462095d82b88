/** The API server's largest objects have some megabytes; a longer line is none of its. */
const MAX_LINE_BYTES = 16 * 1024 * 1024

/** Cuts at bytes, so that a character split over two chunks stays whole. What is left without a newline is dropped. */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  maxLineBytes = MAX_LINE_BYTES,
): AsyncGenerator<string> {
  let parts: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    let from = 0
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, at))
      const line = Buffer.concat(parts).toString('utf8')
      parts = []
      bytes = 0
      from = at + 1
      if (line.trim() !== '') yield line
    }
    parts.push(chunk.subarray(from))
    bytes += chunk.length - from
    if (bytes > maxLineBytes) throw new Error(`a line is longer than ${maxLineBytes} bytes`)
  }
}
