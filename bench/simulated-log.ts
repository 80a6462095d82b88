import { randomBytes } from 'node:crypto'
import { type ListChange, noChange, type TopicRow } from '../src/archive/log/change.ts'
import { LogWriter } from '../src/archive/log/log-writer.ts'
import { openGeneration } from '../src/archive/log/open-generation.ts'
import { diffRows, zeroRow } from '../src/archive/log/row-change.ts'
import { SegmentLists } from '../src/archive/log/segment-lists.ts'
import type { Segment } from '../src/archive/manifest.ts'
import { withSegment } from '../src/archive/summary.ts'
import type { Storage } from '../src/storage/storage.ts'
import { encodeRun } from '../test/fakes/batches.ts'
import { type MemoryStorage, openMemoryStorage } from '../test/fakes/memory-storage.ts'

const MINUTE = 60_000
const PARTITIONS_OF_TOPIC = 10
const BACKUP = 'b'

/** Objects and bytes that were written, by the folder that they are in. */
export type Written = Record<string, { objects: number; bytes: number }>

/**
 * The log of a continuous backup with the writer that the engine uses, on a store in memory and a clock that moves on by a minute
 * with each round. Partitions get one record of about 130 bytes a round.
 */
export class SimulatedLog {
  readonly storage: MemoryStorage
  readonly written: Written = {}
  #nowMs = Date.parse('2026-11-15T00:00:00Z')
  readonly #lists: string[]
  readonly #log: LogWriter
  readonly #createdAt = new Map<string, number>()
  #names = 0
  #generation = 0
  #lived = new Set<string>()
  #sweptMs = 0

  private constructor(storage: MemoryStorage, lists: string[], log: LogWriter) {
    this.storage = storage
    this.#lists = lists
    this.#log = log
  }

  static async open(partitions: number): Promise<SimulatedLog> {
    const storage = openMemoryStorage()
    const ids = Array.from({ length: Math.ceil(partitions / PARTITIONS_OF_TOPIC) }, () =>
      randomBytes(16).toString('hex'),
    )
    const lists = Array.from({ length: partitions }, (_, i) => `${ids[Math.floor(i / 10)]}/${i % PARTITIONS_OF_TOPIC}`)
    const { signal } = new AbortController()
    let simulated: SimulatedLog | undefined
    const pieces = { compression: 'auto' as const, segmentBytes: 128 << 20, mergeAfterMs: 24 * 60 * MINUTE }
    const newRun = () => simulated?.newName() ?? 'none'
    const options = { backupId: BACKUP, pieces, newRun, nowMs: () => simulated?.nowMs ?? 0 }
    const log = await LogWriter.open(
      countWrites(storage, object => simulated?.count(object)),
      { manifest: undefined },
      options,
      signal,
    )
    simulated = new SimulatedLog(storage, lists, log)
    return simulated
  }

  get nowMs(): number {
    return this.#nowMs
  }

  get generation(): number {
    return this.#generation
  }

