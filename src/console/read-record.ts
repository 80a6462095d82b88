import { KafkaBackupError, usageError } from '../errors.ts'
import { formatBytes } from '../lib/units.ts'
import { type Answer, downloadAnswer } from './answer.ts'
import type { OpenedBackup } from './archive-reader.ts'
import { type FoundTopic, findPartition, findTopic } from './find-topic.ts'
import type { RecordPlace } from './links.ts'
import { contextIn, type PageRequest } from './page-request.ts'
import { readOneRecord } from './read-one-record.ts'
import type { RecordView } from './record-view.ts'

/** Bytes of a key or value that can be kept as a file. */
export const MAX_RAW_BYTES = 64 << 20

/** A record with the bytes of its key and value. */
export interface OneRecord {
  found: FoundTopic
  view: RecordView
  /** Of the registry, in which its schema IDs count; undefined for the default one. */
  context?: string | undefined
  /** Others than the default one that have schemas in the backup. */
  contexts: readonly string[]
  bytes: Record<'key' | 'value', Buffer | null>
}

/** The bytes of its key or value, as a file. */
export async function rawPart(
  backup: OpenedBackup,
  place: RecordPlace,
  part: 'key' | 'value',
  request: PageRequest,
): Promise<Answer> {
  const { bytes, found } = await readRecord(backup, place, request)
  const content = bytes[part]
  if (content === null) throw new KafkaBackupError('TOPIC_NOT_FOUND', `the ${part} of this record is null`)
  if (content.length > MAX_RAW_BYTES) {
    throw usageError(
      `the ${part} has ${formatBytes(content.length)}; use kafka-backup cat for more than ${formatBytes(MAX_RAW_BYTES)}`,
    )
  }
  return downloadAnswer(`${found.label}-${place.partition}-${place.offset}.${part}`, content)
}

/** The record at a place, which must be there. */
export async function readRecord(
  backup: OpenedBackup,
  { topic, partition: number, offset }: RecordPlace,
  { query, signal }: Pick<PageRequest, 'query' | 'signal'>,
): Promise<OneRecord> {
  const found = findTopic(backup, topic)
  const partition = findPartition(found, number)
  const context = contextIn(query)
  const one = await readOneRecord(backup, found, { partition, offset, context }, signal)
  if (one) {
    const { view, contexts, record } = one
    return { found, view, context, contexts, bytes: { key: record.key, value: record.value } }
  }
  const range = `it holds offsets from ${partition.start_offset} to before ${partition.end_offset}, without those that compaction or gaps left out`
  throw new KafkaBackupError(
    'TOPIC_NOT_FOUND',
    `${topic}/${number} has no record at offset ${offset} in this backup: ${range}`,
  )
}
