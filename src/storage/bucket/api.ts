import { KafkaBackupError } from '../../errors.ts'
import { untilAborted } from '../../lib/abort.ts'
import { ForeignAnswer } from '../request-error.ts'
import type { StoredObject } from '../storage.ts'

/**
 * The requests to an object store, each sent once. Keys are those of the storage; the implementation adds the prefix.
 * Errors are KafkaBackupErrors (the backend's `error.ts`) or the reason of the signal.
 */
export interface BucketApi {
  put(key: string, body: Buffer, condition: PutCondition, signal: AbortSignal): Promise<void>
  /** Undefined when the object does not exist. */
  head(key: string, signal: AbortSignal): Promise<ObjectHead | undefined>
  /** The entire object, within the limit of its class (`object-limits.ts`), or those bytes of the range that exist. */
  get(key: string, range: ByteRange | undefined, signal: AbortSignal): Promise<ReceivedBytes>
  listPage(folder: string, options: ListPageOptions, signal: AbortSignal): Promise<ObjectPage>
  remove(key: string, signal: AbortSignal): Promise<void>
  close(): void
}

/** A store that builds an object from parts, uploaded in any order. */
export interface MultipartApi extends BucketApi {
  /** Returns the id of the upload; the object will carry the token. */
  beginUpload(key: string, token: string, signal: AbortSignal): Promise<string>
  putPart(key: string, part: PartNumber, body: Buffer, signal: AbortSignal): Promise<UploadedPart>
  /** Creates the object from its parts if the key is free. */
  completeUpload(key: string, uploadId: string, parts: readonly UploadedPart[], signal: AbortSignal): Promise<void>
  /** Discards the parts if the store would keep them. */
  abortUpload(key: string, uploadId: string, signal: AbortSignal): Promise<void>
}

export interface PutCondition {
  /** Fail with STORAGE_EXISTS if the key is taken. */
  ifAbsent: boolean
  /** Stored with the object; its writer recognizes it by this. */
  token?: string
}

export interface ObjectHead {
  size: number
  modifiedMs: number
  token: string | undefined
  /** Absent where nothing protects the object, or this may not be read. */
  protectedUntilMs?: number | undefined
}

export interface ByteRange {
  start: number
  length: number
}

export interface ReceivedBytes {
  bytes: Buffer
  /** The response stated its length or a checksum. Otherwise nothing shows whether it ended early. */
  isMeasured: boolean
}

export interface ListPageOptions {
  /** List the folders directly below instead of all objects. */
  foldersOnly: boolean
  /** `next` of the previous page. */
  from: string | undefined
  limit?: number
}

export interface ObjectPage {
  objects: StoredObject[]
  folders: string[]
  next: string | undefined
}

export interface PartNumber {
  uploadId: string
  /** From 1. */
  number: number
}

export interface UploadedPart {
  number: number
  /** The store's id for it. */
  etag: string
  /** Repeated when the upload is completed, under the store's names. */
  checksum: Record<string, string>
}

/** Sends a request until the signal is aborted. The SDKs ignore the signal while they wait for credentials. */
export async function sendUntilAborted<T>(
  send: (abort: { abortSignal: AbortSignal }) => Promise<T>,
  mapError: (error: unknown) => unknown,
  signal: AbortSignal,
): Promise<T> {
  try {
    return await untilAborted(send({ abortSignal: signal }), signal)
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw mapError(error)
  }
}

/** An object without a time counts as just written, so it is never old enough to be swept. */
export function modifiedMsOf(modified: Date | undefined): number {
  return modified?.getTime() ?? Number.MAX_SAFE_INTEGER
}

/** A size that the store does not state is not 0: an object would pass for an empty one. */
export function statedSize(size: number | undefined, key: string, location: string): number {
  if (size !== undefined && Number.isSafeInteger(size) && size >= 0) return size
  const message = `${location} does not state the size of ${JSON.stringify(key)}`
  throw new KafkaBackupError('STORAGE_REFUSED', message, {
    details: { key, location },
    help: 'A proxy in front of the store may remove the header Content-Length from its responses; let it pass.',
  })
}

/** Of `bytes 40-41/100`: 40 to 41. A response with other bytes than those of the range, such as that of a cache, is not used. */
export function parseContentRange(
  contentRange: string | undefined,
  wanted: ByteRange | undefined,
): { length: number } | undefined {
  const [, first, last] = /^bytes (\d+)-(\d+)\//.exec(contentRange ?? '') ?? []
  if (first === undefined || last === undefined) return undefined
  if (wanted && Number(first) !== wanted.start) throw new ForeignAnswer(206, `it has the bytes from ${first} on`)
  return { length: Number(last) - Number(first) + 1 }
}

/** A store without support for ranges sends the entire object. */
export function cutRange(bytes: Buffer, range: ByteRange | undefined, isPartial: boolean): Buffer {
  return range === undefined || isPartial ? bytes : bytes.subarray(range.start, range.start + range.length)
}

/** A CRC as stores write it: big-endian, in base64. */
export function formatSum(sum: number): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(sum)
  return bytes.toString('base64')
}
