import { KafkaBackupError } from '../errors.ts'

/** Makes a call again as long as its error is retryable and tries are left. */
export type Next = <T>(call: () => Promise<T>) => Promise<T>

/** So many keys in ascending order show that the store lists in that order, as buckets do. */
const SURE_AFTER = 10_000

/**
 * Begins the listing again after a failure and leaves out what was yielded before. The tries count from the last item that
 * was new, so a long listing survives many short failures. It keeps the keys for that, or only the last one where a long
 * listing is in order: a backup may have millions of objects.
 */
export async function* listAgain<T>(
  open: () => AsyncIterable<T>,
  keyOf: (item: T) => string,
  again: Next,
): AsyncGenerator<T> {
  const yielded = new YieldedKeys()
  let iterator: AsyncIterator<T> | undefined
  const nextNew = async (): Promise<IteratorResult<T>> => {
    yielded.assertTraceable()
    iterator ??= open()[Symbol.asyncIterator]()
    try {
      for (;;) {
        const item = await iterator.next()
        if (item.done || yielded.isNew(keyOf(item.value))) return item
      }
    } catch (error) {
      iterator = undefined
      yielded.reopen(error)
      throw error
    }
  }
  try {
    for (let item = await again(nextNew); !item.done; item = await again(nextNew)) yield item.value
  } finally {
    await iterator?.return?.()
  }
}

class YieldedKeys {
  /** All of them; undefined once the last one is enough. */
  #keys: Set<string> | undefined = new Set()
  /** Of this listing, whether it was yielded or left out. */
  #previous = ''
  /** The highest one that was yielded. */
  #last = ''
  #isAscending = true
  #isReopened = false
  #failure: { error: unknown } | undefined

  /** Where what was yielded cannot be told from the rest any more, the error of the listing is final. */
  assertTraceable(): void {
    if (this.#failure) throw this.#failure.error
  }

  isNew(key: string): boolean {
    const isInOrder = key > this.#previous
    this.#previous = key
    if (this.#keys?.has(key)) return false
    if (!this.#keys && this.#isReopened) {
      if (!isInOrder) throw this.#failed(otherOrder(key))
      if (key <= this.#last) return false
    }
    this.#isAscending &&= key > this.#last
    this.#last = key
    this.#keys?.add(key)
    if (this.#isAscending && this.#keys?.size === SURE_AFTER) this.#keys = undefined
    return true
  }

  reopen(error: unknown): void {
    if (!this.#keys && !this.#isAscending) this.#failed(error)
    this.#isReopened = true
    this.#previous = ''
  }

  #failed(error: unknown): unknown {
    this.#failure ??= { error }
    return error
  }
}

function otherOrder(key: string): KafkaBackupError {
  const message = `a list of objects was in order at first and then was not, at ${JSON.stringify(key)}`
  return new KafkaBackupError('STORAGE_UNAVAILABLE', message)
}
