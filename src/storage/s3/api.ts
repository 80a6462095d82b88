import type { StoredObject } from '../storage.ts'

/**
 * The requests that are made to S3, each a single try. Keys are those of the storage: the prefix is added behind this
 * interface. Errors are KafkaBackupErrors (`error.ts`), or the reason of the signal.
 */
export interface S3Api {
  put(key: string, body: Buffer, condition: PutCondition, signal: AbortSignal): Promise<void>
  /** Undefined where there is no such object. */
  head(key: string, signal: AbortSignal): Promise<S3Head | undefined>
  /** The whole object, or the bytes of the range that the object has. */
  get(key: string, range: S3Range | undefined, signal: AbortSignal): Promise<Buffer>
  listPage(folder: string, options: ListPageOptions, signal: AbortSignal): Promise<S3Page>
  remove(key: string, signal: AbortSignal): Promise<void>
  beginUpload(key: string, token: string, signal: AbortSignal): Promise<string>
  putPart(key: string, part: S3PartPlace, body: Buffer, signal: AbortSignal): Promise<S3Part>
  /** Makes the object of its parts where the key is free. */
  completeUpload(key: string, uploadId: string, parts: readonly S3Part[], signal: AbortSignal): Promise<void>
  abortUpload(key: string, uploadId: string, signal: AbortSignal): Promise<void>
  close(): void
}

export interface PutCondition {
  /** Fails with STORAGE_EXISTS where the key is taken. */
  ifAbsent: boolean
  /** Kept with the object, so that its writer can tell it from another's. */
  token?: string
}

export interface S3Head {
  size: number
  modifiedMs: number
  token: string | undefined
}

export interface S3Range {
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

export interface S3Page {
  objects: StoredObject[]
  folders: string[]
  next: string | undefined
}

export interface S3PartPlace {
  uploadId: string
  /** From 1. */
  number: number
}

export interface S3Part {
  number: number
  etag: string
  /** What the completion repeats of it, under the name that S3 gives it. */
  checksum: Record<string, string>
}
