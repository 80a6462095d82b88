import { type Finding, topicError } from '../observe/finding.ts'
import type { PlannedTopic } from './plan.ts'
import { streamKey } from './progress.ts'
import { listSome } from './shard-plan.ts'

const lost = {
  partly: 'it contains records, and the target has lost the progress of this restore for it',
  wholly:
    'a restore has created it, filled it in part and not finished, and the target has no progress of this restore for it',
}

/**
 * Every partition of a plan has progress before the first record is written, so that one without progress next to others has lost
 * it: its records may be those of this restore, and would be written a second time. Of a topic that is shared, others may have written them.
 */
export function judgeLostProgress(
  { name }: PlannedTopic,
  full: PlannedTopic['streams'],
  extent: keyof typeof lost,
  mayHoldOthers: boolean,
): Finding {
  const keys = full.map(({ partition }) => streamKey({ topic: name, partition }))
  const rename = 'restore it under another name (restore.topic_mapping) with another restore.restore_id'
  const remedy = mayHoldOthers
    ? 'brokers delete progress after offsets.retention.minutes without a commit, and a run that was killed before it wrote may not ' +
      `have stored all of it. Do not delete the topic if others have written to it: ${rename}`
    : `brokers delete progress after offsets.retention.minutes without a commit. Delete the topic to have it filled again, or ${rename}`
  return topicError(name, `${lost[extent]} (${listSome(keys)})`, remedy)
}
