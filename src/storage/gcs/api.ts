import type { BucketApi } from '../bucket/api.ts'

/** The requests to Cloud Storage, which builds an object from bytes that are sent in order, in a session. */
export interface GcsApi extends BucketApi {
  /** Begins an object that appears with its last bytes if the key is still free. */
  beginUpload(key: string, token: string, signal: AbortSignal): Promise<GcsSession>
  putChunk(key: string, session: GcsSession, chunk: GcsChunk, signal: AbortSignal): Promise<UploadState>
  uploadState(key: string, session: GcsSession, signal: AbortSignal): Promise<UploadState>
  cancelUpload(key: string, session: GcsSession, signal: AbortSignal): Promise<void>
}

/** Path and query to send the bytes of an upload to. Anyone who knows it can write to it, so it is a secret. */
export type GcsSession = string & { readonly brand: unique symbol }

export interface GcsChunk {
  start: number
  /** In one piece or several. */
  body: readonly Buffer[]
  /** Of the complete object; only with its last bytes. */
  total?: { bytes: number; crc32c: number }
}

/** Either the object exists, or this many of its bytes have arrived. */
export type UploadState = { isDone: true; crc32c: string | undefined } | { isDone: false; persisted: number }
