import type { StorageOperation } from './observed.ts'

/** A run asks for what it wrote or read a moment ago; older keys are forgotten. */
const MAX_KEYS = 1000

/** Calls whose STORAGE_NOT_FOUND is about the bucket or the folder: the object that they name need not exist. */
const ofLocation: readonly StorageOperation[] = ['create', 'replace', 'openWriter', 'commit', 'list', 'listFolders']

/** What a storage was known to hold: an answer that it does not exist is then in doubt. */
export class SeenObjects {
  readonly #keys = new Set<string>()
  #hasAnswered = false

  /** After a call that succeeded. */
  note(operation: StorageOperation, key: string, hasResult: boolean): void {
    this.#hasAnswered = true
    const isThere =
      ['create', 'replace', 'commit', 'read', 'readRange'].includes(operation) || (operation === 'stat' && hasResult)
    if (isThere) this.#add(key)
    if (operation === 'remove') this.#keys.delete(key)
  }

  /** Whether it was there. True once only: if it is not found again, it is gone. */
  takeDoubt(operation: StorageOperation, key: string): boolean {
    if (!ofLocation.includes(operation)) return this.#keys.delete(key)
    const hasAnswered = this.#hasAnswered
    this.#hasAnswered = false
    return hasAnswered
  }

  #add(key: string): void {
    this.#keys.delete(key)
    this.#keys.add(key)
    const [oldest] = this.#keys
    if (this.#keys.size > MAX_KEYS && oldest !== undefined) this.#keys.delete(oldest)
  }
}
