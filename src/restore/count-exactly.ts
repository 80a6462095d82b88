import { hasCode } from '../errors.ts'
import { DAMAGE_REMEDY, type Finding, topicError } from '../observe/finding.ts'
import type { Storage } from '../storage/storage.ts'
import { openOutgoing } from './outgoing-options.ts'
import type { PlannedTopic, RestorePlan } from './plan.ts'
import { unknownRemedy } from './plan-rewrites.ts'
import type { RestoreOptions } from './restore-options.ts'

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
      const finding = topicError(topic.name, error.message, DAMAGE_REMEDY)
      return { finding: { ...finding, code: 'ARCHIVE_DAMAGED', details: { ...error.details, ...finding.details } } }
    }
    if (options.filter && hasCode(error, 'RESTORE_REFUSED')) {
      return { finding: topicError(topic.name, error.message, error.help) }
    }
    if (options.rewrite && hasCode(error, 'SCHEMA_ID_UNKNOWN')) {
      return { finding: topicError(topic.name, error.message, unknownRemedy(options.rewrite)) }
    }
    throw error
  }
}
