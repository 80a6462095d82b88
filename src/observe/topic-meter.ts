import type { ProgressEvent } from './progress.ts'
import { SmoothRate } from './smooth-rate.ts'

/** How far the topics of a restore are. */
export interface TopicsReading {
  /** Topics that have all their records, of so many. */
  done: number
  total: number
  /** Topics that are being filled, in the order in which that began; at most 20 of them. */
  active: TopicReading[]
  /** How many more are. */
  more: number
}

export interface TopicReading {
  topic: string
  records: number
  /** About so many, or at most. */
  planned: number
  /** From 0 to 1. */
  fraction: number
  /** Undefined while it is not known. */
  remainingMs: number | undefined
}

interface ActiveTopic {
  records: number
  rate: SmoothRate
}

const MAX_SHOWN = 20

/** Follows each topic of a restore, from the plan that names them to the last record. */
export class TopicMeter {
  readonly #planned: ReadonlyMap<string, number>
  readonly #active = new Map<string, ActiveTopic>()
  #done = 0

  constructor(planned: NonNullable<Extract<ProgressEvent, { type: 'planned' }>['byTopic']>) {
    this.#planned = new Map(planned.map(({ topic, records }) => [topic, records]))
  }

  add(event: ProgressEvent, nowMs: number): void {
    if (event.type === 'begun') this.#begin(event.topic, nowMs)
    else if (event.type === 'copied') {
      const topic = this.#begin(event.topic, nowMs)
      topic.records += event.records
      topic.rate.add(topic.records, nowMs)
    } else if (event.type === 'filled') {
      this.#done = event.done
      this.#active.delete(event.topic)
    }
  }

  read(nowMs: number): TopicsReading {
    const active = [...this.#active].slice(0, MAX_SHOWN).map(([topic, one]) => this.#readTopic(topic, one, nowMs))
    return { done: this.#done, total: this.#planned.size, active, more: this.#active.size - active.length }
  }

  #begin(topic: string, nowMs: number): ActiveTopic {
    const known = this.#active.get(topic)
    if (known) return known
    const begun = { records: 0, rate: new SmoothRate(0, nowMs) }
    this.#active.set(topic, begun)
    return begun
  }

  #readTopic(topic: string, { records, rate }: ActiveTopic, nowMs: number): TopicReading {
    const planned = this.#planned.get(topic) ?? 0
    const left = Math.max(0, planned - records)
    const perMs = rate.read(records, nowMs)
    return {
      topic,
      records,
      planned,
      fraction: planned <= 0 ? 1 : Math.min(1, records / planned),
      remainingMs: left === 0 ? 0 : perMs === undefined ? undefined : left / perMs,
    }
  }
}
