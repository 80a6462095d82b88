import * as z from 'zod'
import { hasCode } from '../errors.ts'
import { isTooDeep, MAX_JSON_DEPTH, parseJson } from '../lib/json.ts'
import { accessSectionSchema } from './access-section.ts'
import { compactionSchema } from './compaction.ts'
import { type AvoidedDamage, damaged, tooNew } from './damage.ts'
import { groupsSectionSchema, takenGroupsSchema } from './groups-section.ts'
import type { FolderOf } from './layout.ts'
import { refuseRepeatsOf } from './refuse-repeats.ts'
import { registrySectionSchema, sectionNames } from './registry-section.ts'
import { count, hash, int64, isInternalTopic, kafkaText, lineageId, topicName } from './scalars.ts'
import { checkSeal } from './seal.ts'

/** The newest format of these documents. */
export const FORMAT_VERSION = 1

const gap = z.strictObject({
  from: int64,
  /** The first offset that exists again; null if unknown. */
  to: int64.nullable(),
  reason: z.enum(['retention', 'topic_deleted', 'topic_recreated', 'source_truncated', 'unreadable', 'damaged']),
  found_at: z.string(),
})

/** A transaction that was rolled back: no reader of committed data sees its records. */
const abortedTransaction = z.strictObject({
  producer_id: int64,
  first_offset: int64,
  /** The offset of its marker; null if it is beyond the end of the backup. */
  last_offset: int64.nullable(),
})

const indexRef = z.strictObject({ key: z.string(), size: count, blake3: hash, segments: count })

const partitionFields = {
  partition: count,
  start_offset: int64,
  end_offset: int64,
  /** At the time of the last look: how far the log went, and how far transactions let a reader go. */
  high_watermark: int64,
  last_stable_offset: int64,
  last_epoch: z.int(),
  records: count,
  aborted_records: count,
  batches: count,
  bytes: count,
  stored_bytes: count,
  segments: count,
  first_timestamp: int64.nullable(),
  last_timestamp: int64.nullable(),
  gaps: z.array(gap),
  /** Rolled back, with a marker that lies beyond the end of this backup. */
  open_aborted: z.array(abortedTransaction),
  indexes: z.array(indexRef),
  /** Absent where the topic is not compacted, or no run has looked at that. */
  compaction: compactionSchema.exactOptional(),
  /** Tells whether a source still has what is stored last; absent where nothing was stored, or a gap came behind it. */
  last_batch: z.strictObject({ base_offset: int64, records: count, crc: count }).exactOptional(),
  /** The source has no record between `end_offset` and this; absent where nothing is known of it. */
  read_to: int64.exactOptional(),
  /** Of the records below the offset, some had these message formats at the source; absent where all had v2. */
  converted: z.strictObject({ formats: z.array(z.enum(['v0', 'v1'])).min(1), end_offset: int64 }).exactOptional(),
}
export const rereadSchema = z.strictObject(partitionFields)

export const partitionSchema = z.strictObject({
  ...partitionFields,
  /** A list that was begun at the start of the log, and takes the place of this one when it reaches the end. */
  reread: z.lazy(() => rereadSchema).exactOptional(),
})

export const topicSchema = z.strictObject({
  name: topicName,
  id: kafkaText,
  /** The cluster gave the topic no ID: `id` was made from its name, and `kafka_id` is what it has got since. */
  id_source: z.literal('name').exactOptional(),
  kafka_id: kafkaText.exactOptional(),
  /** A run has read records of it by name. */
  read_by: z.literal('name').exactOptional(),
  /** Counts from 1 within one topic ID, and is absent for the first: a source that lost records starts another. */
  incarnation: z.int().min(2).exactOptional(),
  /** `replaced`: a newer incarnation has its name. `absent`: not part of the newest run. */
  state: z.enum(['current', 'replaced', 'absent']),
  internal: z.boolean(),
  replication_factor: count,
  configs: z.record(kafkaText, kafkaText),
  partitions: z.array(partitionSchema),
  /** The values in force of the settings that decide which records it keeps; absent where no run has stored them. */
  effective_configs: z.record(kafkaText, kafkaText).exactOptional(),
  /** How many partitions the topic has at the source; absent where all of them are listed. */
  partition_count: count.exactOptional(),
  /** Committed offsets of groups, as they were when a run saw this incarnation last; absent while it is current. */
  consumer_groups: takenGroupsSchema.exactOptional(),
  /** When a run found the newer incarnation. */
  replaced_at: z.string().exactOptional(),
})

