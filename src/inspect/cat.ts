import type { Manifest, ManifestPartition } from '../archive/manifest.ts'
import { parts } from '../registry/ids/schema-id.ts'
import type { Storage } from '../storage/storage.ts'
import { type Conditions, RecordMatcher } from './conditions.ts'
import { detached, type Extent, type FoundRecord } from './found-record.ts'
import type { BatchWatch, PartitionRecords } from './open-piece.ts'
import type { ShownRecord } from './print-format.ts'
import { openPartition, readForward, readNewest } from './read-records.ts'
import { SchemaDecoder } from './schema-decoder.ts'
import { selectPartitions, type TopicChoice } from './select-partitions.ts'
import { type Showing, showShort, showShortHeaders } from './show-record.ts'
import { openSiftAhead } from './sift-ahead.ts'
import { StoredSchemas } from './stored-schemas.ts'

/** Which records of a backup are shown, and how. */
export interface CatQuery extends Conditions, TopicChoice {
  extent: Extent
  /** The last records of each partition. */
  newest?: number | undefined
  limit?: number | undefined
  keyAs: Showing
  valueAs: Showing
  /** False where shown headers are not used: they are not decoded. */
  showsHeaders?: boolean | undefined
  /** Of the registry, in which the IDs of the topic count. */
  context?: string | undefined
}

/** What was read so far. It is complete when the last record has been taken. */
export interface Tally {
  topics: Map<string, { searched: number; matched: number }>
  /** Values that name a schema of which nothing could be decoded; their bytes were searched. */
  notDecoded: number
  /** Keys likewise, where keys are asked for. */
  keysNotDecoded: number
  /** Those of the values that are too long as text. */
  tooLarge: number
  /** Of record batches. */
  bytes: number
  /** What is wrong with schemas that could not be read. */
  damage?: string | undefined
  /** The limit of the query has ended the reading. */
  isCut: boolean
}

export function newTally(): Tally {
  return { topics: new Map(), notDecoded: 0, keysNotDecoded: 0, tooLarge: 0, bytes: 0, isCut: false }
}

export function totalsOf({ topics }: Tally): { searched: number; matched: number } {
  const all = [...topics.values()]
  const sum = (pick: (one: { searched: number; matched: number }) => number) => all.reduce((n, one) => n + pick(one), 0)
  return { searched: sum(one => one.searched), matched: sum(one => one.matched) }
}

interface CatParts {
  tally?: Tally
  onRead?: OnRead | undefined
  /** Started before, for a search. */
  workers?: Parameters<typeof openSiftAhead>[2]
}

/** The records of a generation, partition by partition, in the order of their offsets. */
export async function* catRecords(
  storage: Storage,
  manifest: Manifest,
  query: CatQuery,
  { tally = newTally(), onRead, workers }: CatParts,
  signal: AbortSignal,
): AsyncGenerator<ShownRecord> {
  const schemas = new StoredSchemas(storage, manifest)
  schemas.refuseUnknown(query.context)
  const decoder = new SchemaDecoder(schemas, query.context)
  const { keyAs, valueAs, showsHeaders = true } = query
  const matcher = new RecordMatcher(query, keyAs, decoder)
  const show = (record: FoundRecord): ShownRecord => {
    const [key, value] = [showShort(record, 'key', keyAs, decoder), showShort(record, 'value', valueAs, decoder)]
    return { record, key, value, headers: showsHeaders ? showShortHeaders(record, decoder) : [] }
  }
  const decoded = parts.filter(part => (part === 'key' ? keyAs : valueAs) === 'auto')
  const partitions = selectPartitions(manifest, query)
  const progress = new ReadProgress(partitions, onRead)
  const ahead = openSiftAhead(matcher.needles, progress.totalBytes, workers)
  let left = query.limit ?? Number.POSITIVE_INFINITY
  const note = () => {
    tally.notDecoded = matcher.notDecoded
    tally.keysNotDecoded = matcher.keysNotDecoded
    tally.tooLarge = matcher.tooLarge
    tally.damage = decoder.damage
  }
  try {
    for (const { topic, partition, label } of partitions) {
      const counts = tally.topics.get(label) ?? { searched: 0, matched: 0 }
      tally.topics.set(label, counts)
      const watch = { ...watchOf(matcher, tally, counts, progress), ahead }
      const opened = await openPartition(storage, topic, partition, query.extent, watch, signal)
      for await (const record of matching(storage, { ...opened, topic: label }, query, matcher, signal)) {
        await decoder.prepare(record, decoded, signal)
        if (showsHeaders && record.headers.length > 0) await decoder.prepareHeaders(record, signal)
        counts.matched++
        note()
        yield show(record)
        tally.isCut = --left <= 0
        if (tally.isCut) return
      }
      note()
      progress.endPartition(partition)
    }
  } finally {
    ahead?.close()
  }
}

function watchOf(
  matcher: RecordMatcher,
  tally: Tally,
  counts: { searched: number },
  progress: ReadProgress,
): Omit<BatchWatch, 'ahead'> {
  return {
    mayMatch: (body, header) => matcher.mayMatch(body, header),
    judge: verdict => matcher.judge(verdict),
    excludes: record => matcher.excludes(record),
    onSearched: records => {
      counts.searched += records
    },
    onRead: bytes => {
      tally.bytes += bytes
      progress.read(bytes)
    },
  }
}

/** Called after each piece with how far the reading is. */
export type OnRead = (read: { objects: number; bytes: number; totalObjects: number; totalBytes: number }) => void

/** How far the reading is. Segments that need not be read count as read. */
export class ReadProgress {
  readonly #onRead: OnRead | undefined
  readonly #total = { objects: 0, bytes: 0 }
  /** Of partitions that are done. */
  readonly #done = { objects: 0, bytes: 0 }
  #bytes = 0

  constructor(all: readonly { partition: ManifestPartition }[], onRead: OnRead | undefined) {
    this.#onRead = onRead
    for (const { partition } of all) {
      this.#total.objects += partition.segments
      this.#total.bytes += partition.bytes
    }
  }

  get totalBytes(): number {
    return this.#total.bytes
  }

  read(bytes: number): void {
    this.#bytes += bytes
    this.#tell()
  }

  endPartition({ segments, bytes }: ManifestPartition): void {
    this.#done.objects += segments
    this.#done.bytes += bytes
    this.#bytes = 0
    this.#tell()
  }

  #tell(): void {
    const { objects, bytes } = this.#done
    const totals = { totalObjects: this.#total.objects, totalBytes: this.#total.bytes }
    this.#onRead?.({ objects, bytes: bytes + this.#bytes, ...totals })
  }
}

async function* matching(
  storage: Storage,
  source: PartitionRecords,
  { extent, newest }: CatQuery,
  matcher: RecordMatcher,
  signal: AbortSignal,
): AsyncGenerator<FoundRecord> {
  const isWanted = (record: FoundRecord) => matcher.matches(record, signal)
  if (newest !== undefined) {
    const keep = async (record: FoundRecord) => ((await isWanted(record)) ? detached(record) : undefined)
    yield* await readNewest(storage, source, extent, { count: newest, keep }, signal)
    return
  }
  for await (const record of readForward(storage, source, extent, signal)) {
    if (await isWanted(record)) yield record
  }
}
