import { hasCode, KafkaBackupError } from '../../errors.ts'
import { untilAborted } from '../../lib/until-aborted.ts'
import { BucketWriter } from '../bucket/writer.ts'
import type { GcsApi } from './api.ts'
import { GcsUpload } from './upload.ts'

/** Sends the parts of an object one after the other, as a resumable upload; the object appears with the last one. */
export class GcsWriter extends BucketWriter<GcsApi> {
  #upload: Promise<GcsUpload> | undefined
  /** The part that is being sent; it never rejects. */
  #sending: Promise<void> = Promise.resolve()

  protected get hasUpload(): boolean {
    return this.#upload !== undefined
  }

  protected async sendPart(signal: AbortSignal): Promise<void> {
    await untilAborted(this.#sending, signal)
    this.assertUsable()
    const { sent } = await this.sendInBackground(bytes => this.#send(bytes), signal)
    this.#sending = sent
  }

  protected async completeUpload(signal: AbortSignal): Promise<void> {
    await untilAborted(this.#sending, signal)
    this.assertUsable()
    const upload = await this.#upload
    await upload?.send(this.filling.bytes, true, signal)
  }

  protected async dropUpload(signal: AbortSignal): Promise<void> {
    const upload = await untilAborted(this.#upload ?? Promise.resolve(undefined), signal)
    await untilAborted(this.#sending, signal)
    if (upload) await this.parts.retried(this.key, () => upload.cancel(signal), signal)
  }

  /** Google drops uploads now and then. A new upload of the same bytes can succeed. */
  protected override lostUpload(error: unknown): unknown {
    if (!hasCode(error, 'STORAGE_NOT_FOUND')) return error
    return new KafkaBackupError('STORAGE_UNAVAILABLE', error.message, { cause: error })
  }

  async #send(body: Buffer): Promise<void> {
    const { signal } = this.stop
    this.#upload ??= this.#begin()
    const upload = await this.#upload
    try {
      await this.parts.retried(this.key, () => upload.send(body, false, signal), signal)
    } catch (error) {
      throw this.lostUpload(error)
    }
  }

  /** Not aborted: an upload whose address is unknown cannot be dropped. */
  async #begin(): Promise<GcsUpload> {
    const { api, retried } = this.parts
    const never = new AbortController().signal
    const begin = () => api.beginUpload(this.key, this.token, never)
    return new GcsUpload(api, this.key, await retried(this.key, begin, this.stop.signal))
  }
}
