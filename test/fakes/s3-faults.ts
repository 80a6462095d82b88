import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { S3Server } from '../servers/versitygw.ts'

/** What a request to the store is, by the name that S3 gives it. */
export type S3Request =
  | 'PutObject'
  | 'GetObject'
  | 'HeadObject'
  | 'DeleteObject'
  | 'ListObjectsV2'
  | 'CreateMultipartUpload'
  | 'UploadPart'
  | 'CompleteMultipartUpload'
  | 'AbortMultipartUpload'

export type S3FaultEffect =
  /** The store does as it is told, and the connection breaks before the answer. */
  | 'lose-reply'
  /** The connection breaks before the store hears of it. */
  | 'lose-request'
  /** The request is taken in and nothing ever comes back. */
  | 'silence'
  /** The answer stops in the middle of its body. */
  | 'cut-reply'
  /** An object that is there is no hindrance, as in a store that does not know `If-None-Match`. */
  | 'ignore-condition'
  | { status: number; code: string; message?: string }

export interface S3Fault {
  on: S3Request
  effect: S3FaultEffect
  /** How many requests it strikes, from the first that fits; all where it is not given. */
  times?: number
}

export interface FaultyS3 {
  endpoint: string
  /** The requests in the order they came. */
  readonly requests: readonly S3Request[]
  /** Ends the proxy, and fails where a fault has never struck: such a test proves nothing. */
  close(): Promise<void>
}

/** A real store behind a proxy that injects faults. Requests pass as they are, so that their signatures stay valid. */
export async function startFaultyS3(server: S3Server, faults: readonly S3Fault[]): Promise<FaultyS3> {
  const states = faults.map(fault => ({ ...fault, struck: 0 }))
  const requests: S3Request[] = []
  const proxy = createServer((incoming, answer) => {
    const name = nameOf(incoming)
    requests.push(name)
    const fault = states.find(({ on, times, struck }) => on === name && struck < (times ?? Number.POSITIVE_INFINITY))
    if (fault) fault.struck++
    handle(incoming, answer, server, fault?.effect)
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  proxy.unref()
  return {
    endpoint: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    requests,
    close: async () => {
      proxy.closeAllConnections()
      await new Promise(resolve => proxy.close(resolve))
      const idle = states.filter(({ struck }) => struck === 0)
      assert.deepEqual(idle, [], 'these faults never struck')
    },
  }
}

function handle(
  incoming: IncomingMessage,
  answer: ServerResponse,
  server: S3Server,
  effect: S3FaultEffect | undefined,
): void {
  if (effect === 'lose-request') incoming.socket.destroy()
  else if (effect === 'silence') incoming.resume()
  else if (typeof effect === 'object') refuse(incoming, answer, effect)
  else {
    if (effect === 'ignore-condition') rmSync(join(server.dataDir, pathOf(incoming)), { force: true })
    forward(incoming, answer, server, effect)
  }
}

function refuse(
  incoming: IncomingMessage,
  answer: ServerResponse,
  { status, code, message = 'scripted fault' }: { status: number; code: string; message?: string },
): void {
  incoming.resume()
  incoming.once('end', () => {
    answer.writeHead(status, { 'content-type': 'application/xml' })
    answer.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`)
  })
}

function forward(
  incoming: IncomingMessage,
  answer: ServerResponse,
  server: S3Server,
  effect: S3FaultEffect | undefined,
): void {
  const { method, url, headers } = incoming
  const onward = request({ host: '127.0.0.1', port: server.port, method, path: url, headers }, reply => {
    if (effect === 'lose-reply') {
      reply.resume()
      reply.once('end', () => incoming.socket.destroy())
      return
    }
    answer.writeHead(reply.statusCode ?? 502, reply.headers)
    if (effect === 'cut-reply') {
      reply.once('data', (chunk: Buffer) => {
        answer.write(chunk.subarray(0, chunk.length >> 1), () => incoming.socket.destroy())
        reply.destroy()
      })
    } else reply.pipe(answer)
  })
  onward.on('error', () => incoming.socket.destroy())
  incoming.pipe(onward)
}

function pathOf({ url = '/' }: IncomingMessage): string {
  return decodeURIComponent(url.split('?')[0] ?? '')
}

function nameOf(incoming: IncomingMessage): S3Request {
  const { method = '', url = '' } = incoming
  const query = new URLSearchParams(url.split('?')[1] ?? '')
  if (method === 'GET') return query.get('list-type') === '2' ? 'ListObjectsV2' : 'GetObject'
  if (method === 'HEAD') return 'HeadObject'
  if (method === 'POST') return query.has('uploads') ? 'CreateMultipartUpload' : 'CompleteMultipartUpload'
  const isOfUpload = query.has('uploadId')
  if (method === 'PUT') return isOfUpload ? 'UploadPart' : 'PutObject'
  return isOfUpload ? 'AbortMultipartUpload' : 'DeleteObject'
}
