import type { StoredObject } from '../storage.ts'

/**
 * The requests that are made to Cloud Storage, each a single try. Keys are those of the storage: the prefix is added
 * behind this interface. Errors are KafkaBackupErrors (`error.ts`), or the reason of the signal.
 */
export interface GcsApi {
  put(key: string, body: Buffer, condition: PutCondition, signal: AbortSignal): Promise<void>
  /** Undefined where there is no such object. */
  head(key: string, signal: AbortSignal): Promise<GcsHead | undefined>
  /** The whole object, or the bytes of the range that the object has. */
  get(key: string, range: GcsRange | undefined, signal: AbortSignal): Promise<Buffer>
  /** One request a page. */
  listPages(folder: string, foldersOnly: boolean, signal: AbortSignal): AsyncIterable<GcsPage>
  remove(key: string, signal: AbortSignal): Promise<void>
  /** Begins an object that appears with its last bytes, where the key is free then. */
  beginUpload(key: string, token: string, signal: AbortSignal): Promise<GcsSession>
  putChunk(key: string, session: GcsSession, chunk: GcsChunk, signal: AbortSignal): Promise<UploadState>
  uploadState(key: string, session: GcsSession, signal: AbortSignal): Promise<UploadState>
  cancelUpload(key: string, session: GcsSession, signal: AbortSignal): Promise<void>
  close(): void
}

export interface PutCondition {
  /** Fails with STORAGE_EXISTS where the key is taken. */
  ifAbsent: boolean
  /** Kept with the object, so that its writer can tell it from another's. */
  token?: string
}

export interface GcsHead {
  size: number
  modifiedMs: number
  token: string | undefined
}

export interface GcsRange {
  start: number
  length: number
}

export interface GcsPage {
  objects: StoredObject[]
  folders: string[]
  next: string | undefined
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
