import { startTimeLimit } from '../../lib/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import type { WatchEvent } from './kube-api.ts'
import { classifyFailure, classifyStatus, KubeError } from './kube-error.ts'
import type { KubeObject } from './object.ts'
import type { KubeRequest, Transport } from './transport.ts'

/** How much longer than asked a server may take to end a watch. */
const GRACE_MS = 5000

/** The events of one watch until the server ends it; silent or not, it lasts no longer than the time and some seconds. */
export async function* readWatch<T extends KubeObject>(
  transport: Transport,
  request: KubeRequest,
  timeoutMs: number,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>> {
  const limit = startTimeLimit(timeoutMs + GRACE_MS, clock, signal)
  try {
    const response = await transport.open(request, limit.signal)
    try {
      for await (const line of readLines(response)) yield parseEvent<T>(line, request.where)
      // Destroyed by the limit, the answer may look as if it had ended.
      limit.signal.throwIfAborted()
    } finally {
      response.destroy()
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw classifyFailure(limit.reasonOf(error), request.where)
  } finally {
    limit.end()
  }
}

function parseEvent<T extends KubeObject>(line: string, where: string): WatchEvent<T> {
  const { type, object } = parseLine(line, where)
  if (type === 'ERROR') throw classifyStatus(object, where)
  const version = (object as KubeObject | undefined)?.metadata?.resourceVersion
  if (version === undefined) throw new KubeError('KUBE_PROTOCOL', `cannot ${where}: an event has no resourceVersion`)
  if (type === 'BOOKMARK') return { type, resourceVersion: version }
  if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') return { type, object: object as T }
  throw new KubeError('KUBE_PROTOCOL', `cannot ${where}: an event of the unknown type ${JSON.stringify(type)}`)
}

function parseLine(line: string, where: string): { type?: unknown; object?: unknown } {
  try {
    return JSON.parse(line) as { type?: unknown; object?: unknown }
  } catch (cause) {
    throw new KubeError('KUBE_PROTOCOL', `cannot ${where}: a line is not JSON`, {}, { cause })
  }
}

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
