import { randomBytes } from 'node:crypto'
import { hasCode, KafkaBackupError } from '../../errors.ts'
import { untilAborted } from '../../lib/abort.ts'
import type { Semaphore } from '../../lib/semaphore.ts'
import type { ObjectWriter } from '../storage.ts'
import type { BucketApi, MultipartApi, UploadedPart } from './api.ts'
import { PartBuffer, type PartMemory } from './part-buffer.ts'

export interface WriterParts<Api extends BucketApi> {
  api: Api
  memory: PartMemory
  /** Limits the parts that are being uploaded. */
  uploads: Semaphore
  /** Retries a request whose bytes only the writer still has. */
  retried: <T>(key: string, call: () => Promise<T>, signal: AbortSignal) => Promise<T>
  /** Runs cleanup; its signal is aborted after a while. */
  briefly: (work: (signal: AbortSignal) => Promise<void>) => Promise<void>
  onEnd: () => void
}

/**
 * Collects written bytes in parts. An object that fits in one part is one PUT at `commit`. A larger one is an upload
 * whose parts are sent in the background while the next one fills; `commit` sends the last part.
 *
 * The object carries a random token of this writer, which a `commit` that finds the key taken compares.
 */
export abstract class BucketWriter<Api extends BucketApi> implements ObjectWriter {
  protected readonly key: string
  protected readonly parts: WriterParts<Api>
  protected readonly token = randomBytes(12).toString('hex')
  /** Aborts the uploads in the background. */
  protected readonly stop = new AbortController()
  protected filling: PartBuffer
  #state: 'open' | 'sealed' | 'done' | 'aborted' = 'open'
  readonly #leaveMemory: () => void
  /** Set once content is missing; nothing is published after that. */
  #failure: { error: unknown } | undefined
  #isUploadInDoubt = false

  constructor(key: string, parts: WriterParts<Api>) {
    this.key = key
    this.parts = parts
    this.filling = new PartBuffer(parts.memory, true)
    this.#leaveMemory = parts.memory.join()
  }

  protected abstract readonly hasUpload: boolean
  /** Sends the full part in the background. */
  protected abstract sendPart(signal: AbortSignal): Promise<void>
  /** Sends the last part and creates the object. */
  protected abstract completeUpload(signal: AbortSignal): Promise<void>
  protected abstract dropUpload(signal: AbortSignal): Promise<void>

  get isSpent(): boolean {
    return this.#failure !== undefined
  }

  /** The error when the store no longer has the upload and there is no object: a new upload of the same bytes can succeed. */
  protected lostUpload(error: unknown): unknown {
    if (!hasCode(error, 'STORAGE_NOT_FOUND')) return error
    const message = `the store lost the upload of ${JSON.stringify(this.key)}: ${error.message}`
    const help = 'The store answered, but no longer has these bytes; run the command again to upload them again.'
    return new KafkaBackupError('STORAGE_UNAVAILABLE', message, { cause: error, help })
  }