  newName(): string {
    return (this.#names++).toString(16).padStart(8, '0')
  }

  count({ key, bytes }: { key: string; bytes: number }): void {
    const folder = key.split('/')[1] ?? ''
    const before = this.written[folder] ?? { objects: 0, bytes: 0 }
    this.written[folder] = { objects: before.objects + 1, bytes: before.bytes + bytes }
    this.#createdAt.set(key, this.#nowMs)
  }

  /** A round in which so many partitions get a record: always the same. */
  async round(active: number, signal: AbortSignal): Promise<void> {
    const packs = this.#log.openPacks(this.newName(), signal)
    if (!packs) throw new Error('the log has no packs')
    const appended: [string, Promise<Segment>][] = []
    for (const list of this.#lists.slice(0, active)) {
      const from = this.#log.state.lists.get(list)?.end_offset ?? randomOffset()
      const writer = packs.open(list, true, () => Promise.reject(new Error('one record is a piece')))
      const batch = Buffer.from(template)
      batch.writeBigInt64BE(from, 0)
      const time = BigInt(this.#nowMs + Math.floor(Math.random() * MINUTE))
      const times = { firstTimestamp: time, lastTimestamp: time, aborted: [] }
      const counts = { batches: 1, records: 1, abortedRecords: 0 }
      await writer.append([batch], { startOffset: from, endOffset: from + 1n, ...counts, ...times }, signal)
      appended.push([list, (await writer.hand(signal)).durable])
    }
    await packs.flush()
    const lists = new Map<string, ListChange>()
    for (const [list, durable] of appended) lists.set(list, this.#append(list, await durable))
    const at = new Date(this.#nowMs).toISOString()
    const facts = { tool_version: '0', run: 'bench', complete: true, created_at: at, started_at: at }
    const topics = this.generation === 0 ? this.#topics() : noChange.topics
    await this.#log.commit(facts, { ...noChange, topics, lists }, async () => undefined, signal)
    this.#generation++
    await this.#log.tidy(signal)
    this.#nowMs += MINUTE
  }

  #append(list: string, segment: Segment): ListChange {
    const row = this.#log.state.lists.get(list)
    const end = segment.end_offset
    const first = { ...zeroRow, start_offset: segment.start_offset, end_offset: segment.start_offset }
    const base = { partition: 0, indexes: [], ...(row ?? first), high_watermark: end, last_stable_offset: end }
    const lastBatch = { base_offset: segment.start_offset, records: 1, crc: randomBytes(4).readUInt32BE() }
    const { partition: _, indexes: __, ...after } = withSegment(base, segment, 0, [], lastBatch)
    return { isNew: !row, row: diffRows(row ?? zeroRow, after), parts: row ? [[0, row.segments], segment] : [segment] }
  }

  #topics(): Map<string, TopicRow> {
    const ids = [...new Set(this.#lists.map(list => list.split('/')[0] ?? ''))]
    const common = { state: 'current' as const, internal: false, replication_factor: 3, configs: {} }
    return new Map(ids.map((id, i) => [id, { name: `topic-${i}`, id, ...common }]))
  }

  /**
   * Removes what only generations name that are older than the last sweep. Kept are: what the newest generation names, what the one
   * of the last sweep did, and everything that was written since.
   */
  async sweep(signal: AbortSignal): Promise<void> {
    const live = await this.#namedObjects(signal)
    for (const key of this.storage.objects.keys()) {
      const isNew = (this.#createdAt.get(key) ?? 0) >= this.#sweptMs
      if (isNew || live.has(key) || this.#lived.has(key)) continue
      await this.storage.remove(key, signal)
      this.#createdAt.delete(key)
    }
    this.#lived = live
    this.#sweptMs = this.#nowMs
  }

  async #namedObjects(signal: AbortSignal): Promise<Set<string>> {
    const read = new Set<string>()
    const watched = new Proxy(this.storage, {
      get: (target, name) =>
        name === 'read'
          ? (key: string) => {
              read.add(key)
              return target.read(key, signal)
            }
          : Reflect.get(target, name),
    })
    const opened = await openGeneration(watched, BACKUP, this.generation, signal)
    const lists = new SegmentLists(watched, opened)
    for (const list of [...opened.state.lists.keys()].sort()) {
      for (const { key } of await lists.read(list, signal)) read.add(key)
    }
    for (const key of this.storage.objects.keys()) if (key.includes('/manifests/')) read.add(key)
    return read
  }
}

/** Equal offsets would make equal batches, whose hashes and rows compress to nothing. */
function randomOffset(): bigint {
  return BigInt(Math.floor(Math.random() * 1e7))
}

const template = encodeRun(0n, 1, { valueBytes: 60 })

/** The same store; reports what is created. */
function countWrites(storage: MemoryStorage, onWrite: (object: { key: string; bytes: number }) => void): Storage {
  return {
    ...storage,
    create: async (key, body, signal) => {
      await storage.create(key, body, signal)
      onWrite({ key, bytes: body.length })
    },
    openWriter: async (key, signal) => {
      const writer = await storage.openWriter(key, signal)
      return {
        ...writer,
        commit: async commitSignal => {
          await writer.commit(commitSignal)
          onWrite({ key, bytes: storage.objects.get(key)?.length ?? 0 })
        },
      }
    },
  }
}
