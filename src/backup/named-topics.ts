import type { MetadataTopic } from '../kafka/api/metadata.ts'
import { isIdOfName } from '../kafka/named-topic-id.ts'
import { startsBehind, TruncationError } from './find-truncation.ts'
import type { PartitionCopy } from './partition-copy.ts'

/** The values in force that decide which records a topic keeps, by name. */
type Settings = Readonly<Record<string, string>>

/** How far the clocks of this machine and of a broker may be apart. */
const CLOCK_SKEW_MS = 600_000

/** Pure. A broker without IDs, in a cluster that is being upgraded, says nothing of another's. */
export function isOtherTopic(
  { id, name }: Pick<MetadataTopic, 'id' | 'name'>,
  { topicId }: Pick<PartitionCopy, 'topicId'>,
): boolean {
  return id !== topicId && !isIdOfName(id, name) && !isIdOfName(topicId, name)
}

/** Pure. Whether compaction may have removed any batch; also where the policy is not known. */
export function mayBeCompacted(settings: Settings): boolean {
  return settings['cleanup.policy']?.includes('compact') ?? true
}

/**
 * Pure. Whether age or size can have removed all records that are stored, the newest of which has this time. Of a topic
 * without an ID, a log that starts behind them is otherwise another log, or one that was cut by hand.
 */
export function retentionExplains(settings: Settings, lastTimestamp: bigint | null, nowMs: number): boolean {
  if (!settings['cleanup.policy']?.includes('delete')) return false
  const maxBytes = Number(settings['retention.bytes'] ?? -1)
  const maxMs = Number(settings['retention.ms'] ?? -1)
  if (maxBytes >= 0 || lastTimestamp === null) return true
  return maxMs >= 0 && Number(lastTimestamp) + maxMs <= nowMs + CLOCK_SKEW_MS
}

/** SOURCE_TRUNCATED where nothing shows that a log which starts behind what is stored is the one that was read. */
export function refuseUnexplained(copy: PartitionCopy, logStart: bigint, nowMs: number): void {
  if (!isIdOfName(copy.topicId, copy.topic) || !copy.lastBatch || logStart < copy.position) return
  if (retentionExplains(copy.settings, copy.durable.last_timestamp, nowMs)) return
  throw new TruncationError(copy.topic, `${copy.name} ${startsBehind(logStart, copy.position)}`)
}
