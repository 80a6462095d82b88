import type { Readable, Writable } from 'node:stream'

/** One line of JSON, followed by as many bytes as its field `payloadBytes` says; see java/Wire.java. */
export interface DriverMessage {
  json: Record<string, unknown>
  payload: Buffer
}

export function writeMessage(out: Writable, json: Record<string, unknown>, payload: readonly Buffer[]): void {
  const payloadBytes = payload.reduce((sum, part) => sum + part.length, 0)
  out.write(`${JSON.stringify({ ...json, payloadBytes })}\n`)
  for (const part of payload) out.write(part)
}

export function onMessage(input: Readable, handle: (message: DriverMessage) => void): void {
  let chunks: Buffer[] = []
  let held = 0
  /** How many bytes make the next step worth a try: the payload that is awaited, or any for a line. */
  let needed = 1
  let json: Record<string, unknown> | undefined

  const takeNext = (): boolean => {
    const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
    chunks = [bytes]
    const cut = json === undefined ? bytes.indexOf(10) + 1 : needed
    if (cut === 0 && json === undefined) return false
    chunks = [bytes.subarray(cut)]
    held -= cut
    if (json === undefined) {
      json = JSON.parse(bytes.toString('utf8', 0, cut)) as Record<string, unknown>
      needed = Number(json.payloadBytes ?? 0)
    } else {
      const message = { json, payload: bytes.subarray(0, cut) }
      json = undefined
      needed = 1
      handle(message)
    }
    return true
  }
  input.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    held += chunk.length
    while (held >= needed && takeNext());
  })
}
