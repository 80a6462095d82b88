import { randomBytes } from 'node:crypto'
import { crc32c } from '@node-rs/crc32'
import { hasCode, KafkaBackupError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { HttpAnswer } from '../../lib/http.ts'
import {
  type ByteRange,
  cutRange,
  formatSum,
  type ListPageOptions,
  type ObjectHead,
  type ObjectPage,
  type PutCondition,
  parseContentRange,
  type ReceivedBytes,
  statedSize,
} from '../bucket/api.ts'
import { maxBytesOf } from '../object-limits.ts'
import { ForeignAnswer } from '../request-error.ts'
import type { GcsApi, GcsChunk, GcsSession, UploadState } from './api.ts'
import { type GcsConnection, type GcsRequest, openGcsConnection } from './connection.ts'
import type { GcsOptions } from './gcs-options.ts'
import { parseHashHeader, parseObject, parsePage, parseState } from './resources.ts'

/** User metadata of an object that a writer created. */
const tokenName = 'kafka-backup-writer'

const octets = 'application/octet-stream'

/** The requests of the JSON API. The first one also asks for credentials. */
export async function openGcsApi(options: GcsOptions, location: string, clock?: Clock): Promise<GcsApi> {
  return new JsonApi(await openGcsConnection(options, location, clock), options, location)
}

class JsonApi implements GcsApi {
  readonly #connection: GcsConnection
  readonly #bucket: string
  readonly #folder: string
  readonly #location: string
  /** Query parameters of every request, and of those that create an object. */
  readonly #common: Record<string, string>
  readonly #creation: Record<string, string>

  constructor(connection: GcsConnection, options: GcsOptions, location: string) {
    const { bucket, prefix, userProject, kmsKeyName } = options
    this.#connection = connection
    this.#location = location
    this.#bucket = encodeURIComponent(bucket)
    this.#folder = prefix ? `${prefix}/` : ''
    this.#common = userProject === undefined ? {} : { userProject }
    this.#creation = kmsKeyName === undefined ? {} : { kmsKeyName }
  }

  async put(key: string, body: Buffer, { ifAbsent, token }: PutCondition, signal: AbortSignal): Promise<void> {
    const boundary = `kafka-backup-${randomBytes(12).toString('hex')}`
    const resource = { ...this.#resource(key, token), crc32c: formatSum(crc32c(body)) }
    const head = `--${boundary}\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n${JSON.stringify(resource)}`
    const request = {
      method: 'POST',
      path: this.#uploads({ uploadType: 'multipart', ...(ifAbsent && { ifGenerationMatch: '0' }) }),
      headers: { 'content-type': `multipart/related; boundary=${boundary}` },
      body: [
        Buffer.from(`${head}\r\n--${boundary}\r\ncontent-type: ${octets}\r\n\r\n`),
        body,
        Buffer.from(`\r\n--${boundary}--\r\n`),
      ],
    }
    const call = { action: ifAbsent ? 'create' : 'replace', key, missing: 'bucket' } as const
    await this.#connection.receive(request, call, parseObject, signal)
  }

  async head(key: string, signal: AbortSignal): Promise<ObjectHead | undefined> {
    const path = this.#object(key, { fields: 'kind,size,timeCreated,updated,metadata,retentionExpirationTime' })
    const call = { action: 'stat', key, missing: 'object' } as const
    try {
      const found = await this.#connection.receive({ method: 'GET', path }, call, parseObject, signal)
      const size = statedSize(found.size, key, this.#location)
      const { modifiedMs, protectedUntilMs } = found
      return { size, modifiedMs, token: found.metadata[tokenName], protectedUntilMs }
    } catch (error) {
      if (hasCode(error, 'STORAGE_NOT_FOUND')) return undefined
      throw error
    }
  }

  async get(key: string, range: ByteRange | undefined, signal: AbortSignal): Promise<ReceivedBytes> {
    const path = `/download${this.#object(key, { alt: 'media' })}`
    const wanted = range
      ? { headers: { range: `bytes=${range.start}-${range.start + range.length - 1}` } }
      : { maxBytes: maxBytesOf(key) }
    const answer = await this.#download(key, { method: 'GET', path, ...wanted }, range, signal)
    const { status, headers, body } = answer
    const hasLength = headers['content-length'] !== undefined
    if (range !== undefined) return { bytes: cutRange(body, range, status === 206), isMeasured: hasLength }
    const expected = parseHashHeader(headers['x-goog-hash'])
    if (expected === undefined || expected === formatSum(crc32c(body))) {
      return { bytes: body, isMeasured: hasLength || expected !== undefined }
    }
    throw new KafkaBackupError('STORAGE_UNAVAILABLE', `the bytes of ${JSON.stringify(key)} were corrupted in transit`)
  }

  async listPage(
    folder: string,
    { foldersOnly, from, limit = 1000 }: ListPageOptions,
    signal: AbortSignal,
  ): Promise<ObjectPage> {
    const prefix = this.#folder + (folder === '' ? '' : `${folder}/`)
    const query = {
      ...(prefix !== '' && { prefix }),
      ...(foldersOnly && { delimiter: '/' }),
      ...(from !== undefined && { pageToken: from }),
      maxResults: String(limit),
      fields: 'kind,items(name,size,timeCreated,updated),prefixes,nextPageToken',
    }
    const path = `/storage/v1/b/${this.#bucket}/o?${this.#query(query)}`
    const call = { action: 'list', key: folder, missing: 'bucket' } as const
    const { items, prefixes, next } = await this.#connection.receive({ method: 'GET', path }, call, parsePage, signal)
    return {
      objects: items.map(({ name, size = 0, modifiedMs }) => {
        return { key: name.slice(this.#folder.length), size, modifiedMs }
      }),
      folders: prefixes.map(name => name.slice(prefix.length, -1)),
      next,
    }
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    const call = { action: 'remove', key, missing: 'object' } as const
    await this.#connection.send({ method: 'DELETE', path: this.#object(key, {}) }, call, signal)
  }

  async beginUpload(key: string, token: string, signal: AbortSignal): Promise<GcsSession> {
    const request = {
      method: 'POST',
      path: this.#uploads({ uploadType: 'resumable', ifGenerationMatch: '0' }),
      headers: { 'content-type': 'application/json; charset=UTF-8', 'x-upload-content-type': octets },
      body: [Buffer.from(JSON.stringify(this.#resource(key, token)))],
    }
    const answer = await this.#connection.send(request, { action: 'begin', key, missing: 'bucket' }, signal)
    return this.#connection.sessionOf(answer)
  }

  async putChunk(key: string, session: GcsSession, chunk: GcsChunk, signal: AbortSignal): Promise<UploadState> {
    const { start, body, total } = chunk
    const length = body.reduce((sum, piece) => sum + piece.length, 0)
    const bytes = length === 0 ? '*' : `${start}-${start + length - 1}`
    const headers = {
      'content-range': `bytes ${bytes}/${total?.bytes ?? '*'}`,
      ...(total && { 'x-goog-hash': `crc32c=${formatSum(total.crc32c)}` }),
    }
    return this.#ofSession(total ? 'create' : 'write', key, { session, headers, body }, signal)
  }

  async uploadState(key: string, session: GcsSession, signal: AbortSignal): Promise<UploadState> {
    const headers = { 'content-range': 'bytes */*' }
    return this.#ofSession('ask about', key, { session, headers }, signal)
  }

  async cancelUpload(key: string, session: GcsSession, signal: AbortSignal): Promise<void> {
    const call = { action: 'cancel', key, missing: 'upload', expected: [499] } as const
    const headers = { 'content-length': '0' }
    await this.#connection.send({ method: 'DELETE', path: session, headers }, call, signal)
  }

  close(): void {
    this.#connection.close()
  }

  /** Emulators answer a download of a missing object in plain text, which proves nothing; the metadata of the object do. */
  async #download(
    key: string,
    request: GcsRequest,
    range: ByteRange | undefined,
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    const call = { action: 'read', key, missing: 'object', isDownload: true } as const
    try {
      const assertRange = (answer: HttpAnswer) => {
        parseContentRange(answer.headers['content-range'], range)
        return answer
      }
      return await this.#connection.receive(request, call, assertRange, signal)
    } catch (error) {
      if (!isUnproven(error) || (await this.head(key, signal)) !== undefined) throw error
      throw new KafkaBackupError('STORAGE_NOT_FOUND', `${JSON.stringify(key)} does not exist in ${this.#location}`, {
        cause: error,
      })
    }
  }

  #ofSession(
    action: string,
    key: string,
    { session, headers, body }: { session: GcsSession; headers: Record<string, string>; body?: readonly Buffer[] },
    signal: AbortSignal,
  ): Promise<UploadState> {
    const request = { method: 'PUT', path: session, headers, body: body ?? [] }
    const call = { action, key, missing: 'upload', expected: [308] } as const
    return this.#connection.receive(request, call, parseState, signal)
  }

  #resource(key: string, token: string | undefined): Record<string, unknown> {
    const metadata = token === undefined ? {} : { metadata: { [tokenName]: token } }
    return { name: this.#folder + key, contentType: octets, ...metadata }
  }

  #object(key: string, query: Record<string, string>): string {
    const path = `/storage/v1/b/${this.#bucket}/o/${encodeURIComponent(this.#folder + key)}`
    const text = this.#query(query)
    return text === '' ? path : `${path}?${text}`
  }

  #uploads(query: Record<string, string>): string {
    return `/upload/storage/v1/b/${this.#bucket}/o?${this.#query({ ...query, ...this.#creation })}`
  }

  #query(query: Record<string, string>): string {
    return new URLSearchParams({ ...query, ...this.#common }).toString()
  }
}

function isUnproven(error: unknown): boolean {
  return hasCode(error, 'STORAGE_PROTOCOL') && error.cause instanceof ForeignAnswer && error.cause.status === 404
}
