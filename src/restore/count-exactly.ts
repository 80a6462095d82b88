import { KafkaBackupError } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { openOutgoing } from './archived-records.ts'
import type { RestoreOptions } from './options.ts'
import type { PlannedTopic, RestorePlan } from './plan.ts'

/** So much is read for a dry run, which takes about a second; beyond it the figures of the manifest have to do. */
export const COUNTED_BYTES = 64 << 20

/** What it costs to count the records of a topic: where keys decide, every partition of the target reads all of them. */
export function costOf({ legs, streams }: PlannedTopic): number {
  const bytes = legs.reduce((sum, { source }) => sum + source.bytes, 0)
  return streams.some(({ keyedAmong }) => keyedAmong !== undefined) ? bytes * streams.length : bytes
}

/** How many records a restore of the topic writes, by reading them; undefined where the backup cannot be read. */
export async function countExactly(
  options: RestoreOptions,
  plan: RestorePlan,
  topic: PlannedTopic,
  storage: Storage,
  signal: AbortSignal,
): Promise<number | undefined> {
  // What records are rewritten to does not change their number.
  const { rewrite: _, ...plain } = options
  let records = 0
  try {
    for (const stream of topic.streams) {
      for await (const { recordCount } of openOutgoing(plain, { plan, topic, stream }, storage, signal)) {
        records += recordCount
      }
    }
    return records
  } catch (error) {
    signal.throwIfAborted()
    // The findings of the dry run name what is damaged.
    if (error instanceof KafkaBackupError) return undefined
    throw error
  }
}
