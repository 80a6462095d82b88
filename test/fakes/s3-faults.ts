import { rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { S3Server } from '../servers/versitygw.ts'
import { type StoreFault, type StoreFaultEffect, startFaultyStore } from './faulty-store.ts'

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

export type S3FaultEffect = StoreFaultEffect
export type S3Fault = StoreFault<S3Request>

export interface FaultyS3 {
  endpoint: string
  readonly requests: readonly S3Request[]
  close(): Promise<void>
}

export async function startFaultyS3(server: S3Server, faults: readonly S3Fault[]): Promise<FaultyS3> {
  const dialect = {
    port: server.port,
    nameOf,
    refusal,
    // The signature covers the condition, so the object goes instead.
    ignoreCondition: (incoming: IncomingMessage) => rmSync(join(server.dataDir, pathOf(incoming)), { force: true }),
  }
  const { origin: endpoint, requests, close } = await startFaultyStore(dialect, faults)
  return { endpoint, requests, close }
}

function refusal(code: string, message: string): { headers: Record<string, string>; body: string } {
  return {
    headers: { 'content-type': 'application/xml' },
    body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`,
  }
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
