import { randomBytes } from 'node:crypto'
import { newestState } from '../src/archive/catalog.ts'
import { type ListChange, noChange, type TopicRow } from '../src/archive/log/change.ts'
import { findNewestCommit } from '../src/archive/log/list-commits.ts'
import { LogWriter } from '../src/archive/log/log-writer.ts'
import { diffRows, zeroRow } from '../src/archive/log/row-change.ts'
import type { Segment } from '../src/archive/manifest.ts'
import { withSegment } from '../src/archive/summary.ts'
import { runPrune } from '../src/retention/prune.ts'
import type { Storage } from '../src/storage/storage.ts'
import { encodeRun } from '../test/fakes/batches.ts'
import { JumpingClock } from '../test/fakes/jumping-clock.ts'
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
  readonly clock: JumpingClock
  readonly #lists: string[]
  #log: LogWriter
  readonly #reopen: () => Promise<LogWriter>
  #names = 0
  #generation = 0

  private constructor(
    storage: MemoryStorage,
    clock: JumpingClock,
    lists: string[],
    { log, reopen }: { log: LogWriter; reopen: () => Promise<LogWriter> },
  ) {
    this.storage = storage
    this.clock = clock
    this.#lists = lists
    this.#log = log
    this.#reopen = reopen
  }

  static async open(partitions: number): Promise<SimulatedLog> {
    const clock = new JumpingClock()
    const storage = openMemoryStorage({ now: clock.now })
    const ids = Array.from({ length: Math.ceil(partitions / PARTITIONS_OF_TOPIC) }, () =>
      randomBytes(16).toString('hex'),
    )
    const lists = Array.from({ length: partitions }, (_, i) => `${ids[Math.floor(i / 10)]}/${i % PARTITIONS_OF_TOPIC}`)
    const { signal } = new AbortController()
    let simulated: SimulatedLog | undefined
    const pieces = { compression: 'auto' as const, segmentBytes: 128 << 20, mergeAfterMs: 24 * 60 * MINUTE }
    const newRun = () => simulated?.newName() ?? 'none'
    const options = { backupId: BACKUP, pieces, newRun, nowMs: clock.now }
    const counted = countWrites(storage, object => simulated?.count(object))
    const reopen = async () => LogWriter.open(counted, await newestState(storage, BACKUP, signal), options, signal)
    simulated = new SimulatedLog(storage, clock, lists, { log: await reopen(), reopen })
    return simulated
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
      const time = BigInt(this.clock.now() + Math.floor(Math.random() * MINUTE))
      const times = { firstTimestamp: time, lastTimestamp: time, aborted: [] }
      const counts = { batches: 1, records: 1, abortedRecords: 0 }
      await writer.append([batch], { startOffset: from, endOffset: from + 1n, ...counts, ...times }, signal)
      appended.push([list, (await writer.hand(signal)).durable])
    }
    await packs.flush()
    const lists = new Map<string, ListChange>()
    for (const [list, durable] of appended) lists.set(list, this.#append(list, await durable))
    const at = new Date(this.clock.now()).toISOString()
    const facts = { tool_version: '0', run: 'bench', complete: true, created_at: at, started_at: at }
    const topics = this.generation === 0 ? this.#topics() : noChange.topics
    await this.#log.commit(facts, { ...noChange, topics, lists }, async () => undefined, signal)
    this.#generation++
    await this.#log.tidy(signal)
    this.clock.pass(MINUTE)
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

  /** As a job without rules does: generations of the last day are kept, and what nothing needs any more goes. */
  async prune(signal: AbortSignal, storage: Storage = this.storage): Promise<void> {
    const counted = countWrites(storage, object => this.count(object))
    const identity = { newRun: () => this.newName(), toolVersion: '0', host: 'bench', pid: 1 }
    const parts = { storage: counted, clock: this.clock, ...identity, onProgress: () => undefined }
    await runPrune({ match: ['*'], graceMs: 24 * 60 * MINUTE }, parts, { isDryRun: false }, signal)
    const newest = await findNewestCommit(this.storage, BACKUP, signal)
    if (newest === undefined || newest === this.#generation) return
    this.#generation = newest
    this.#log = await this.#reopen()
  }
}

/** Equal offsets would make equal batches, whose hashes and rows compress to nothing. */
function randomOffset(): bigint {
  return BigInt(Math.floor(Math.random() * 1e7))
}

const template = encodeRun(0n, 1, { valueBytes: 60 })

/** The same store; reports what is created. */
function countWrites(storage: Storage, onWrite: (object: { key: string; bytes: number }) => void): Storage {
  return {
    ...storage,
    create: async (key, body, signal) => {
      await storage.create(key, body, signal)
      onWrite({ key, bytes: body.length })
    },
    openWriter: async (key, signal) => {
      const writer = await storage.openWriter(key, signal)
      let bytes = 0
      return {
        ...writer,
        write: async (chunks, writeSignal) => {
          bytes += chunks.reduce((sum, { length }) => sum + length, 0)
          await writer.write(chunks, writeSignal)
        },
        commit: async commitSignal => {
          await writer.commit(commitSignal)
          onWrite({ key, bytes })
        },
      }
    },
  }
}
