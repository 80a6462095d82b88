import { newestById, numberOf } from '../archive/incarnation.ts'
import type { Manifest } from '../archive/manifest.ts'
import type { BackupOptions } from './backup-options.ts'
import { truncatedTopic } from './find-truncation.ts'

/**
 * The topics that start a new incarnation in the next attempt of a run: those that the run names, and those whose truncation
 * only the copying has found. Each starts one, also when the attempt that did so has failed later.
 */
export class StartOver {
  readonly #options: BackupOptions
  /** By name: the number of the newest incarnation when it was asked for; undefined before the next attempt. */
  readonly #numbers: Map<string, number | undefined>

  constructor(options: BackupOptions) {
    this.#options = options
    this.#numbers = new Map(options.newIncarnations?.map(name => [name, undefined]))
  }

  /** Whether another attempt can continue after this error. */
  accepts(error: unknown): boolean {
    const topic = truncatedTopic(error)
    if (topic === undefined || this.#options.onTruncation === 'fail' || this.#numbers.has(topic)) return false
    this.#numbers.set(topic, undefined)
    return true
  }

  optionsFor(previous: Manifest | undefined): BackupOptions {
    const newest = [...newestById(previous?.topics ?? []).values()].filter(({ state }) => state !== 'replaced')
    const pending: string[] = []
    for (const [name, asked] of this.#numbers) {
      const topic = newest.find(one => one.name === name)
      const number = topic ? numberOf(topic) : 0
      this.#numbers.set(name, asked ?? number)
      if (number === (asked ?? number)) pending.push(name)
    }
    return { ...this.#options, newIncarnations: pending }
  }

  /** After a round that ended well: what a later one finds is another truncation. */
  clear(): void {
    this.#numbers.clear()
  }
}
