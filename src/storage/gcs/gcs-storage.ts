import { crc32c } from '@node-rs/crc32'
import { KafkaBackupError } from '../../errors.ts'
import { untilAborted } from '../../lib/abort.ts'
import { formatSum } from '../bucket/api.ts'
import { type BucketStorageParts, openBucketStorage } from '../bucket/bucket-storage.ts'
import { BucketWriter } from '../bucket/writer.ts'
import { parsePrefix } from '../key.ts'
import type { Storage } from '../storage.ts'
import type { GcsApi, GcsSession, UploadState } from './api.ts'
import { formatGcsLocation, type GcsOptions, gcsDefaults, resolveGcsOptions } from './gcs-options.ts'
import { openGcsApi } from './json-api.ts'

/** Nothing is requested before the first call, not even credentials. */
export function openGcsStorage(given: GcsOptions, parts: BucketStorageParts): Storage {
  const prefix = parsePrefix(given.prefix ?? '')
  const options = { ...resolveGcsOptions(given), ...(prefix !== '' && { prefix }) }
  const { partSizeBytes, uploads } = { ...gcsDefaults, ...options }
  const location = formatGcsLocation(options)
  const openApi = () => openGcsApi(options, location, parts.clock)
  return openBucketStorage({ location, partSizeBytes, uploads, openApi, Writer: GcsWriter }, parts)
}

interface WaitingPart {
  body: Buffer
  onSent(): void
  onFailure(error: unknown): void
}

/**
 * Sends the parts of an object as a resumable upload, which takes one request at a time: parts that become full meanwhile travel
 * together in the next one. The object appears with the last.
 */
export class GcsWriter extends BucketWriter<GcsApi> {
  #upload: Promise<GcsUpload> | undefined
  #waiting: WaitingPart[] = []
  #isSending = false
  /** No byte may follow those that were not sent. */
  #failure: { error: unknown } | undefined
  /** Settles when the last part that was handed over is sent, and so those before it. Never rejects. */
  #lastSent: Promise<unknown> = Promise.resolve()

  protected get hasUpload(): boolean {
    return this.#upload !== undefined
  }

  protected async sendPart(signal: AbortSignal): Promise<void> {
    const { sent } = await this.sendInBackground(bytes => this.#send(bytes), signal)
    this.#lastSent = sent
  }

  protected async completeUpload(signal: AbortSignal): Promise<void> {
    await untilAborted(this.#lastSent, signal)
    this.assertUsable()
    const upload = await this.#upload
    await upload?.send([this.filling.bytes], true, signal)
  }

  protected async dropUpload(signal: AbortSignal): Promise<void> {
    const upload = await untilAborted(this.#upload ?? Promise.resolve(undefined), signal)
    await untilAborted(this.#lastSent, signal)
    if (upload) await this.parts.retried(this.key, () => upload.cancel(signal), signal)
  }

  #send(body: Buffer): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure.error)
    this.#upload ??= this.#begin()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.push({ body, onSent: resolve, onFailure: reject })
    if (!this.#isSending) void this.#sendWaiting()
    return promise
  }

  async #sendWaiting(): Promise<void> {
    this.#isSending = true
    while (this.#waiting.length > 0) {
      const parts = this.#waiting
      this.#waiting = []
      try {
        await this.#sendAll(parts.map(({ body }) => body))
        for (const { onSent } of parts) onSent()
      } catch (error) {
        this.#failure = { error }
        for (const { onFailure } of [...parts, ...this.#waiting]) onFailure(error)
        this.#waiting = []
      }
    }
    this.#isSending = false
  }

  async #sendAll(bodies: readonly Buffer[]): Promise<void> {
    const { signal } = this.stop
    const upload = await this.#upload
    try {
      await this.parts.retried(this.key, async () => upload?.send(bodies, false, signal), signal)
    } catch (error) {
      throw this.lostUpload(error)
    }
  }

  /** Not aborted: an upload whose address is unknown cannot be discarded. */
  async #begin(): Promise<GcsUpload> {
    const { api, retried } = this.parts
    const never = new AbortController().signal
    const begin = () => api.beginUpload(this.key, this.token, never)
    return new GcsUpload(api, this.key, await retried(this.key, begin, this.stop.signal))
  }
}

/**
 * A resumable upload: its parts are sent one after the other, and the object appears with the last. After a lost response
 * it asks the session how many bytes have arrived, so no byte is sent twice or skipped.
 */
class GcsUpload {
  readonly #api: GcsApi
  readonly #key: string
  readonly #session: GcsSession
  /** Bytes of the parts before the one that is being sent. */
  #sentBytes = 0
  #sum = 0
  #isUncertain = false

  constructor(api: GcsApi, key: string, session: GcsSession) {
    this.#api = api
    this.#key = key
    this.#session = session
  }

  /** One attempt. After a failure it may be repeated with the same bytes. */
  async send(body: readonly Buffer[], isLast: boolean, signal: AbortSignal): Promise<void> {
    const end = body.reduce((bytes, piece) => bytes + piece.length, this.#sentBytes)
    const sum = body.reduce((before, piece) => crc32c(piece, before), this.#sum)
    const total = isLast ? { total: { bytes: end, crc32c: sum } } : {}
    let state = await this.#state(signal)
    while (!this.#isComplete(state, { end, sum, isLast })) {
      const start = this.#startOf(state, end)
      this.#isUncertain = true
      const rest = skipBytes(body, start - this.#sentBytes)
      const next = await this.#api.putChunk(this.#key, this.#session, { start, body: rest, ...total }, signal)
      this.#isUncertain = false
      if (!next.isDone && next.persisted <= start) throw this.#failed('accepted none of the bytes')
      state = next
    }
    this.#sentBytes = end
    this.#sum = sum
  }

  cancel(signal: AbortSignal): Promise<void> {
    return this.#api.cancelUpload(this.#key, this.#session, signal)
  }

  async #state(signal: AbortSignal): Promise<UploadState> {
    if (!this.#isUncertain) return { isDone: false, persisted: this.#sentBytes }
    const state = await this.#api.uploadState(this.#key, this.#session, signal)
    this.#isUncertain = false
    return state
  }

  #isComplete(state: UploadState, { end, sum, isLast }: { end: number; sum: number; isLast: boolean }): boolean {
    if (!state.isDone) return !isLast && state.persisted === end
    if (isLast && (state.crc32c === undefined || state.crc32c === formatSum(sum))) return true
    throw new KafkaBackupError('STORAGE_REFUSED', `the store created other bytes for ${JSON.stringify(this.#key)}`)
  }

  /** A session keeps the bytes that it once reported; after any other state the upload cannot continue. */
  #startOf(state: UploadState, end: number): number {
    if (!state.isDone && state.persisted >= this.#sentBytes && state.persisted <= end) return state.persisted
    throw this.#failed('lost its state')
  }

  #failed(what: string): KafkaBackupError {
    return new KafkaBackupError('STORAGE_UNAVAILABLE', `the upload of ${JSON.stringify(this.#key)} ${what}`)
  }
}

function skipBytes(pieces: readonly Buffer[], bytes: number): Buffer[] {
  let left = bytes
  return pieces.flatMap(piece => {
    const skipped = Math.min(left, piece.length)
    left -= skipped
    return skipped < piece.length ? [piece.subarray(skipped)] : []
  })
}
