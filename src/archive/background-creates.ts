import type { Storage } from '../storage/storage.ts'

/** Creates small objects while their caller continues: a store may be far away. They are durable when `settled` resolves. */
export class BackgroundCreates implements Pick<Storage, 'create'> {
  readonly #storage: Pick<Storage, 'create'>
  readonly #creating: Promise<void>[] = []

  constructor(storage: Pick<Storage, 'create'>) {
    this.#storage = storage
  }

  /** Resolves before the object is there. It is completed after an interruption, too: what was copied until then may be committed with it. */
  async create(key: string, body: Uint8Array): Promise<void> {
    const creating = this.#storage.create(key, body, new AbortController().signal)
    creating.catch(() => undefined)
    this.#creating.push(creating)
  }

  /** Rejects with the first failure, when no request is under way any more. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#creating)
    await Promise.all(this.#creating)
  }
}
