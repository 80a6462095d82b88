import { randomBytes } from 'node:crypto'
import { hasCode, KafkaBackupError } from '../../errors.ts'
import { PartBuffer, type PartMemory } from '../part-buffer.ts'
import type { Slots } from '../slots.ts'
import type { ObjectWriter } from '../storage.ts'
import { untilAborted } from '../until-aborted.ts'
import type { GcsApi } from './api.ts'
import { GcsUpload } from './upload.ts'

export interface GcsWriterParts {
  api: GcsApi
  memory: PartMemory
  slots: Slots
  /** Repeats a request whose bytes nobody but the writer has any more. */
  again: <T>(key: string, call: () => Promise<T>, signal: AbortSignal) => Promise<T>
  /** Runs what must not take long; its signal is aborted after a while. */
  briefly: (work: (signal: AbortSignal) => Promise<void>) => Promise<void>
  onEnd: () => void
}

/**
 * Gathers what is written in parts. What fits one part becomes one request at `commit`; what does not becomes a resumable
 * upload, of which one part travels in the background while the next one fills. The last part is kept back for `commit`,
 * since the object appears with it.
 *
 * The object carries a random token of this writer: a `commit` that finds the key taken looks whose object it is.
 */
export class GcsWriter implements ObjectWriter {
  readonly #key: string
  readonly #with: GcsWriterParts
  readonly #token = randomBytes(12).toString('hex')
  /** Ends what is under way in the background. */
  readonly #stop = new AbortController()
  #filling: PartBuffer
  #upload: Promise<GcsUpload> | undefined
  /** The part that is on its way; it never rejects. */
  #sending: Promise<void> = Promise.resolve()
  #state: 'open' | 'sealed' | 'done' | 'aborted' = 'open'
  /** Set once content is missing; nothing is published after that. */
  #failure: { error: unknown } | undefined

  constructor(key: string, parts: GcsWriterParts) {
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
          if (this.#filling.isFull) await this.#sendPart(signal)
          at += this.#filling.fill(chunk.subarray(at))
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
    this.#state = 'sealed'
    await this.#unlessOwn(() => (this.#upload ? this.#complete(this.#upload, signal) : this.#putWhole(signal)), signal)
    this.#end('done')
  }

  async abort(): Promise<void> {
    if (this.#state === 'done' || this.#state === 'aborted') return
    this.#end('aborted')
    this.#stop.abort(new KafkaBackupError('INTERNAL', 'a call to a writer that was aborted'))
    if (this.#upload !== undefined) await this.#dropUpload(this.#upload)
  }

  /** A store that does not answer keeps nobody waiting for long. */
  async #dropUpload(opening: Promise<GcsUpload>): Promise<void> {
    const { again, briefly } = this.#with
    try {
      await briefly(async signal => {
        const upload = await untilAborted(opening, signal)
        await untilAborted(this.#sending, signal)
        await again(this.#key, () => upload.cancel(signal), signal)
      })
    } catch {
      // A session that is left runs out after a week, and what it has is never an object.
    }
  }

  #putWhole(signal: AbortSignal): Promise<void> {
    const condition = { ifAbsent: true, token: this.#token }
    return this.#with.api.put(this.#key, this.#filling.bytes, condition, signal)
  }

  async #complete(opening: Promise<GcsUpload>, signal: AbortSignal): Promise<void> {
    await untilAborted(this.#sending, signal)
    this.#assertUsable()
    await (await opening).send(this.#filling.bytes, true, signal)
  }

  /** The key is taken, or the upload is gone: both are what a repetition finds when an earlier try took effect. */
  async #unlessOwn(publish: () => Promise<void>, signal: AbortSignal): Promise<void> {
    try {
      await publish()
    } catch (error) {
      if (!hasCode(error, 'STORAGE_EXISTS', 'STORAGE_NOT_FOUND')) throw error
      const found = await this.#with.api.head(this.#key, signal)
      if (found?.token === this.#token) return
      if (found === undefined && this.#upload) throw passing(error)
      if (found === undefined || error.code === 'STORAGE_EXISTS') throw error
      throw new KafkaBackupError('STORAGE_EXISTS', `${JSON.stringify(this.#key)} was written by another`, {
        cause: error,
      })
    }
  }

  /** Hands the part over to the background when the one before has arrived and there is a slot for it. */
  async #sendPart(signal: AbortSignal): Promise<void> {
    await untilAborted(this.#sending, signal)
    this.#assertUsable()
    const release = await this.#with.slots.acquire(signal)
    const part = this.#filling
    this.#filling = new PartBuffer(this.#with.memory, false)
    this.#sending = this.#send(part.bytes)
      .catch(error => {
        this.#failure ??= { error }
      })
      .finally(() => {
        part.free()
        release()
      })
  }

  async #send(body: Buffer): Promise<void> {
    const { signal } = this.#stop
    this.#upload ??= this.#begin()
    const upload = await this.#upload
    try {
      await this.#with.again(this.#key, () => upload.send(body, false, signal), signal)
    } catch (error) {
      throw passing(error)
    }
  }

  /** Not cut short: an upload whose address was never heard could not be dropped. */
  async #begin(): Promise<GcsUpload> {
    const { api, again } = this.#with
    const whole = new AbortController().signal
    const begin = () => api.beginUpload(this.#key, this.#token, whole)
    return new GcsUpload(api, this.#key, await again(this.#key, begin, this.#stop.signal))
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

/** Google ends an upload now and then; a new one, by whoever has the bytes, may fare better. */
function passing(error: unknown): unknown {
  if (!hasCode(error, 'STORAGE_NOT_FOUND')) return error
  return new KafkaBackupError('STORAGE_UNAVAILABLE', error.message, { cause: error })
}
