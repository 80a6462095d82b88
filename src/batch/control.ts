import { KafkaBackupError } from '../errors.ts'
import type { BatchHeader } from './header.ts'
import { decodeRecords } from './records.ts'

export type Marker = 'abort' | 'commit' | 'other'

/**
 * What a control batch says. Its one record has a key of version INT16 and type INT16: 0 aborts and 1 commits the
 * transaction of the batch's producer; other types (a KRaft leader change, say) end no transaction.
 */
export function decodeMarker(buffer: Buffer, header: BatchHeader): Marker {
  // Compaction may empty a marker's batch once it is of no use to any reader.
  if (header.recordCount === 0) return 'other'
  const key = decodeRecords(buffer, header)[0]?.key
  if (!key || key.length < 4) {
    throw new KafkaBackupError('BATCH_INVALID', `the control batch at offset ${header.baseOffset} has no type`)
  }
  const type = key.readInt16BE(2)
  return type === 0 ? 'abort' : type === 1 ? 'commit' : 'other'
}