  async write(chunks: readonly Uint8Array[], signal: AbortSignal): Promise<void> {
    this.assertUsable()
    if (this.#state !== 'open') throw new KafkaBackupError('INTERNAL', 'a write to a writer that was committed')
    try {
      signal.throwIfAborted()
      for (const chunk of chunks) {
        for (let at = 0; at < chunk.length; ) {
          if (this.filling.isFull) await this.sendPart(signal)
          if (this.filling.isEmpty && !this.parts.memory.hasRoom) await this.parts.memory.room(signal)
          at += this.filling.fill(chunk.subarray(at))
        }
      }
    } catch (error) {
      this.#failure ??= { error }
      throw error
    }
  }

  async commit(signal: AbortSignal): Promise<void> {
    if (this.#state === 'done') return
    this.assertUsable()
    signal.throwIfAborted()
    this.#state = 'sealed'
    this.#leaveMemory()
    await this.#publish(signal)
    this.#end('done')
  }

  async abort(): Promise<void> {
    if (this.#state === 'done' || this.#state === 'aborted') return
    this.#end('aborted')
    this.stop.abort(new KafkaBackupError('INTERNAL', 'a call to a writer that was aborted'))
    if (!this.hasUpload) return
    try {
      await this.parts.briefly(signal => this.dropUpload(signal))
    } catch {
      // The store removes incomplete uploads by a rule of the bucket or after a week; they never become an object.
    }
  }

  /** Takes the part that is filled and uploads it in the background once a permit is free. The result never rejects. */
  protected async sendInBackground<T>(
    upload: (bytes: Buffer) => Promise<T>,
    signal: AbortSignal,
  ): Promise<{ sent: Promise<T | undefined> }> {
    const release = await this.parts.uploads.acquire(signal)
    if (this.#failure !== undefined) {
      release()
      throw this.#failure.error
    }
    const part = this.filling
    this.filling = new PartBuffer(this.parts.memory, false)
    const sent = upload(part.bytes)
      .catch(error => {
        this.#failure ??= { error }
        return undefined
      })
      .finally(() => {
        part.free()
        release()
      })
    return { sent }
  }

  protected assertUsable(): void {
    if (this.#failure !== undefined) throw this.#failure.error
    if (this.#state === 'aborted') throw new KafkaBackupError('INTERNAL', 'a call to a writer that was aborted')
  }

  /** The key is taken, or the upload is gone: both also happen when an earlier attempt took effect. */
  async #publish(signal: AbortSignal): Promise<void> {
    const { api } = this.parts
    try {
      if (this.hasUpload) await this.completeUpload(signal)
      else await api.put(this.key, this.filling.bytes, { ifAbsent: true, token: this.token }, signal)
    } catch (error) {
      if (!hasCode(error, 'STORAGE_EXISTS', 'STORAGE_NOT_FOUND')) throw error
      const found = await api.head(this.key, signal)
      if (found?.token === this.token) return
      if (found === undefined && this.hasUpload) throw this.#missing(error)
      if (found === undefined || error.code === 'STORAGE_EXISTS') throw error
      throw new KafkaBackupError('STORAGE_EXISTS', `${JSON.stringify(this.key)} was created by another writer`, {
        cause: error,
        details: { key: this.key },
      })
    }
  }

  /** During a fail-over, a store may not know an upload for a moment: one more `commit` can succeed. */
  #missing(error: unknown): unknown {
    const lost = this.lostUpload(error)
    if (this.#isUploadInDoubt) this.#failure ??= { error: lost }
    this.#isUploadInDoubt = true
    return lost
  }

  #end(state: 'done' | 'aborted'): void {
    this.#state = state
    this.#leaveMemory()
    this.filling.free()
    this.parts.onEnd()
  }
}

/** Uploads the parts of an object at the same time. `write` waits only while all uploads are busy. */
export class MultipartWriter extends BucketWriter<MultipartApi> {
  readonly #uploading: Promise<UploadedPart | undefined>[] = []
  #uploadId: Promise<string> | undefined

  protected get hasUpload(): boolean {
    return this.#uploadId !== undefined
  }

  protected async sendPart(signal: AbortSignal): Promise<void> {
    const number = this.#uploading.length + 1
    const { sent } = await this.sendInBackground(bytes => this.#upload(number, bytes), signal)
    this.#uploading.push(sent)
  }

  protected async completeUpload(signal: AbortSignal): Promise<void> {
    if (this.filling.bytes.length > 0) await this.sendPart(signal)
    const parts = await untilAborted(Promise.all(this.#uploading), signal)
    this.assertUsable()
    const [uploadId, sent] = [await this.#uploadId, parts.filter(part => part !== undefined)]
    if (uploadId === undefined) throw new KafkaBackupError('INTERNAL', 'parts without an upload')
    await this.parts.api.completeUpload(this.key, uploadId, sent, signal)
  }

  protected async dropUpload(signal: AbortSignal): Promise<void> {
    const { api, retried } = this.parts
    const uploadId = await untilAborted(this.#uploadId ?? Promise.resolve(undefined), signal)
    await untilAborted(Promise.all(this.#uploading), signal)
    if (uploadId !== undefined) await retried(this.key, () => api.abortUpload(this.key, uploadId, signal), signal)
  }

  async #upload(number: number, body: Buffer): Promise<UploadedPart> {
    const { api, retried } = this.parts
    const { signal } = this.stop
    // Not aborted: an upload whose id is unknown cannot be discarded.
    const never = new AbortController().signal
    this.#uploadId ??= retried(this.key, () => api.beginUpload(this.key, this.token, never), signal)
    const uploadId = await this.#uploadId
    try {
      return await retried(this.key, () => api.putPart(this.key, { uploadId, number }, body, signal), signal)
    } catch (error) {
      throw this.lostUpload(error)
    }
  }
}
