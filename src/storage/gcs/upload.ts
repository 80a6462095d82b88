import { crc32c } from '@node-rs/crc32'
import { KafkaBackupError } from '../../errors.ts'
import type { GcsApi, GcsSession, UploadState } from './api.ts'
import { formatSum } from './checksum.ts'

/**
 * A resumable upload: its bytes go one part after the other, and the object appears with the last. After an answer that
 * was not heard the session is asked how far it is, so nothing is sent twice and nothing is left out.
 */
export class GcsUpload {
  readonly #api: GcsApi
  readonly #key: string
  readonly #session: GcsSession
  /** Of the parts before the one that is being sent. */
  #sentBytes = 0
  #sum = 0
  #isUncertain = false

  constructor(api: GcsApi, key: string, session: GcsSession) {
    this.#api = api
    this.#key = key
    this.#session = session
  }

  /** One try. After a failure it may be made again with the same bytes. */
  async send(body: Buffer, isLast: boolean, signal: AbortSignal): Promise<void> {
    const [end, sum] = [this.#sentBytes + body.length, crc32c(body, this.#sum)]
    const whole = isLast ? { whole: { bytes: end, crc32c: sum } } : {}
    let state = await this.#state(signal)
    while (!this.#isWhole(state, { end, sum, isLast })) {
      const start = this.#startOf(state, end)
      this.#isUncertain = true
      const rest = body.subarray(start - this.#sentBytes)
      const next = await this.#api.putChunk(this.#key, this.#session, { start, body: rest, ...whole }, signal)
      this.#isUncertain = false
      if (!next.isDone && next.persisted <= start) throw this.#failed('took none of the bytes')
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

  #isWhole(state: UploadState, { end, sum, isLast }: { end: number; sum: number; isLast: boolean }): boolean {
    if (!state.isDone) return !isLast && state.persisted === end
    if (isLast && (state.crc32c === undefined || state.crc32c === formatSum(sum))) return true
    throw new KafkaBackupError('STORAGE_REFUSED', `the store made other bytes of ${JSON.stringify(this.#key)}`)
  }

  /** What a session has once said to have it keeps, so anything else is no state to go on from. */
  #startOf(state: UploadState, end: number): number {
    if (!state.isDone && state.persisted >= this.#sentBytes && state.persisted <= end) return state.persisted
    throw this.#failed('lost its state')
  }

  #failed(what: string): KafkaBackupError {
    return new KafkaBackupError('STORAGE_UNAVAILABLE', `the upload of ${JSON.stringify(this.#key)} ${what}`)
  }
}
