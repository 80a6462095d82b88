import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  PutObjectCommand,
  type S3Client,
  type ServerSideEncryption,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { crc32, crc32c } from '@node-rs/crc32'
import { hasCode, KafkaBackupError } from '../../errors.ts'
import {
  type ByteRange,
  formatSum,
  type ListPageOptions,
  type MultipartApi,
  modifiedMsOf,
  type ObjectHead,
  type ObjectPage,
  type PartNumber,
  type PutCondition,
  type ReceivedBytes,
  sendUntilAborted,
  statedSize,
  type UploadedPart,
} from '../bucket/api.ts'
import { readBody } from '../bucket/read-body.ts'
import { refuseLargeRead } from '../object-limits.ts'
import { ForeignAnswer } from '../request-error.ts'
import { openS3Client } from './client.ts'
import { isOfS3, mapS3Error } from './error.ts'
import { type S3Checksum, type S3Options, s3Defaults } from './s3-options.ts'

/** User metadata of an object that a writer created. */
const tokenName = 'kafka-backup-writer'

/** The only file that sends requests to S3. It is loaded together with the SDK when a bucket is first used. */
export async function openS3Api(options: S3Options, location: string): Promise<MultipartApi> {
  return new SdkApi(await openS3Client(options), options, location)
}

class SdkApi implements MultipartApi {
  readonly #client: S3Client
  readonly #bucket: string
  readonly #folder: string
  readonly #location: string
  readonly #checksum: S3Checksum
  readonly #encryption: ReturnType<typeof encryptionFields>
  /** By a service or a profile, which may issue others. */
  readonly #isIssued: boolean

  constructor(client: S3Client, options: S3Options, location: string) {
    this.#client = client
    this.#bucket = options.bucket
    this.#folder = options.prefix ? `${options.prefix}/` : ''
    this.#location = location
    this.#checksum = options.checksum ?? s3Defaults.checksum
    this.#encryption = encryptionFields(options)
    this.#isIssued = options.accessKeyId === undefined
  }

