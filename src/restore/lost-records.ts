import type { MetadataTopic } from '../kafka/api/metadata.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { fetchBounds } from '../kafka/offsets.ts'
import { type Finding, topicError } from '../observe/finding.ts'
import type { RestorePlan } from './plan.ts'
import { type RestoreProgress, restoreGroup, type StreamProgress, streamKey } from './progress.ts'
import type { RestoreOptions } from './restore-options.ts'

export interface EarlierRestore {
  progress: RestoreProgress | undefined
  shown: readonly MetadataTopic[]
  restoreId: string
}

/**
 * Partitions that an earlier run had filled and that end before that now. Nothing is written to them any more, so that a topic
 * that was created again, with the progress of the deleted one still there, would pass for restored.
 */
export async function findLost(
  cluster: Cluster,
  { topics }: Pick<RestorePlan, 'topics'>,
  { progress, shown, restoreId }: EarlierRestore,
  { existingTopics }: Pick<RestoreOptions, 'existingTopics'>,
  signal: AbortSignal,
): Promise<Finding[]> {
  const filled = topics.flatMap(({ name, streams }) =>
    streams.flatMap(({ partition }) => {
      const noted = progress?.streams.get(streamKey({ topic: name, partition }))
      return noted?.isFilled && noted.targetOffset > 0n ? [noted] : []
    }),
  )
  const partitions = new Map(
    shown.flatMap(({ name, partitions }) =>
      partitions.map(({ partition, leader }) => [streamKey({ topic: name, partition }), leader]),
    ),
  )
  // A partition without a leader is not lost.
  const led = filled.filter(one => (partitions.get(streamKey(one)) ?? -1) >= 0)
  const bounds = led.length === 0 ? new Map() : await fetchBounds(cluster, led, signal, shown)
  const lost = filled.flatMap(one => {
    const end = partitions.has(streamKey(one)) ? bounds.get(streamKey(one))?.highWatermark : null
    return end === null || (end !== undefined && end < one.targetOffset) ? [{ one, end }] : []
  })
  const byTopic = Map.groupBy(lost, ({ one }) => one.topic)
  return [...byTopic.values()].flatMap(([first, ...others]) =>
    first ? [describeLost(first.one, first.end, others.length, remedyFor(existingTopics, restoreId))] : [],
  )
}

function describeLost(
  { topic, partition, targetOffset }: StreamProgress,
  end: bigint | null,
  others: number,
  remedy: string,
): Finding {
  const now = end === null ? 'the topic has no such partition now' : `it ends at offset ${end} now`
  const more = others === 0 ? '' : ` (and ${others} more)`
  const problem = `this restore had filled ${streamKey({ topic, partition })} up to offset ${targetOffset}, and ${now}${more}: the topic was created again, or has lost records`
  return topicError(topic, problem, remedy)
}

/** A topic that others write to must not be deleted. */
function remedyFor(existingTopics: RestoreOptions['existingTopics'], restoreId: string): string {
  if (existingTopics !== 'append')
    return 'delete the topic, and run the same command again: it fills this topic again and leaves the others alone'
  const other =
    'restore this topic alone: select only it in restore.topics, set another name for it in restore.topic_mapping, and another restore.restore_id'
  const again = `delete the progress with kafka-consumer-groups.sh --delete --group ${restoreGroup(restoreId)}`
  return `${other}; or, to append all records of this restore again, also those that are still there, ${again}`
}
