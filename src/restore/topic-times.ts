import type { ProgressEvent } from '../observe/progress.ts'

/** How long each topic was worked on, as the events tell it. */
export class TopicTimes {
  readonly #now: () => number
  readonly #spans = new Map<string, { first: number; last: number }>()

  constructor(now: () => number) {
    this.#now = now
  }

  add(event: ProgressEvent): void {
    if (event.type !== 'begun' && event.type !== 'copied') return
    const now = this.#now()
    const span = this.#spans.get(event.topic)
    if (!span) this.#spans.set(event.topic, { first: now, last: now })
    else if (event.type === 'copied') span.last = now
  }

  /** From the begin of its first partition to the last batch of any. */
  durationOf(topic: string): number {
    const { first, last } = this.#spans.get(topic) ?? { first: 0, last: 0 }
    return last - first
  }
}
