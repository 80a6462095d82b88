import { KafkaBackupError } from '../../errors.ts'
import type { ObjectWriter } from '../storage.ts'
import { hasErrno } from './errno.ts'
import type { TempFile } from './temp-file.ts'

/**
 * Turns a temp file into an object. A repeated `commit` continues from the recorded state, so it neither publishes twice
 * nor mistakes its object for another writer's.
 */
export class FileWriter implements ObjectWriter {
  readonly #file: TempFile
  readonly #onDone: () => void
  #state: 'open' | 'sealed' | 'named' | 'done' | 'aborted' = 'open'
  /** Set once content may be missing; nothing is published after that. */
  #failure: { error: unknown } | undefined

  constructor(file: TempFile, onDone: () => void) {
    this.#file = file
    this.#onDone = onDone
  }

  get isSpent(): boolean {
    return this.#failure !== undefined
  }

  async write(chunks: readonly Uint8Array[], signal: AbortSignal): Promise<void> {
    this.#assertUsable()
    if (this.#state !== 'open') throw new KafkaBackupError('INTERNAL', 'a write to a writer that was committed')
    await this.#orFail(async () => {
      signal.throwIfAborted()
      await this.#file.write(chunks, signal)
    })
  }

  async commit(signal: AbortSignal): Promise<void> {
    if (this.#state === 'done') return
    this.#assertUsable()
    signal.throwIfAborted()
    if (this.#state === 'open') {
      await this.#orFail(() => this.#file.seal())
      this.#state = 'sealed'
      signal.throwIfAborted()
    }
    if (this.#state === 'sealed') {
      await this.#link()
      this.#state = 'named'
    }
    await this.#file.syncName()
    this.#finish('done')
  }

  async abort(): Promise<void> {
    if (this.#state === 'done' || this.#state === 'aborted') return
    this.#finish('aborted')
    await this.#file.discard()
  }

  /** Reports another writer's object only once it is durable, because the caller may rely on it. */
  async #link(): Promise<void> {
    try {
      await this.#file.link()
    } catch (error) {
      if (hasErrno(error, 'EEXIST')) await this.#file.syncName()
      throw error
    }
  }

  async #orFail(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }

  #assertUsable(): void {
    if (this.#failure !== undefined) throw this.#failure.error
    if (this.#state === 'aborted') throw new KafkaBackupError('INTERNAL', 'a call to a writer that was aborted')
  }

  #finish(state: 'done' | 'aborted'): void {
    this.#state = state
    this.#onDone()
  }
}
