import { randomBytes } from 'node:crypto'
import { hasCode, KafkaBackupError } from '../../errors.ts'
import { PartBuffer, type PartMemory } from '../part-buffer.ts'
import type { Slots } from '../slots.ts'
import type { ObjectWriter } from '../storage.ts'
import { untilAborted } from '../until-aborted.ts'
import type { BucketApi, UploadedPart } from './api.ts'

export interface BucketWriterParts {
  api: BucketApi
  memory: PartMemory
  slots: Slots
  /** Repeats a request whose bytes nobody but the writer has any more. */
  again: <T>(key: string, call: () => Promise<T>, signal: AbortSignal) => Promise<T>
  /** Runs what must not take long; its signal is aborted after a while. */
  briefly: (work: (signal: AbortSignal) => Promise<void>) => Promise<void>
  onEnd: () => void
}

/**
 * Gathers what is written in parts. What fits one part becomes one PUT at `commit`; what does not becomes a multipart
 * upload whose parts travel in the background while the next one fills. `write` waits only when all slots are taken.
 *
 * The object carries a random token of this writer: a `commit` that finds the key taken looks whose object it is.
 */
export class BucketWriter implements ObjectWriter {
  readonly #key: string
  readonly #with: BucketWriterParts
  readonly #token = randomBytes(12).toString('hex')
  /** Ends what is under way in the background. */
  readonly #stop = new AbortController()
  readonly #uploading: Promise<UploadedPart | undefined>[] = []
  #filling: PartBuffer
  #uploadId: Promise<string> | undefined
  #state: 'open' | 'sealed' | 'done' | 'aborted' = 'open'
  /** Set once content is missing; nothing is published after that. */
  #failure: { error: unknown } | undefined

  constructor(key: string, parts: BucketWriterParts) {
    this.#key = key
    this.#with = parts
    this.#filling = new PartBuffer(parts.memory, true)
  }

  async write(chunks: readonly Uint8Array[], signal: AbortSignal): Promise<void> {
    this.#assertUsable()
    if (this.#state !== 'open') throw new KafkaBackupError('INTERNAL', 'a write to a writer that was committed')
    try {
      signal.throwIfAborted()
      for (const chunk of chunks) {
        for (let at = 0; at < chunk.length; ) {
          at += this.#filling.fill(chunk.subarray(at))
          if (this.#filling.isFull) await this.#sendPart(signal)
        }
      }
    } catch (error) {
      this.#failure ??= { error }
      throw error
    }
  }

  async commit(signal: AbortSignal): Promise<void> {
    if (this.#state === 'done') return
    this.#assertUsable()
    signal.throwIfAborted()
    if (this.#uploading.length === 0) await this.#putWhole(signal)
    else await this.#complete(signal)
    this.#end('done')
  }

  async abort(): Promise<void> {
    if (this.#state === 'done' || this.#state === 'aborted') return
    this.#end('aborted')
    this.#stop.abort(new KafkaBackupError('INTERNAL', 'a call to a writer that was aborted'))
    if (this.#uploadId !== undefined) await this.#dropUpload(this.#uploadId)
  }

  /** Without its upload no part costs money any more. A store that does not answer keeps nobody waiting for long. */
  async #dropUpload(opening: Promise<string>): Promise<void> {
    const { api, again, briefly } = this.#with
    try {
      await briefly(async signal => {
        const uploadId = await untilAborted(opening, signal)
        await untilAborted(Promise.all(this.#uploading), signal)
        await again(this.#key, () => api.abortUpload(this.#key, uploadId, signal), signal)
      })
    } catch {
      // What is left is for the bucket's rule for incomplete uploads.
    }
  }

  async #putWhole(signal: AbortSignal): Promise<void> {
    this.#state = 'sealed'
    const condition = { ifAbsent: true, token: this.#token }
    await this.#unlessOwn(() => this.#with.api.put(this.#key, this.#filling.bytes, condition, signal), signal)
  }

  async #complete(signal: AbortSignal): Promise<void> {
    if (this.#filling.bytes.length > 0) await this.#sendPart(signal)
    this.#state = 'sealed'
    const parts = await untilAborted(Promise.all(this.#uploading), signal)
    this.#assertUsable()
    const [uploadId, sent] = [await this.#uploadId, parts.filter(part => part !== undefined)]
    if (uploadId === undefined) throw new KafkaBackupError('INTERNAL', 'parts without an upload')
    await this.#unlessOwn(() => this.#with.api.completeUpload(this.#key, uploadId, sent, signal), signal)
  }

  /** The key is taken, or the upload is gone: both are what a repetition finds when an earlier try took effect. */
  async #unlessOwn(publish: () => Promise<void>, signal: AbortSignal): Promise<void> {
    try {
      await publish()
    } catch (error) {
      if (!hasCode(error, 'STORAGE_EXISTS', 'STORAGE_NOT_FOUND')) throw error
      const found = await this.#with.api.head(this.#key, signal)
      if (found?.token === this.#token) return
      if (found === undefined || error.code === 'STORAGE_EXISTS') throw error
      throw new KafkaBackupError('STORAGE_EXISTS', `${JSON.stringify(this.#key)} was written by another`, {
        cause: error,
      })
    }
  }

  /** Hands the part over to the background as soon as there is a slot for it. */
  async #sendPart(signal: AbortSignal): Promise<void> {
    const release = await this.#with.slots.acquire(signal)
    if (this.#failure) {
      release()
      throw this.#failure.error
    }
    const part = this.#filling
    this.#filling = new PartBuffer(this.#with.memory, false)
    const number = this.#uploading.length + 1
    this.#uploading.push(
      this.#upload(number, part.bytes)
        .catch(error => {
          this.#failure ??= { error }
          return undefined
        })
        .finally(() => {
          part.free()
          release()
        }),
    )
  }

  async #upload(number: number, body: Buffer): Promise<UploadedPart> {
    const { api, again } = this.#with
    const { signal } = this.#stop
    // Not cut short: an upload whose id was never heard could not be dropped.
    const whole = new AbortController().signal
    this.#uploadId ??= again(this.#key, () => api.beginUpload(this.#key, this.#token, whole), signal)
    const uploadId = await this.#uploadId
    return again(this.#key, () => api.putPart(this.#key, { uploadId, number }, body, signal), signal)
  }

  #assertUsable(): void {
    if (this.#failure !== undefined) throw this.#failure.error
    if (this.#state === 'aborted') throw new KafkaBackupError('INTERNAL', 'a call to a writer that was aborted')
  }

  #end(state: 'done' | 'aborted'): void {
    this.#state = state
    this.#filling.free()
    this.#with.onEnd()
  }
}
