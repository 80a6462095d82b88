import type { Manifest, ManifestPartition, ManifestTopic } from '../archive/manifest.ts'
import { findFault, parseSelector, selectBy } from '../archive/topic-selector.ts'
import { KafkaBackupError } from '../errors.ts'
import { parts } from '../registry/ids/schema-id.ts'
import type { Storage } from '../storage/storage.ts'
import type { ShownRecord } from './print-format.ts'
import { type Extent, type FoundRecord, openPartition, readForward, readNewest } from './read-records.ts'
import { SchemaDecoder } from './schema-decoder.ts'
import { type Showing, showPart, textOfPart } from './show-record.ts'
import { StoredSchemas } from './stored-schemas.ts'

/** Which records of a backup are shown, and how. */
export interface CatQuery {
  /** A name or a pattern, with `@` for another incarnation than the newest. */
  topic: string
  /** All where there is none. */
  partition?: number | undefined
  extent: Extent
  /** The key as it is shown, or as text. */
  key?: string | undefined
  headers: readonly { name: string; value?: string | undefined }[]
  /** The last records of each partition. */
  newest?: number | undefined
  limit?: number | undefined
  keyAs: Showing
  valueAs: Showing
  /** Of the registry, in which the IDs of the topic count. */
  context?: string | undefined
}

/** The records of a generation, partition by partition, in the order of their offsets. */
export async function* catRecords(
  storage: Storage,
  manifest: Manifest,
  query: CatQuery,
  signal: AbortSignal,
): AsyncGenerator<ShownRecord> {
  const decoder = new SchemaDecoder(new StoredSchemas(storage, manifest), query.context)
  const show = (record: FoundRecord): ShownRecord => ({
    record,
    key: showPart(record, 'key', query.keyAs, decoder),
    value: showPart(record, 'value', query.valueAs, decoder),
  })
  const decoded = parts.filter(part => (part === 'key' ? query.keyAs : query.valueAs) === 'auto')
  let left = query.limit ?? Number.POSITIVE_INFINITY
  for (const { topic, partition } of partitionsOf(manifest, query)) {
    for await (const record of readPartition(storage, topic, partition, query, decoder, signal)) {
      await decoder.prepare(record, decoded, signal)
      yield show(record)
      if (--left <= 0) return
    }
  }
}

/** Pure. Throws where the query names nothing of the backup. */
function partitionsOf(
  { topics, backup_id: backupId, generation }: Manifest,
  { topic: text, partition: wanted }: CatQuery,
): { topic: ManifestTopic; partition: ManifestPartition }[] {
  const selector = parseSelector(text)
  const found = selectBy(selector, topics)
  const fault =
    findFault(selector, topics) ?? (found.length === 0 ? `no topic of the backup matches ${text}` : undefined)
  const place = `generation ${generation} of backup ${backupId}`
  if (fault !== undefined) {
    const help = 'kafka-backup describe lists the topics of a backup.'
    throw new KafkaBackupError('TOPIC_NOT_FOUND', `${place}: ${fault}`, { details: { topic: text }, help })
  }
  const all = found.flatMap(topic => topic.partitions.map(partition => ({ topic, partition })))
  const chosen = all.filter(one => wanted === undefined || one.partition.partition === wanted)
  if (chosen.length > 0 || wanted === undefined) return chosen
  const help = `It has ${all.length} partitions, from ${all[0]?.partition.partition} to ${all.at(-1)?.partition.partition}.`
  const details = { topic: text, partition: wanted }
  throw new KafkaBackupError('TOPIC_NOT_FOUND', `${place}: topic ${text} has no partition ${wanted}`, { details, help })
}

async function* readPartition(
  storage: Storage,
  topic: ManifestTopic,
  partition: ManifestPartition,
  query: CatQuery,
  decoder: SchemaDecoder,
  signal: AbortSignal,
): AsyncGenerator<FoundRecord> {
  const { extent, newest } = query
  const isWanted = async (record: FoundRecord) => {
    if (!hasHeaders(record, query)) return false
    if (query.key !== undefined && query.keyAs === 'auto') await decoder.prepare(record, ['key'], signal)
    return hasKey(record, query, decoder)
  }
  const source = await openPartition(storage, topic, partition, extent, signal)
  if (newest !== undefined) {
    yield* await readNewest(storage, source, extent, { count: newest, isWanted }, signal)
    return
  }
  for await (const record of readForward(storage, source, extent, signal)) {
    if (await isWanted(record)) yield record
  }
}

function hasHeaders({ headers }: FoundRecord, { headers: wanted }: CatQuery): boolean {
  return wanted.every(({ name, value }) =>
    headers.some(([own, bytes]) => own === name && (value === undefined || bytes?.toString('utf8') === value)),
  )
}

function hasKey(record: FoundRecord, { key, keyAs }: CatQuery, decoder: SchemaDecoder): boolean {
  if (key === undefined) return true
  if (record.key === null) return false
  if (record.key.equals(Buffer.from(key, 'utf8'))) return true
  const shown = showPart(record, 'key', keyAs, decoder)
  return textOfPart(shown) === key || shown.value === key
}
