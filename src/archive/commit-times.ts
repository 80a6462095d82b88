import { hasCode, KafkaBackupError } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import { readManifest, type ScannedGenerations } from './catalog.ts'
import { damaged } from './damage.ts'
import { manifestKey } from './layout.ts'
import { commitKey } from './log/keys.ts'
import { readCommit } from './log/read-commit.ts'

interface CommitFacts {
  timeMs: number
  complete: boolean
}

/** Generations by their place in the order of their numbers. */
interface Times {
  count: number
  /** Undefined where it is damaged. */
  readIfWhole(at: number): Promise<CommitFacts | undefined>
}

/**
 * How many generations, from the oldest on, were committed by the time, or are damaged and may have been. The last one whose time is not later
 * decides: every generation before it was committed before it, also if its own time is later because a clock was set
 * back since. Few are read however many there are: the search relies on times that increase, and samples of those behind its result show where
 * they do not.
 */
export async function countUntil(times: Times, asOfMs: number): Promise<number> {
  let count = await bisect(times, asOfMs, 0, times.count)
  for (;;) {
    const range = await findLater(times, asOfMs, count)
    if (!range) return count
    count = await bisect(times, asOfMs, range.low, range.high)
  }
}

/** The same within a range in which times increase. */
async function bisect(times: Times, asOfMs: number, begin: number, end: number): Promise<number> {
  let low = begin
  let high = end
  while (low < high) {
    const middle = (low + high) >> 1
    const readable = await findReadable(times, middle, low, high)
    if (!readable) return high
    if (readable.timeMs <= asOfMs) low = Math.max(middle, readable.at) + 1
    // All between `low` and this one are damaged, and may be older.
    else if (readable.at > middle) return readable.at
    else high = readable.at
  }
  while (low < times.count && !(await times.readIfWhole(low))) low++
  return low
}

const AT_ONCE = 4
/** So many generations behind the result are all read; of those behind them, each sample is half as far again away. */
const MAX_DENSE = 16
const SAMPLE_GROWTH = 1.5
/** Between two samples of which the later one has an earlier time. */
const CLOSER_SAMPLES = 64

interface Range {
  low: number
  high: number
}

/** Where generations behind the count are that were committed by the time as well; undefined where the samples show none. */
async function findLater(times: Times, asOfMs: number, count: number): Promise<Range | undefined> {
  const read = await runPool(placesToSample(count, times.count), AT_ONCE, async at => {
    const facts = await times.readIfWhole(at)
    return facts ? [{ at, timeMs: facts.timeMs }] : []
  })
  const samples = read.flat()
  const endOf = (i: number) => samples[i + 1]?.at ?? times.count
  const last = samples.findLastIndex(({ timeMs }) => timeMs <= asOfMs)
  const later = samples[last]
  if (later) return { low: later.at + 1, high: endOf(last) }
  for (let i = samples.length - 1; i > 0; i--) {
    const [before, behind] = [samples[i - 1], samples[i]]
    if (!before || !behind || behind.timeMs >= before.timeMs) continue
    const at = await findStepBack(times, before, behind.at)
    const facts = await times.readIfWhole(at)
    if (facts && facts.timeMs <= asOfMs) return { low: at + 1, high: endOf(i - 1) }
    const range = await findBetween(times, asOfMs, { low: before.at + 1, high: behind.at })
    if (range) return range
  }
  return undefined
}

/** Where a clock was set back more than once between two samples: a closer look. */
async function findBetween(times: Times, asOfMs: number, { low, high }: Range): Promise<Range | undefined> {
  const step = Math.max(1, Math.ceil((high - low) / CLOSER_SAMPLES))
  const places = Array.from({ length: Math.ceil((high - low) / step) }, (_, i) => low + i * step)
  const read = await runPool(places, AT_ONCE, async at => ({ at, facts: await times.readIfWhole(at) }))
  const last = read.findLast(({ facts }) => facts && facts.timeMs <= asOfMs)
  return last && { low: last.at + 1, high: Math.min(last.at + step, high) }
}

