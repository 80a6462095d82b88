import { exactLabelOf } from '../archive/incarnation.ts'
import type { Manifest, ManifestPartition, ManifestTopic } from '../archive/manifest.ts'
import { findFault, parseSelector, selectBy } from '../archive/topic-selector.ts'
import { KafkaBackupError } from '../errors.ts'
import { compileGlob } from '../lib/glob.ts'
import { parts } from '../registry/ids/schema-id.ts'
import type { Storage } from '../storage/storage.ts'
import { type Conditions, RecordMatcher } from './conditions.ts'
import type { ShownRecord } from './print-format.ts'
import {
  type BatchWatch,
  type Extent,
  type FoundRecord,
  openPartition,
  type PartitionRecords,
  readForward,
  readNewest,
} from './read-records.ts'
import { SchemaDecoder } from './schema-decoder.ts'
import { type Showing, showPart } from './show-record.ts'
import { StoredSchemas } from './stored-schemas.ts'

/** Which records of a backup are shown, and how. */
export interface CatQuery extends Conditions {
  /** A name or a pattern, with `@` for another incarnation than the newest. */
  topic: string
  /** Also older incarnations of the topics, under their names with `@`. */
  allIncarnations?: boolean | undefined
  /** All where there is none. */
  partition?: number | undefined
  extent: Extent
  /** The last records of each partition. */
  newest?: number | undefined
  limit?: number | undefined
  keyAs: Showing
  valueAs: Showing
  /** Of the registry, in which the IDs of the topic count. */
  context?: string | undefined
}

/** What was read so far. It is complete when the last record has been taken. */
export interface Tally {
  topics: Map<string, { searched: number; matched: number }>
  /** Values that name a schema of which nothing could be decoded; their bytes were searched. */
  notDecoded: number
  /** Of record batches. */
  bytes: number
  /** What is wrong with schemas that could not be read. */
  damage?: string | undefined
  /** The limit of the query has ended the reading. */
  isCut: boolean
}

export function newTally(): Tally {
  return { topics: new Map(), notDecoded: 0, bytes: 0, isCut: false }
}

/** Pure. The older incarnations of the same names. */
function olderBy(selector: ReturnType<typeof parseSelector>, topics: readonly ManifestTopic[]): ManifestTopic[] {
  if (selector.which !== undefined) return []
  const matches = compileGlob(selector.name)
  return topics.filter(topic => topic.state === 'replaced' && matches(topic.name))
}

export function totalsOf({ topics }: Tally): { searched: number; matched: number } {
  const all = [...topics.values()]
  const sum = (pick: (one: { searched: number; matched: number }) => number) => all.reduce((n, one) => n + pick(one), 0)
  return { searched: sum(one => one.searched), matched: sum(one => one.matched) }
}

/** The records of a generation, partition by partition, in the order of their offsets. */
export async function* catRecords(
  storage: Storage,
  manifest: Manifest,
  query: CatQuery,
  { tally = newTally(), onRead }: { tally?: Tally; onRead?: OnRead | undefined },
  signal: AbortSignal,
): AsyncGenerator<ShownRecord> {
  const schemas = new StoredSchemas(storage, manifest)
  refuseUnknownContext(schemas, query)
  const decoder = new SchemaDecoder(schemas, query.context)
  const { keyAs, valueAs } = query
  const matcher = new RecordMatcher(query, keyAs, decoder)
  const show = (record: FoundRecord): ShownRecord => {
    return { record, key: showPart(record, 'key', keyAs, decoder), value: showPart(record, 'value', valueAs, decoder) }
  }
  const decoded = parts.filter(part => (part === 'key' ? keyAs : valueAs) === 'auto')
  const partitions = partitionsOf(manifest, query)
  const progress = new ReadProgress(partitions, onRead)
  let left = query.limit ?? Number.POSITIVE_INFINITY
  const note = () => {
    tally.notDecoded = matcher.notDecoded
    tally.damage = decoder.damage
  }
  for (const { topic, partition, label } of partitions) {
    const counts = tally.topics.get(label) ?? { searched: 0, matched: 0 }
    tally.topics.set(label, counts)
    const watch: BatchWatch = {
      mayMatch: (body, header) => matcher.mayMatch(body, header),
      onSearched: records => {
        counts.searched += records
      },
      onRead: bytes => {
        tally.bytes += bytes
        progress.read(bytes)
      },
    }
    const opened = await openPartition(storage, topic, partition, query.extent, watch, signal)
    const source = { ...opened, topic: label }
    for await (const record of matching(storage, source, query, matcher, signal)) {
      await decoder.prepare(record, decoded, signal)
      counts.matched++
      note()
      yield show(record)
      tally.isCut = --left <= 0
      if (tally.isCut) return
    }
    note()
    progress.endPartition(partition)
  }
}

/** Called after each piece with how far the reading is. */
export type OnRead = (read: { objects: number; bytes: number; totalObjects: number; totalBytes: number }) => void

/** How far the reading is. Segments that need not be read count as read. */
class ReadProgress {
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

function refuseUnknownContext(schemas: StoredSchemas, { context }: CatQuery): void {
  if (context === undefined || schemas.contexts.has(context)) return
  const known = [...schemas.contexts].join(', ') || 'none'
  const message = `the backup has no schemas in the context ${context}; it has some in: ${known}`
  throw new KafkaBackupError('SCHEMAS_NOT_FOUND', message, { help: 'Give the context as it is listed, such as `.eu`.' })
}

/** Pure. Throws where the query names nothing of the backup. */
function partitionsOf(
  { topics, backup_id: backupId, generation }: Manifest,
  { topic: text, partition: wanted, allIncarnations = false }: CatQuery,
): { topic: ManifestTopic; partition: ManifestPartition; label: string }[] {
  const selector = parseSelector(text)
  const found = [...selectBy(selector, topics), ...(allIncarnations ? olderBy(selector, topics) : [])]
  const fault =
    findFault(selector, topics) ?? (found.length === 0 ? `no topic of the backup matches ${text}` : undefined)
  const place = `generation ${generation} of backup ${backupId}`
  if (fault !== undefined) {
    const help = 'kafka-backup describe lists the topics of a backup.'
    throw new KafkaBackupError('TOPIC_NOT_FOUND', `${place}: ${fault}`, { details: { topic: text }, help })
  }
  const labelOf = (topic: ManifestTopic) =>
    allIncarnations && topic.state === 'replaced' ? exactLabelOf(topic, topics) : topic.name
  const all = found.flatMap(topic => topic.partitions.map(partition => ({ topic, partition, label: labelOf(topic) })))
  const chosen = all.filter(one => wanted === undefined || one.partition.partition === wanted)
  if (chosen.length > 0 || wanted === undefined) return chosen
  const help = `It has ${all.length} partitions, from ${all[0]?.partition.partition} to ${all.at(-1)?.partition.partition}.`
  const details = { topic: text, partition: wanted }
  throw new KafkaBackupError('TOPIC_NOT_FOUND', `${place}: topic ${text} has no partition ${wanted}`, { details, help })
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
    yield* await readNewest(storage, source, extent, { count: newest, isWanted }, signal)
    return
  }
  for await (const record of readForward(storage, source, extent, signal)) {
    if (await isWanted(record)) yield record
  }
}
