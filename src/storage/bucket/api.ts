import type { StoredObject } from '../storage.ts'

/**
 * The requests to an object store, each sent once. Keys are those of the storage; the implementation adds the prefix.
 * Errors are KafkaBackupErrors (the backend's `error.ts`), or the reason of the signal.
 */
export interface BucketApi {
  put(key: string, body: Buffer, condition: PutCondition, signal: AbortSignal): Promise<void>
  /** Undefined when the object does not exist. */
  head(key: string, signal: AbortSignal): Promise<ObjectHead | undefined>
  /** The whole object, or the bytes of the range that the object has. */
  get(key: string, range: ByteRange | undefined, signal: AbortSignal): Promise<Buffer>
  listPage(folder: string, options: ListPageOptions, signal: AbortSignal): Promise<ObjectPage>
  remove(key: string, signal: AbortSignal): Promise<void>
  close(): void
}

/** A store that builds an object from parts that can be uploaded in any order. */
export interface MultipartApi extends BucketApi {
  /** The id of an upload in parts; the object will carry the token. */
  beginUpload(key: string, token: string, signal: AbortSignal): Promise<string>
  putPart(key: string, part: PartPlace, body: Buffer, signal: AbortSignal): Promise<UploadedPart>
  /** Makes the object of its parts where the key is free. */
  completeUpload(key: string, uploadId: string, parts: readonly UploadedPart[], signal: AbortSignal): Promise<void>
  /** Drops the parts where the store would keep them. */
  abortUpload(key: string, uploadId: string, signal: AbortSignal): Promise<void>
}

export interface PutCondition {
  /** Fails with STORAGE_EXISTS where the key is taken. */
  ifAbsent: boolean
  /** Kept with the object, so that its writer can tell it from another's. */
  token?: string
}

export interface ObjectHead {
  size: number
  modifiedMs: number
  token: string | undefined
}

export interface ByteRange {
  start: number
  length: number
}

export interface ListPageOptions {
  /** Folders directly below instead of all objects. */
  foldersOnly: boolean
  /** What the page before said. */
  from: string | undefined
  limit?: number
}

export interface ObjectPage {
  objects: StoredObject[]
  folders: string[]
  next: string | undefined
}

export interface PartPlace {
  uploadId: string
  /** From 1. */
  number: number
}

export interface UploadedPart {
  number: number
  /** What the store calls it. */
  etag: string
  /** What the completion repeats of it, under the name that the store gives it. */
  checksum: Record<string, string>
}