  async put(key: string, body: Buffer, { ifAbsent, token }: PutCondition, signal: AbortSignal): Promise<void> {
    const command = new PutObjectCommand({
      ...this.#object(key),
      ...this.#encryption,
      ...checksumFields(this.#checksum, body),
      ...(ifAbsent && { IfNoneMatch: '*' }),
      ...(token !== undefined && { Metadata: { [tokenName]: token } }),
      Body: body,
      ContentLength: body.length,
      ContentType: 'application/octet-stream',
    })
    await this.#attempt(ifAbsent ? 'create' : 'replace', key, signal, abort => this.#client.send(command, abort))
  }

  async head(key: string, signal: AbortSignal): Promise<ObjectHead | undefined> {
    try {
      const command = new HeadObjectCommand(this.#object(key))
      const found = await this.#attempt('stat', key, signal, abort => this.#client.send(command, abort))
      return {
        size: statedSize(found.ContentLength, key, this.#location),
        modifiedMs: modifiedMsOf(found.LastModified),
        token: found.Metadata?.[tokenName],
        protectedUntilMs: found.ObjectLockRetainUntilDate?.getTime(),
      }
    } catch (error) {
      if (!hasCode(error, 'STORAGE_NOT_FOUND')) throw error
      if (!isOfS3(error.cause)) await this.#confirmMissing(key, signal)
      return undefined
    }
  }

  /** A response to HEAD has no error code, so a status 404 without a header of S3 proves nothing: that of a GET has one. */
  async #confirmMissing(key: string, signal: AbortSignal): Promise<void> {
    try {
      await this.get(key, { start: 0, length: 1 }, signal)
    } catch (error) {
      if (hasCode(error, 'STORAGE_NOT_FOUND')) return
      // An object without bytes has no range.
      if (!hasCode(error, 'STORAGE_SHORT')) throw error
    }
    const denied = new ForeignAnswer(404, 'the object exists')
    throw mapS3Error(denied, { action: 'stat', key, bucket: this.#bucket, location: this.#location })
  }

  async get(key: string, range: ByteRange | undefined, signal: AbortSignal): Promise<ReceivedBytes> {
    const Range = range && `bytes=${range.start}-${range.start + range.length - 1}`
    const command = new GetObjectCommand({ ...this.#object(key), ...(Range !== undefined && { Range }) })
    return this.#attempt('read', key, signal, async abort => {
      const { Body, ContentLength, ContentRange } = await this.#client.send(command, abort)
      const assertFits = (size: number) => range ?? refuseLargeRead(key, size, this.#location)
      const response = { body: Body as Readable, contentLength: ContentLength, contentRange: ContentRange }
      return readBody(response, range, assertFits)
    })
  }

  async listPage(
    folder: string,
    { foldersOnly, from, limit }: ListPageOptions,
    signal: AbortSignal,
  ): Promise<ObjectPage> {
    const prefix = this.#folder + (folder === '' ? '' : `${folder}/`)
    const command = new ListObjectsV2Command({
      Bucket: this.#bucket,
      ...(prefix !== '' && { Prefix: prefix }),
      ...(foldersOnly && { Delimiter: '/' }),
      ...(from !== undefined && { ContinuationToken: from }),
      ...(limit !== undefined && { MaxKeys: limit }),
    })
    const page = await this.#attempt('list', folder, signal, abort => this.#client.send(command, abort))
    return {
      objects: (page.Contents ?? []).map(({ Key = '', Size = 0, LastModified }) => ({
        key: Key.slice(this.#folder.length),
        size: Size,
        modifiedMs: modifiedMsOf(LastModified),
      })),
      folders: (page.CommonPrefixes ?? []).map(({ Prefix = '' }) => Prefix.slice(prefix.length, -1)),
      next: this.#nextOf(page),
    }
  }

  /** A truncated listing would look like a complete one: backups would be missing, and their objects swept. */
  #nextOf({ IsTruncated, NextContinuationToken }: ListObjectsV2CommandOutput): string | undefined {
    if (IsTruncated && !NextContinuationToken) {
      const what = `${this.#location} returns a truncated object listing without a continuation token`
      throw new KafkaBackupError('STORAGE_UNAVAILABLE', what)
    }
    return IsTruncated === false ? undefined : NextContinuationToken || undefined
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    const command = new DeleteObjectCommand(this.#object(key))
    await this.#attempt('remove', key, signal, abort => this.#client.send(command, abort))
  }

  async beginUpload(key: string, token: string, signal: AbortSignal): Promise<string> {
    const command = new CreateMultipartUploadCommand({
      ...this.#object(key),
      ...this.#encryption,
      ...uploadChecksumFields(this.#checksum),
      Metadata: { [tokenName]: token },
      ContentType: 'application/octet-stream',
    })
    const { UploadId } = await this.#attempt('begin', key, signal, abort => this.#client.send(command, abort))
    if (UploadId) return UploadId
    throw new KafkaBackupError('STORAGE_PROTOCOL', `${this.#location} returned no id for the upload`)
  }

  async putPart(key: string, part: PartNumber, body: Buffer, signal: AbortSignal): Promise<UploadedPart> {
    const sums = checksumFields(this.#checksum, body)
    const place = { ...this.#object(key), UploadId: part.uploadId, PartNumber: part.number }
    const command = new UploadPartCommand({ ...place, ...sums, Body: body, ContentLength: body.length })
    const { ETag = '' } = await this.#attempt('write', key, signal, abort => this.#client.send(command, abort))
    const { ContentMD5: _, ...checksum } = sums
    return { number: part.number, etag: ETag, checksum }
  }

  async completeUpload(
    key: string,
    uploadId: string,
    parts: readonly UploadedPart[],
    signal: AbortSignal,
  ): Promise<void> {
    const command = new CompleteMultipartUploadCommand({
      ...this.#object(key),
      UploadId: uploadId,
      IfNoneMatch: '*',
      MultipartUpload: {
        Parts: parts.map(({ number, etag, checksum }) => ({ PartNumber: number, ETag: etag, ...checksum })),
      },
    })
    await this.#attempt('create', key, signal, abort => this.#client.send(command, abort))
  }

  async abortUpload(key: string, uploadId: string, signal: AbortSignal): Promise<void> {
    const command = new AbortMultipartUploadCommand({ ...this.#object(key), UploadId: uploadId })
    await this.#attempt('abort', key, signal, abort => this.#client.send(command, abort))
  }

  close(): void {
    this.#client.destroy()
  }

  #object(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: this.#folder + key }
  }

  #attempt<T>(
    action: string,
    key: string,
    signal: AbortSignal,
    send: (abort: { abortSignal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    return sendUntilAborted(
      abort => this.#renewing(action, () => send(abort)),
      error => mapS3Error(error, { action, key, bucket: this.#bucket, location: this.#location }),
      signal,
    )
  }

  /** Credentials of a service may expire by the clock of the store before they do here. Sends once more with new ones. */
  async #renewing<T>(action: string, send: () => Promise<T>): Promise<T> {
    try {
      return await send()
    } catch (error) {
      if (!this.#isIssued || !mayBeExpired(error, action)) throw error
      await this.#client.config.credentials({ forceRefresh: true })
      return send()
    }
  }
}

/** A response to HEAD has no error code: S3 rejects expired credentials with the status alone. */
function mayBeExpired(error: unknown, action: string): boolean {
  if (!(error instanceof Error)) return false
  const { name, $metadata } = error as Error & { $metadata?: { httpStatusCode?: number } }
  return name === 'ExpiredToken' || (action === 'stat' && $metadata?.httpStatusCode === 400)
}

function encryptionFields({ sse = 'none', sseKmsKeyId, sseBucketKey }: S3Options): {
  ServerSideEncryption?: ServerSideEncryption
  SSEKMSKeyId?: string
  BucketKeyEnabled?: boolean
} {
  if (sse === 'none') return {}
  return {
    ServerSideEncryption: sse,
    ...(sseKmsKeyId !== undefined && { SSEKMSKeyId: sseKmsKeyId }),
    ...(sseBucketKey !== undefined && { BucketKeyEnabled: sseBucketKey }),
  }
}

/** The request fields by which the store checks the body; it rejects a body that does not match. */
export function checksumFields(kind: S3Checksum, body: Uint8Array): Record<string, string> {
  switch (kind) {
    case 'crc32c':
      return { ChecksumCRC32C: formatSum(crc32c(body)) }
    case 'crc32':
      return { ChecksumCRC32: formatSum(crc32(body)) }
    case 'sha256':
      return { ChecksumSHA256: createHash('sha256').update(body).digest('base64') }
    case 'md5':
      return { ContentMD5: createHash('md5').update(body).digest('base64') }
    case 'none':
      return {}
    default:
      return kind satisfies never
  }
}

/** A multipart upload must announce that its parts carry checksums. */
export function uploadChecksumFields(kind: S3Checksum): { ChecksumAlgorithm?: 'CRC32C' | 'CRC32' | 'SHA256' } {
  switch (kind) {
    case 'crc32c':
      return { ChecksumAlgorithm: 'CRC32C' }
    case 'crc32':
      return { ChecksumAlgorithm: 'CRC32' }
    case 'sha256':
      return { ChecksumAlgorithm: 'SHA256' }
    default:
      return {}
  }
}
