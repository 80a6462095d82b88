import { KafkaBackupError } from '../../errors.ts'
import { untilAborted } from '../../lib/until-aborted.ts'
import type { MultipartApi, UploadedPart } from './api.ts'
import { BucketWriter } from './writer.ts'

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
    // Not aborted: an upload whose id is unknown cannot be dropped.
    const never = new AbortController().signal
    this.#uploadId ??= retried(this.key, () => api.beginUpload(this.key, this.token, never), signal)
    const uploadId = await this.#uploadId
    return retried(this.key, () => api.putPart(this.key, { uploadId, number }, body, signal), signal)
  }
}
