import { DEFAULT_CONTEXT } from '../../archive/registry-model.ts'

/** The ids that were given, by context: each context counts for itself, and no id is given twice, even after a delete. */
export class IdCounters {
  readonly #firstId: number
  readonly #maxIds = new Map<string, number>()

  constructor(firstId: number) {
    this.#firstId = firstId
    this.note(DEFAULT_CONTEXT, 0)
  }

  next(context: string): number {
    return Math.max(this.#firstId, this.max(context) + 1)
  }

  /** The context exists from here on. */
  note(context: string, id: number): void {
    this.#maxIds.set(context, Math.max(this.max(context), id))
  }

  max(context: string): number {
    return this.#maxIds.get(context) ?? 0
  }

  /** The default one first. */
  contexts(): string[] {
    return [...this.#maxIds.keys()].sort()
  }
}
