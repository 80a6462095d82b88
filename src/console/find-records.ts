import type { ManifestPartition } from '../archive/manifest.ts'
import { type Conditions, type MatchLimits, RecordMatcher } from '../inspect/conditions.ts'
import type { Extent, FoundRecord } from '../inspect/found-record.ts'
import type { BatchWatch } from '../inspect/open-piece.ts'
import { openPartition, readForward, readNewest } from '../inspect/read-records.ts'
import { SchemaDecoder } from '../inspect/schema-decoder.ts'
import { StoredSchemas } from '../inspect/stored-schemas.ts'
import type { Clock } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import type { OpenedBackup } from './archive-reader.ts'
import type { FoundTopic } from './find-topic.ts'
import { type RecordView, sizeOf, viewRecord } from './record-view.ts'
import { recordLimits, rowLimits } from './show-part.ts'

/** Which records of a topic are shown. */
export interface RecordQuery extends Conditions {
  /** In the order in which they are read. */
  partitions: readonly ManifestPartition[]
  /** From this offset of every partition on. */
  from?: bigint | undefined
  /** Where an earlier request stopped in the first partition. */
  resumeAt?: bigint | undefined
  /** The last ones before this offset, of one partition; instead of `from`. */
  before?: bigint | undefined
  times: Extent['times']
  withAborted: boolean
  count: number
  /** Of the registry, in which the IDs of the topic count. */
  context?: string | undefined
}

export interface FoundRecords {
  records: RecordView[]
  /** Where reading continues, or before which offset where it reads back; undefined where everything was read. */
  next?: { partition: number; offset: bigint }
  /** The budget of a request ended the reading. */
  isStopped: boolean
  searched: number
  bytes: number
  /** Records with a key or value beyond what a search of the console decodes. They were compared as they are stored, and not by their fields. */
  tooLarge: number
  /** Keys or values that name a schema could not be decoded with one, and were compared as they are stored. */
  hasUndecoded: boolean
  /** Of the registry, that have schemas in the backup, but for the default one. */
  contexts: readonly string[]
  damage?: string | undefined
}

const nothingFound = { isStopped: false, searched: 0, bytes: 0, tooLarge: 0, hasUndecoded: false, contexts: [] }

/** What one request may read. */
interface ReadBudget {
  maxBytes: number
  maxMs: number
}
const defaultBudget: ReadBudget = { maxBytes: 1 << 30, maxMs: 8000 }

/** How long one request works before others have their turn. */
const TURN_MS = 20

/** Of one record, as much is decoded as on its own page. Its text is searched without being in memory as a whole. */
const matchLimits: MatchLimits = { maxDecodedBytes: recordLimits.maxDecodedBytes, maxTextChars: 16 << 20 }

/** The shown text of all records. */
const MAX_SHOWN_CHARS = 2 << 20

/** Ends the reading where the budget is used up. */
class Stop extends Error {}

export interface ScanParts {
  backup: OpenedBackup
  found: FoundTopic
  clock: Clock
  budget?: ReadBudget
}

/** Reads records of a topic, at most as many as are asked for, within the budget of a request. */
export function findRecords(parts: ScanParts, query: RecordQuery, signal: AbortSignal): Promise<FoundRecords> {
  return new Scan(parts, query, signal).run()
}

class Scan {
  readonly #parts: ScanParts
  readonly #query: RecordQuery
  readonly #signal: AbortSignal
  readonly #storage: Storage
  readonly #decoder: SchemaDecoder
  readonly #matcher: RecordMatcher
  readonly #budget: ReadBudget
  readonly #deadline: number
  readonly #result: FoundRecords = { ...nothingFound, records: [] }
  /** Where reading would continue, and where it began. */
  #reached = { partition: 0, offset: 0n }
  #begin: { partition: number; offset: bigint } | undefined
  /** Until then, others wait. */
  #turnEndMs: number
  #chars = 0
  /** A record may be read twice. */
  readonly #tooLarge = new Set<string>()
  /** Whether the budget ends the reading. */
  #isBound = true

