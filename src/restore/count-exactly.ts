import { hasCode } from '../errors.ts'
import { type Finding, topicError } from '../observe/finding.ts'
import type { Storage } from '../storage/storage.ts'
import { openOutgoing } from './archived-records.ts'
import type { RestoreOptions } from './options.ts'
import type { PlannedTopic, RestorePlan } from './plan.ts'
import { unknownRemedy } from './plan-rewrites.ts'

/** So much is read for a dry run, which takes about a second; beyond it the figures of the manifest have to do. */
export const COUNTED_BYTES = 64 << 20

/** What it costs to count the records of a topic: where keys decide, every partition of the target reads all of them. */
export function costOf({ legs, streams }: PlannedTopic): number {
  const bytes = legs.reduce((sum, { source }) => sum + source.bytes, 0)
  return streams.some(({ keyedAmong }) => keyedAmong !== undefined) ? bytes * streams.length : bytes
}

/** How many records a restore of the topic writes, by reading them; or what would end it there. */
export async function countExactly(
  options: RestoreOptions,
  plan: RestorePlan,
  topic: PlannedTopic,
  storage: Storage,
  signal: AbortSignal,
): Promise<{ records: number } | { finding: Finding }> {
  let records = 0
  try {
    for (const stream of topic.streams) {
      for await (const { recordCount } of openOutgoing(options, { plan, topic, stream }, { storage }, signal)) {
        records += recordCount
      }
    }
    return { records }
  } catch (error) {
    signal.throwIfAborted()
    if (hasCode(error, 'ARCHIVE_DAMAGED', 'BATCH_INVALID', 'BATCH_OLD_FORMAT')) {
      return { finding: { ...topicError(topic.name, error.message, ANOTHER), code: 'ARCHIVE_DAMAGED' } }
    }
    if (options.rewrite && hasCode(error, 'SCHEMA_ID_UNKNOWN')) {
      return { finding: topicError(topic.name, error.message, unknownRemedy(options.rewrite)) }
    }
    throw error
  }
}

const ANOTHER = 'restore another restore.generation, or leave it out; `verify` tells the whole extent'