/** Pure. Always with the newest one. */
function placesToSample(from: number, end: number): number[] {
  const places: number[] = []
  const stepAfter = (step: number) => (step < MAX_DENSE ? step + 1 : Math.ceil(step * SAMPLE_GROWTH))
  for (let step = 0; from + step < end; step = stepAfter(step)) places.push(from + step)
  if (places.length > 0 && places.at(-1) !== end - 1) places.push(end - 1)
  return places
}

/** The first generation behind `before`, up to `end`, at which times are earlier than there. */
async function findStepBack(times: Times, before: { at: number; timeMs: number }, end: number): Promise<number> {
  let low = before.at
  let high = end
  while (high - low > 1) {
    const middle = (low + high) >> 1
    const facts = await times.readIfWhole(middle)
    if (facts && facts.timeMs < before.timeMs) high = middle
    else low = middle
  }
  return high
}

/** The readable one next to `middle` in [low, high): first those below it, then those above. */
async function findReadable(
  times: Times,
  middle: number,
  low: number,
  high: number,
): Promise<(CommitFacts & { at: number }) | undefined> {
  for (let at = middle; at >= low; at--) {
    const facts = await times.readIfWhole(at)
    if (facts) return { ...facts, at }
  }
  for (let at = middle + 1; at < high; at++) {
    const facts = await times.readIfWhole(at)
    if (facts) return { ...facts, at }
  }
  return undefined
}

/** When the generations of a backup were committed, by their place in the order of their numbers. */
export class CommitTimes implements Times {
  readonly #storage: Storage
  readonly #backupId: string
  readonly #scanned: ScannedGenerations
  readonly #signal: AbortSignal
  readonly #known = new Map<number, CommitFacts>()

  constructor(storage: Storage, backupId: string, scanned: ScannedGenerations, signal: AbortSignal) {
    this.#storage = storage
    this.#backupId = backupId
    this.#scanned = scanned
    this.#signal = signal
  }

  get count(): number {
    return this.#scanned.manifests.length + this.#scanned.commits.length
  }

  generationAt(at: number): number {
    const { manifests, commits } = this.#scanned
    return manifests[at] ?? commits[at - manifests.length] ?? 0
  }

  async read(at: number): Promise<CommitFacts> {
    const known = this.#known.get(at)
    if (known) return known
    const generation = this.generationAt(at)
    const isManifest = at < this.#scanned.manifests.length
    const { complete, created_at } = isManifest
      ? await readManifest(this.#storage, this.#backupId, generation, this.#signal)
      : (await readCommit(this.#storage, this.#backupId, generation, this.#signal)).commit
    const timeMs = Date.parse(created_at)
    if (Number.isNaN(timeMs)) {
      const key = (isManifest ? manifestKey : commitKey)(this.#backupId, generation)
      throw damaged(key, `is damaged: created_at is ${JSON.stringify(created_at.slice(0, 100))}, which is not a time`)
    }
    this.#known.set(at, { timeMs, complete })
    return { timeMs, complete }
  }

  /** One that may be the chosen generation. */
  async readCandidate(at: number): Promise<CommitFacts> {
    try {
      return await this.read(at)
    } catch (cause) {
      if (!hasCode(cause, 'ARCHIVE_DAMAGED')) throw cause
      const message = `generation ${this.generationAt(at)} may be the one that was asked for, and cannot be read: ${cause.message}`
      throw new KafkaBackupError('ARCHIVE_DAMAGED', message, {
        cause,
        help: 'Choose a generation by its number; `kafka-backup list --generations` lists them.',
      })
    }
  }

  async readIfWhole(at: number): Promise<CommitFacts | undefined> {
    try {
      return await this.read(at)
    } catch (error) {
      if (hasCode(error, 'ARCHIVE_DAMAGED')) return undefined
      throw error
    }
  }
}