  constructor(parts: ScanParts, query: RecordQuery, signal: AbortSignal) {
    const { backup, clock, budget = defaultBudget } = parts
    this.#parts = parts
    this.#query = query
    this.#signal = signal
    this.#storage = backup.location.storage
    const schemas = new StoredSchemas(this.#storage, backup.manifest)
    schemas.refuseUnknown(query.context)
    this.#result.contexts = schemas.namedContexts
    this.#decoder = new SchemaDecoder(schemas, query.context)
    this.#matcher = new RecordMatcher(query, 'auto', this.#decoder, matchLimits)
    this.#budget = budget
    this.#turnEndMs = clock.monotonic() + TURN_MS
    this.#deadline = this.#turnEndMs - TURN_MS + budget.maxMs
  }

  async run(): Promise<FoundRecords> {
    const result = this.#result
    try {
      await (this.#query.before === undefined ? this.#readOn() : this.#readBack(this.#query.before))
    } catch (error) {
      if (!(error instanceof Stop)) throw error
      result.isStopped = true
      result.next = { ...this.#reached }
    }
    result.tooLarge = this.#tooLarge.size
    result.hasUndecoded = this.#matcher.notDecoded + this.#matcher.keysNotDecoded > 0
    result.damage = this.#decoder.damage
    return result
  }

  async #readOn(): Promise<void> {
    for (const [at, partition] of this.#query.partitions.entries()) {
      const start = (at === 0 ? this.#query.resumeAt : undefined) ?? this.#query.from
      const extent = this.#extent({ start })
      this.#reached = { partition: partition.partition, offset: start ?? partition.start_offset }
      this.#begin ??= { ...this.#reached }
      this.#spend()
      const source = await this.#open(partition, extent)
      for await (const record of readForward(this.#storage, source, extent, this.#signal)) {
        this.#reached.offset = record.offset
        const isEnough = (await this.#isWanted(record)) && (await this.#take(record))
        this.#reached.offset = record.offset + 1n
        if (isEnough) {
          this.#result.next = { ...this.#reached }
          return
        }
      }
    }
  }

  /**
   * Looks at few offsets before the end first, and then at more and more before these: most records have the next number, and only holes make it
   * look further back.
   */
  async #readBack(before: bigint): Promise<void> {
    const [partition] = this.#query.partitions
    if (!partition) return
    const { start_offset: first, end_offset } = partition
    const { count } = this.#query
    const newest = before < end_offset ? before : end_offset
    let end = newest
    for (let reach = BigInt(count); end > first && this.#result.records.length < count; reach *= 16n) {
      const back = (by: bigint) => (end - by > first ? end - by : first)
      this.#reached = { partition: partition.partition, offset: end }
      try {
        await this.#readWindow(partition, { start: back(reach), end })
      } catch (error) {
        if (!(error instanceof Stop) || end < newest) throw error
        return this.#readRest(partition, end, error)
      }
      end = back(reach)
    }
  }

  /** Reads the newest segment before the offset, whatever it takes: every request has to come further. */
  async #readRest(partition: ManifestPartition, end: bigint, stop: Stop): Promise<void> {
    this.#isBound = false
    const { segments } = await this.#open(partition, this.#extent({ end }))
    const start = segments.at(-1)?.start_offset ?? partition.start_offset
    const keep = async (record: FoundRecord) => ((await this.#isWanted(record)) ? { offset: record.offset } : undefined)
    const [oldest, ...newer] = await this.#readNewest(partition, { start, end }, keep)
    if (oldest) await this.#readWindow(partition, { start: oldest.offset, end })
    this.#reached.offset = start
    if (newer.length + 1 < this.#query.count && start > partition.start_offset) throw stop
  }

  async #readWindow(partition: ManifestPartition, offsets: { start: bigint; end: bigint }): Promise<void> {
    // Not their bytes: fifty records of 10 MiB would take the memory of all other requests.
    const keep = async (record: FoundRecord) => ((await this.#isWanted(record)) ? this.#view(record) : undefined)
    this.#result.records.unshift(...(await this.#readNewest(partition, offsets, keep)))
  }

  /** As many as are still wanted. */
  async #readNewest<T extends object>(
    partition: ManifestPartition,
    offsets: Extent['offsets'],
    keep: (record: FoundRecord) => Promise<T | undefined>,
  ): Promise<T[]> {
    const extent = this.#extent(offsets)
    const source = await this.#open(partition, extent)
    const count = this.#query.count - this.#result.records.length
    return readNewest(this.#storage, source, extent, { count, keep }, this.#signal)
  }

  async #open(partition: ManifestPartition, extent: Extent) {
    const watch: BatchWatch = {
      mayMatch: (body, header) => {
        const may = this.#matcher.mayMatch(body, header)
        if (!may && this.#query.before === undefined) this.#reached.offset = header.lastOffset + 1n
        return may
      },
      judge: verdict => this.#matcher.judge(verdict),
      beforeBatch: ({ baseOffset }) => {
        if (this.#query.before === undefined && baseOffset > this.#reached.offset) this.#reached.offset = baseOffset
        return this.#takeTurns()
      },
      trustsGaps: true,
      // Requests share the cores: each takes one.
      ahead: undefined,
      onSearched: count => {
        this.#result.searched += count
      },
      onRead: (bytes, end) => {
        this.#result.bytes += bytes
        // Also where nothing of it is wanted: the next request would read the same again, and never end.
        if (this.#query.before === undefined && end > this.#reached.offset) this.#reached.offset = end
        this.#spend()
      },
    }
    return openPartition(this.#storage, this.#parts.found.topic, partition, extent, watch, this.#signal)
  }

  #extent(offsets: Extent['offsets']): Extent {
    const { times, withAborted } = this.#query
    return { offsets, times, withAborted }
  }

  async #isWanted(record: FoundRecord): Promise<boolean> {
    if (this.#isTurnOver()) await this.#takeTurns()
    const { tooLarge } = this.#matcher
    const isWanted = await this.#matcher.matches(record, this.#signal)
    if (this.#matcher.tooLarge > tooLarge) this.#tooLarge.add(`${record.partition}/${record.offset}`)
    return isWanted
  }

  /** True where no more are wanted. */
  async #take(record: FoundRecord): Promise<boolean> {
    const view = await this.#view(record)
    this.#chars += sizeOf(view)
    this.#result.records.push(view)
    return this.#result.records.length >= this.#query.count || this.#chars >= MAX_SHOWN_CHARS
  }

  #view(record: FoundRecord): Promise<RecordView> {
    return viewRecord(record, this.#decoder, rowLimits, this.#signal)
  }

  /** Unpacking and comparing never wait for anything: other requests would, and a client that has left would not be noticed. */
  async #takeTurns(): Promise<void> {
    if (!this.#isTurnOver()) return
    await new Promise(resolve => setImmediate(resolve))
    this.#turnEndMs = this.#parts.clock.monotonic() + TURN_MS
    this.#signal.throwIfAborted()
    this.#spend()
  }

  #isTurnOver(): boolean {
    return this.#parts.clock.monotonic() >= this.#turnEndMs
  }

  #spend(): void {
    if (!this.#isBound || !this.#isFurther()) return
    if (this.#result.bytes > this.#budget.maxBytes || this.#parts.clock.monotonic() > this.#deadline) throw new Stop()
  }

  /** Otherwise the next request would read the same again. */
  #isFurther(): boolean {
    const { partition, offset } = this.#begin ?? {}
    return partition !== this.#reached.partition || offset !== this.#reached.offset
  }
}
