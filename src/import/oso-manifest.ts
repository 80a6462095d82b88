import * as z from 'zod'
import { refuseRepeats } from '../archive/refuse-repeats.ts'
import { topicName } from '../archive/scalars.ts'
import { KafkaBackupError } from '../errors.ts'
import { parseJson } from '../lib/json.ts'

/**
 * `<backup_id>/manifest.json` of OSO kafka-backup, as its versions 0.1 to 0.25 write it. Fields that later versions added are optional, and
 * fields that are not known are ignored, as its own readers do.
 */
const int64 = z.union([z.int(), z.bigint()]).transform(BigInt)
const optionalText = z.string().nullish()

const segmentSchema = z.object({
  key: z.string().min(1),
  start_offset: int64,
  /** Inclusive. */
  end_offset: int64,
  record_count: z.int().nonnegative(),
  /** Since 0.21, in hexadecimal. */
  sha256: z.string().optional(),
})

const partitionSchema = z.object({
  partition_id: z.int().nonnegative().max(99_999),
  segments: z.array(segmentSchema),
  /** Since 0.17: offsets that the source had deleted, in [start, end). */
  gaps: z.array(z.object({ start_offset: int64, end_offset: int64, reason: z.string() })).optional(),
  /** Since 0.21: offsets that retention removed from the archive, both ends included. */
  pruned: z.array(z.object({ start_offset: int64, end_offset: int64 })).optional(),
})

const topicSchema = z.object({
  name: topicName,
  original_partition_count: z.int().min(1).max(100_000).nullish(),
  source_replication_factor: z.int().nullish(),
  configurations: z.record(z.string(), z.string()).optional(),
  partitions: z.array(partitionSchema),
})

const manifestSchema = z.object({
  backup_id: z.string(),
  created_at: z.int(),
  source_cluster_id: optionalText,
  source_brokers: z.array(z.string()).optional(),
  topics: z.array(topicSchema),
  /** Since 0.25; earlier versions read uncommitted records. */
  isolation_level: optionalText,
})

export type OsoManifest = z.output<typeof manifestSchema>
export type OsoTopic = OsoManifest['topics'][number]
export type OsoPartition = OsoTopic['partitions'][number]
export type OsoSegment = OsoPartition['segments'][number]

export const MANIFEST_HELP = 'Check --from and --backup-id; the manifest is `<from>/<backup_id>/manifest.json`.'

/** Throws where the document is not one of OSO kafka-backup, naming the field. */
export function parseOsoManifest(bytes: Buffer, key: string): OsoManifest {
  const document = tryJson(bytes)
  if (isOurs(document)) {
    throw new KafkaBackupError('USAGE', `${key} is a backup of this program already`, {
      help: 'Use `kafka-backup copy` to copy it to another location.',
    })
  }
  const parsed = manifestSchema.safeParse(document)
  if (parsed.success) {
    refuseRepeatsIn(parsed.data, key)
    return parsed.data
  }
  const [issue] = document === undefined ? [] : parsed.error.issues
  const where = issue && issue.path.length > 0 ? `${issue.path.join('.')}: ` : ''
  throw new KafkaBackupError(
    'ARCHIVE_DAMAGED',
    `${key} is not a manifest of OSO kafka-backup: ${where}${issue?.message ?? 'it is not JSON'}`,
    { help: MANIFEST_HELP },
  )
}

/** The second entry would replace the first. */
function refuseRepeatsIn({ topics }: OsoManifest, key: string): void {
  const names = topics.map(({ name }) => name)
  refuseRepeats('topic', names, key)
  for (const { name, partitions } of topics) {
    const numbers = partitions.map(one => one.partition_id)
    refuseRepeats(`of topic ${name} partition`, numbers, key)
  }
}

/** Whether the document is a manifest of this program. */
export function isOurs(document: unknown): boolean {
  return typeof document === 'object' && document !== null && 'format' in document && document.format === 'kafka-backup'
}

export function tryJson(bytes: Buffer): unknown {
  try {
    return parseJson(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
