import { hasCode } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { readGeneration, type ScannedGenerations, scanGenerations } from './catalog.ts'
import { incarnationKey } from './incarnation.ts'
import { openTopics } from './log/open-topics.ts'

/** A state that a restore can select. */
export interface RestorablePoint {
  generation: number
  created_at: string
}

/** The oldest and the newest complete generation that hold a topic. A restore can select every complete one in between. */
export interface RecoveryWindow {
  oldest: RestorablePoint
  newest: RestorablePoint
}

/**
 * By `incarnationKey`: what of the kept generations can be restored of each topic. A topic that a generation holds is in all later ones, so few generations
 * are read: the oldest and the newest complete one, and some in between for topics that came later. Empty without a complete generation.
 */
export async function readRecoveryWindows(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
): Promise<Map<string, RecoveryWindow>> {
  const history = new History(storage, backupId, await scanGenerations(storage, backupId, signal), signal)
  const [first, last] = [await history.findComplete(0, 1), await history.findComplete(history.count - 1, -1)]
  const windows = new Map<string, RecoveryWindow>()
  if (!last) return windows
  for (const key of last.topics) {
    const oldest = !first ? last : first.topics.has(key) ? first : await history.findFirst(key, first.at, last)
    windows.set(key, { oldest: pointOf(oldest), newest: pointOf(last) })
  }
  return windows
}

function pointOf({ generation, created_at }: ReadState): RestorablePoint {
  return { generation, created_at }
}

interface ReadState extends RestorablePoint {
  /** Its place among the generations. */
  at: number
  complete: boolean
  topics: ReadonlySet<string>
}

/** Topics that came at many moments would make it read every generation; the rest then gets a window that is too short. */
const MAX_READ = 40
/** A backup whose runs keep being interrupted may have thousands of incomplete generations in a row. */
const MAX_INCOMPLETE = 100

class History {
  readonly #storage: Storage
  readonly #backupId: string
  readonly #generations: readonly number[]
  /** Of version 2. */
  readonly #commits: ReadonlySet<number>
  readonly #signal: AbortSignal
  readonly #known = new Map<number, ReadState | undefined>()

  constructor(storage: Storage, backupId: string, { manifests, commits }: ScannedGenerations, signal: AbortSignal) {
    this.#storage = storage
    this.#backupId = backupId
    this.#generations = [...manifests, ...commits]
    this.#commits = new Set(commits)
    this.#signal = signal
  }

  get count(): number {
    return this.#generations.length
  }

  /** The first one, from a place on in a direction, that is complete and readable; undefined behind too many that are not. */
  async findComplete(from: number, step: 1 | -1): Promise<ReadState | undefined> {
    for (let at = from, tries = 0; at >= 0 && at < this.count && tries < MAX_INCOMPLETE; at += step, tries++) {
      const state = await this.#read(at)
      if (state?.complete) return state
    }
    return undefined
  }

  /** The oldest complete one behind `without` that holds the topic, which `within` does. */
  async findFirst(topic: string, without: number, within: ReadState): Promise<ReadState> {
    let low = without
    let high = within.at
    let found = within
    while (high - low > 1 && this.#known.size < MAX_READ) {
      const middle = (low + high) >> 1
      const state = await this.findComplete(middle, 1)
      if (state && state.at < high && !state.topics.has(topic)) low = state.at
      else {
        // None between the middle and this one is complete.
        if (state && state.at < high) found = state
        high = middle
      }
    }
    return found
  }

  async #read(at: number): Promise<ReadState | undefined> {
    if (this.#known.has(at)) return this.#known.get(at)
    const state = await this.#open(at)
    this.#known.set(at, state)
    return state
  }

  /** Undefined for one that is damaged, or that a prune has removed. */
  async #open(at: number): Promise<ReadState | undefined> {
    const generation = this.#generations[at] ?? 0
    try {
      const { created_at, complete, topics } = await this.#readTopics(generation)
      return { at, generation, created_at, complete, topics }
    } catch (error) {
      if (hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW', 'STORAGE_NOT_FOUND')) return undefined
      throw error
    }
  }

  async #readTopics(generation: number): Promise<Omit<ReadState, 'at' | 'generation'>> {
    const place = [this.#storage, this.#backupId, generation, this.#signal] as const
    if (this.#commits.has(generation)) {
      const { commit, topics } = await openTopics(...place)
      return { created_at: commit.created_at, complete: commit.complete, topics: new Set(topics.keys()) }
    }
    const { created_at, complete, topics } = await readGeneration(...place)
    return { created_at, complete, topics: new Set(topics.map(incarnationKey)) }
  }
}