export const clusterSchema = z.strictObject({ id: kafkaText.nullable(), brokers: count })
export const selectionSchema = z.strictObject({ include: z.array(z.string()), exclude: z.array(z.string()) })

const encryptionSchema = z.strictObject({
  /** The data key of what this generation added; objects of earlier ones may have others. */
  data_key: z.string(),
  cipher: z.literal('AES-256-GCM'),
  hide_names: z.boolean(),
})

export const manifestSchema = z.strictObject({
  format: z.literal('kafka-backup'),
  format_version: z.literal(FORMAT_VERSION),
  tool_version: z.string(),
  backup_id: z.string(),
  generation: z.int().positive(),
  run: z.string(),
  /** Every partition reached the end that its run had fixed. */
  complete: z.boolean(),
  created_at: z.string(),
  started_at: z.string(),
  cluster: clusterSchema,
  selection: selectionSchema,
  topics: z.array(topicSchema),
  /** Absent where no registry belongs to the backup. */
  schema_registry: registrySectionSchema.exactOptional(),
  /** Absent in backups of versions that did not take them. */
  consumer_groups: groupsSectionSchema.exactOptional(),
  /** Absent where the backup is not encrypted. */
  encryption: encryptionSchema.exactOptional(),
  /** Absent where the job takes none of it. */
  access: accessSectionSchema.exactOptional(),
  /** Sections that were read before the ends of this generation were fixed; absent where there are none. */
  carried_sections: z.array(z.enum(sectionNames)).exactOptional(),
  /** When the settings of the topics were read; absent where the run read them for this generation. */
  topic_settings_at: z.string().exactOptional(),
  /** The same in all generations of a backup and in its copies; absent where the first generation has none. */
  lineage: lineageId.exactOptional(),
  warnings: z.array(z.string()),
  /** Of the bytes before it; absent in manifests of 0.1.0. */
  checksum: hash.optional(),
})

export const segmentSchema = z.strictObject({
  key: z.string(),
  size: count,
  blake3: hash,
  compression: z.enum(['none', 'zstd']),
  plain_size: count,
  /** Stored size and plain size of each zstd frame, in order; absent where nothing is compressed. */
  frames: z.array(z.tuple([count, count])).optional(),
  /** The first offset that counts. The first batch may start below it, where DeleteRecords cut the log inside a batch. */
  start_offset: int64,
  end_offset: int64,
  batches: count,
  records: count,
  aborted_records: count,
  first_timestamp: int64.nullable(),
  last_timestamp: int64.nullable(),
  /** Rolled-back transactions whose marker is in this segment. */
  aborted: z.array(abortedTransaction).optional(),
})

export const partitionIndexSchema = z.strictObject({
  format: z.literal('kafka-backup-index'),
  format_version: z.literal(FORMAT_VERSION),
  topic: topicName,
  topic_id: kafkaText,
  partition: count,
  segments: z.array(segmentSchema),
})

/** A generation as all readers see it. One of version 2 is put together from its log. */
export type Manifest = Omit<z.output<typeof manifestSchema>, 'checksum' | 'format_version' | 'topics'> & {
  format_version: number
  topics: ManifestTopic[]
  /** For readers; never stored. Grows while segments are listed: pages of a checkpoint are read then. */
  avoided?: readonly AvoidedDamage[]
}
/** What a writer has to know of the encryption below it. */
export interface ArchiveEncryption {
  section: NonNullable<Manifest['encryption']>
  folderOf?: FolderOf
}
export type ManifestTopic = Omit<z.output<typeof topicSchema>, 'partitions'> & { partitions: ManifestPartition[] }
type StoredPartition = z.output<typeof rereadSchema>
/** The segments of a partition are listed by its indexes in version 1, and by its list in version 2. */
export type ManifestPartition = StoredPartition & {
  list?: SegmentList
  reread?: StoredPartition & { list?: SegmentList }
}

