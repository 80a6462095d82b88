import { hasCode, KafkaBackupError } from '../errors.ts'
import { formatUtc } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import {
  backupNotFound,
  expiredBackup,
  listGenerations,
  newestNumber,
  openBackup,
  readGeneration,
  readManifest,
  type ScannedGenerations,
  scanGenerations,
  scanManifests,
} from './catalog.ts'
import { damaged } from './damage.ts'
import { manifestKey } from './layout.ts'
import { commitKey } from './log/keys.ts'
import { readCommit } from './log/open-generation.ts'
import type { Manifest } from './manifest.ts'

/** Which state of a backup is meant; without either, the newest. */
export interface GenerationChoice {
  generation?: number | undefined
  /** The newest complete generation that was committed by then, in milliseconds since 1970. */
  asOfMs?: bigint | undefined
}

/** The chosen state of a backup, for a reader. GENERATION_NOT_FOUND names the generations that can be chosen. */
export async function openSelected(
  storage: Storage,
  backupId: string,
  { generation, asOfMs }: GenerationChoice,
  signal: AbortSignal,
): Promise<Manifest> {
  if (generation === undefined && asOfMs === undefined) return openBackup(storage, backupId, signal)
  const { manifests, mark } = await scanManifests(storage, backupId, signal)
  if (mark) throw expiredBackup(storage, backupId)
  const newest = await newestNumber(storage, backupId, { manifests }, signal)
  if (newest === undefined) throw await backupNotFound(storage, backupId, signal)
  const chosen = generation ?? (await findAsOf(storage, backupId, asOfMs ?? 0n, signal))
  try {
    return await readGeneration(storage, backupId, chosen, signal)
  } catch (cause) {
    if (!hasCode(cause, 'STORAGE_NOT_FOUND')) throw cause
    const message = `backup \`${backupId}\` at ${storage.location} has no generation ${chosen}`
    throw await notFound(storage, backupId, message, signal, cause)
  }
}

async function notFound(storage: Storage, backupId: string, message: string, signal: AbortSignal, cause: unknown) {
  const there = await listGenerations(storage, backupId, signal)
  const which = there.length === 1 ? `generation ${there[0]} only` : `generations from ${there[0]} to ${there.at(-1)}`
  return new KafkaBackupError('GENERATION_NOT_FOUND', message, {
    cause,
    help: `It has ${which}; \`kafka-backup list --generations\` lists them.`,
    details: { backup_id: backupId, location: storage.location },
  })
}

/**
 * The newest complete generation that was committed by the time. Times of commits do not decrease, so a few of them are read however
 * many there are. A damaged generation is an error only if it may be the one.
 */
export async function findAsOf(
  storage: Storage,
  backupId: string,
  asOfMs: bigint,
  signal: AbortSignal,
): Promise<number> {
  const times = new CommitTimes(storage, backupId, await scanGenerations(storage, backupId, signal), signal)
  for (let at = (await countUntil(times, Number(asOfMs))) - 1; at >= 0; at--) {
    const { complete, timeMs } = await times.readCandidate(at)
    if (complete && timeMs <= asOfMs) return times.generationAt(at)
  }
  throw await noneBy(times, storage, backupId, asOfMs)
}

/** How many generations, from the oldest on, were committed by the time, or are damaged and may have been. */
async function countUntil(times: CommitTimes, asOfMs: number): Promise<number> {
  let low = 0
  let high = times.count
  while (low < high) {
    const middle = (low + high) >> 1
    const readable = await times.findReadable(middle, low, high)
    if (!readable) return high
    if (readable.timeMs <= asOfMs) low = Math.max(middle, readable.at) + 1
    // All between `low` and this one are damaged, and may be older.
    else if (readable.at > middle) return readable.at
    else high = readable.at
  }
  while (low < times.count && !(await times.readIfWhole(low))) low++
  return low
}

const MAX_INCOMPLETE = 100

async function noneBy(times: CommitTimes, { location }: Storage, backupId: string, asOfMs: bigint) {
  const by = formatUtc(Number(asOfMs))
  const message = `backup \`${backupId}\` at ${location} has no complete generation that was committed by ${by}`
  let earliest = 'None of its oldest generations is complete.'
  for (let at = 0; at < Math.min(times.count, MAX_INCOMPLETE); at++) {
    const facts = await times.readIfWhole(at)
    if (!facts?.complete) continue
    earliest = `The earliest one is generation ${times.generationAt(at)}, committed at ${formatUtc(facts.timeMs)}.`
    break
  }
  return new KafkaBackupError('GENERATION_NOT_FOUND', message, {
    help: `${earliest} \`kafka-backup list --generations\` lists them.`,
    details: { backup_id: backupId, location },
  })
}

interface CommitFacts {
  timeMs: number
  complete: boolean
}

/** When the generations of a backup were committed, by their place in the order of their numbers. */
class CommitTimes {
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

  /** The readable one next to `middle` in [low, high): first those below it, then those above. */
  async findReadable(middle: number, low: number, high: number): Promise<(CommitFacts & { at: number }) | undefined> {
    for (let at = middle; at >= low; at--) {
      const facts = await this.readIfWhole(at)
      if (facts) return { ...facts, at }
    }
    for (let at = middle + 1; at < high; at++) {
      const facts = await this.readIfWhole(at)
      if (facts) return { ...facts, at }
    }
    return undefined
  }
}
