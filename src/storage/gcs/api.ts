import type { BucketApi } from '../bucket/api.ts'

/** The requests to Cloud Storage: it builds an object from bytes that are sent in order, in a session. */
export interface GcsApi extends BucketApi {
  /** Begins an object that appears with its last bytes, if the key is free then. */
  beginUpload(key: string, token: string, signal: AbortSignal): Promise<GcsSession>
  putChunk(key: string, session: GcsSession, chunk: GcsChunk, signal: AbortSignal): Promise<UploadState>
  uploadState(key: string, session: GcsSession, signal: AbortSignal): Promise<UploadState>
  cancelUpload(key: string, session: GcsSession, signal: AbortSignal): Promise<void>
}

/** Where the bytes of an upload go: path and query. Who knows it may write to it, so it is not shown. */
export type GcsSession = string & { readonly brand: unique symbol }

export interface GcsChunk {
  start: number
  body: Buffer
  /** Of the whole object; with its last bytes only. */
  whole?: { bytes: number; crc32c: number }
}

/** Either the object is there, or so many of its bytes are. */
export type UploadState = { isDone: true; crc32c: string | undefined } | { isDone: false; persisted: number }