export interface SegmentList {
  /** In the order of their offsets. */
  read(signal: AbortSignal): Promise<readonly Segment[]>
}
export type Compaction = z.output<typeof compactionSchema>
export type LastBatch = NonNullable<ManifestPartition['last_batch']>
export type Gap = z.output<typeof gap>
export type AbortedTransaction = z.output<typeof abortedTransaction>
export type IndexRef = z.output<typeof indexRef>
export type PartitionIndex = z.output<typeof partitionIndexSchema>
export type Segment = z.output<typeof segmentSchema> & {
  /** Where it lies in an object that it shares with segments of other partitions, which is what `key` names. */
  piece?: PiecePlace
  /** When the oldest and the newest of its records were stored; absent where that is when its object was. */
  stored_from?: string
  stored_at?: string
}

export interface PiecePlace {
  position: number
  /** How often its records were merged. */
  level: number
  pack: PackRef
}

/** An object that holds pieces, and when it was written; pieces that were merged say when their records were stored. */
export type PackRef = NamedObject & { stored_at: string }

/** An object that a generation needs, with its recorded size and hash. */
export interface NamedObject {
  key: string
  size: number
  blake3: string
}

export function parseManifest(bytes: Buffer, key: string): Manifest {
  const { checksum: _, ...manifest } = parseSealed(manifestSchema, bytes, key)
  refuseRepeatsOf(manifest, key)
  const topics = manifest.topics.map(topic => ({
    ...topic,
    internal: topic.internal || isInternalTopic(topic.name),
  }))
  return { ...manifest, topics }
}

export function parsePartitionIndex(text: string, key: string): PartitionIndex {
  return parseAs(partitionIndexSchema, text, key)
}

export function parseSealed<T>(schema: z.ZodType<T>, bytes: Buffer, key: string, newest = FORMAT_VERSION): T {
  const check = (data: unknown) =>
    checkSeal(bytes, key, typeof data === 'object' && data !== null && 'checksum' in data)
  try {
    return parseAs(schema, bytes.toString('utf8'), key, check, newest)
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_TOO_NEW')) throw error
    // Every version seals its documents in this form: one whose checksum is wrong is damaged, whatever version it claims.
    checkSeal(bytes, key, false)
    throw error
  }
}

/** `checkFurther` comes when the version is known to be one that this program can judge. */
export function parseAs<T>(
  schema: z.ZodType<T>,
  text: string,
  key: string,
  checkFurther = (_: unknown) => {},
  newest = FORMAT_VERSION,
): T {
  let data: unknown
  try {
    data = parseJson(text)
  } catch (cause) {
    throw damaged(key, 'is not JSON', { cause })
  }
  refuseDepth(data, key)
  refuseNewer(data, key, newest)
  checkFurther(data)
  const result = schema.safeParse(data)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  throw damaged(key, `is damaged: ${issue?.path.join('.')}: ${issue?.message}`, {
    details: { field: issue?.path.join('.') },
  })
}

export function refuseDepth(data: unknown, key: string): void {
  if (!isTooDeep(data)) return
  throw damaged(key, `is damaged: it is nested deeper than ${MAX_JSON_DEPTH} levels`)
}

export function refuseNewer(data: unknown, key: string, newest = FORMAT_VERSION): void {
  const version = versionOf(data)
  if (version === undefined || version <= newest) return
  const known = `this version of kafka-backup reads up to ${newest}`
  throw tooNew(key, `has format version ${version}; ${known}`)
}

function versionOf(data: unknown): number | undefined {
  if (typeof data !== 'object' || data === null || !('format_version' in data)) return undefined
  return typeof data.format_version === 'number' ? data.format_version : undefined
}
