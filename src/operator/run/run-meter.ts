import type { RunProgress, TopicProgress } from '../crd/status.ts'
import { cutText } from '../job/pod-result.ts'

/** The part of a pod's `/progress` that the operator uses. */
export interface PodProgress {
  phase: string
  fraction: number | undefined
  records: number
  bytes: number
  remainingSeconds: number | undefined
  /** When the last round of a continuous run succeeded. */
  lastRoundMs?: number
  /** Size of the complete backup in the store, as a continuous run measured it. */
  storedBytes?: number
  /** Ranges that the source lost before they were read, found since the pod's process began. */
  gaps?: number
  /** The records are those that a restore has compared, which it wrote before. */
  isComparison?: true
  /** Of a restore. */
  topicsDone?: number
  activeTopics?: PodTopic[]
}

interface PodTopic {
  topic: string
  records: number
  planned: number
  remainingSeconds: number | undefined
}

/** Undefined for any other text. The pod controls it, so no number in it is trusted. */
export function parseProgress(text: string): PodProgress | undefined {
  let page: Record<string, unknown>
  try {
    page = JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
  if (typeof page !== 'object' || page === null) return undefined
  const { phase, fraction, records, bytes, remaining_seconds, last_round_at, stored_bytes, gaps } = page
  if (typeof phase !== 'string' || !isExact(records) || !isExact(bytes)) return undefined
  const lastRoundMs = typeof last_round_at === 'string' ? Date.parse(last_round_at) : Number.NaN
  return {
    ...(!Number.isNaN(lastRoundMs) && { lastRoundMs }),
    ...(isExact(gaps) && gaps > 0 && { gaps: Math.floor(gaps) }),
    ...(isExact(stored_bytes) && { storedBytes: Math.floor(stored_bytes) }),
    ...(isComparison(page) && { isComparison: true }),
    phase: cutText(phase, 64),
    fraction: isCount(fraction) ? Math.min(fraction, 1) : undefined,
    records: Math.floor(records),
    bytes: Math.floor(bytes),
    remainingSeconds: isExact(remaining_seconds) ? Math.ceil(remaining_seconds) : undefined,
    ...(isExact(page.topics_done) && { topicsDone: Math.floor(page.topics_done) }),
    ...(Array.isArray(page.active_topics) && {
      activeTopics: page.active_topics.slice(0, MAX_TOPICS).flatMap(parseTopic),
    }),
  }
}

/** The phase `groups` keeps the numbers of the one before it, and only a comparison is planned in offsets. */
function isComparison({ phase, planned_offsets }: Record<string, unknown>): boolean {
  return phase === 'comparing' || (phase === 'groups' && typeof planned_offsets === 'number')
}

const MAX_TOPICS = 20

function parseTopic(one: unknown): PodTopic[] {
  if (typeof one !== 'object' || one === null) return []
  const { topic, records, planned_records: planned, remaining_seconds } = one as Record<string, unknown>
  if (typeof topic !== 'string' || !isExact(records) || !isExact(planned)) return []
  const remainingSeconds = isExact(remaining_seconds) ? Math.ceil(remaining_seconds) : undefined
  return [{ topic: cutText(topic, 249), records, planned, remainingSeconds }]
}

/** Several pods may fill partitions of the same topic: it needs as long as the last of them. */
function joinTopics(pages: readonly PodProgress[]): TopicProgress[] {
  const byName = Map.groupBy(
    pages.flatMap(({ activeTopics = [] }) => activeTopics),
    ({ topic }) => topic,
  )
  return [...byName].slice(0, MAX_TOPICS).map(([topic, some]) => {
    const planned = sum(some.map(one => one.planned))
    const remaining = some.flatMap(({ remainingSeconds }) => remainingSeconds ?? [])
    return {
      topic,
      percent:
        planned <= 0 ? 100 : Math.min(100, Math.floor((100 * sum(some.map(({ records }) => records))) / planned)),
      ...(remaining.length === some.length && { remainingSeconds: Math.max(...remaining) }),
    }
  })
}

interface PodCount {
  records: number
  bytes: number
  gaps: number
}

/** Sums over all pods of a run, including ended ones; never decreases. */
export class RunMeter {
  readonly #pods = new Map<string, PodCount>()

  /** Adds the current answers of the pods. */
  add(answers: ReadonlyMap<string, PodProgress>): RunProgress {
    for (const [pod, answer] of answers) this.#count(pod, answer)
    const pages = [...answers.values()]
    const fractions = pages.flatMap(({ fraction }) => fraction ?? [])
    const remaining = pages.flatMap(({ remainingSeconds }) => remainingSeconds ?? [])
    const sizes = pages.flatMap(({ storedBytes }) => storedBytes ?? [])
    const totals = this.#totals()
    const topics = joinTopics(pages)
    const [only] = pages.length === 1 ? pages : []
    const isWhole = fractions.length === pages.length && pages.length > 0
    return {
      phase: pages[0]?.phase ?? 'preparing',
      ...(isWhole && { percent: Math.floor((100 * sum(fractions)) / fractions.length) }),
      ...{ records: totals.records, bytes: totals.bytes },
      ...(totals.gaps > 0 && { gaps: totals.gaps }),
      ...(remaining.length > 0 && { remainingSeconds: Math.max(...remaining) }),
      ...(only?.topicsDone !== undefined && { topicsDone: only.topicsDone }),
      ...(topics.length > 0 && { activeTopics: topics }),
      ...(sizes.length > 0 && { storedBytes: Math.max(...sizes) }),
    }
  }

  /**
   * When a restore compares what it wrote, the page counts from 0 again; these records are not counted twice.
   */
  #count(pod: string, { isComparison, records, bytes, gaps = 0 }: PodProgress): void {
    if (isComparison) return
    const known = this.#pods.get(pod) ?? { records: 0, bytes: 0, gaps: 0 }
    this.#pods.set(pod, {
      records: Math.max(known.records, records),
      bytes: Math.max(known.bytes, bytes),
      gaps: Math.max(known.gaps, gaps),
    })
  }

  #totals(): PodCount {
    const pods = [...this.#pods.values()]
    return {
      records: sumExactly(pods.map(pod => pod.records)),
      bytes: sumExactly(pods.map(pod => pod.bytes)),
      gaps: sumExactly(pods.map(pod => pod.gaps)),
    }
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

/** What counters and the status take. */
function isExact(value: unknown): value is number {
  return isCount(value) && value <= Number.MAX_SAFE_INTEGER
}

function sumExactly(numbers: readonly number[]): number {
  return Math.min(sum(numbers), Number.MAX_SAFE_INTEGER)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
