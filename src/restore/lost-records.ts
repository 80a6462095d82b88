import type { MetadataTopic } from '../kafka/api/metadata.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { fetchBounds } from '../kafka/offsets.ts'
import { type Finding, topicError } from '../observe/finding.ts'
import { findOverwritten } from './last-batch.ts'
import type { RestorePlan } from './plan.ts'
import { type RestoreProgress, restoreGroup, type StreamProgress, streamKey } from './progress.ts'
import { isReplaced } from './replaced-topics.ts'
import type { RestoreOptions } from './restore-options.ts'

export interface EarlierRestore {
  progress: RestoreProgress | undefined
  shown: readonly MetadataTopic[]
  restoreId: string
}

/**
 * Topics that were created again, with the progress of the deleted one still there, and partitions that an earlier run had filled and
 * that end before that now. Nothing is written any more to what was filled, so that it would pass for restored.
 */
export async function findLost(
  cluster: Cluster,
  { topics }: Pick<RestorePlan, 'topics'>,
  { progress, shown, restoreId }: EarlierRestore,
  { existingTopics }: Pick<RestoreOptions, 'existingTopics'>,
  signal: AbortSignal,
): Promise<Finding[]> {
  const noted = topics.flatMap(({ name, streams }) =>
    streams.flatMap(({ partition }) => progress?.streams.get(streamKey({ topic: name, partition })) ?? []),
  )
  const remedy = remedyFor(existingTopics, restoreId)
  const replaced = listReplaced(noted, shown)
  const filled = noted.filter(one => one.isFilled && one.targetOffset > 0n && !replaced.has(one.topic))
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
  const gone = new Set(lost.map(({ one }) => one))
  const overwritten = await listOverwritten(
    cluster,
    { progress, shown },
    led.filter(one => !gone.has(one)),
    signal,
  )
  const byTopic = Map.groupBy(lost, ({ one }) => one.topic)
  return [
    ...[...replaced].map(topic => topicError(topic, REPLACED, remedy)),
    ...[...byTopic.values()].flatMap(([first, ...others]) =>
      first ? [describeLost(first.one, first.end, others.length, remedy)] : [],
    ),
    ...overwritten.map(({ one, what }) => describeOverwritten(one, what, remedy)),
  ]
}

/** Of those that are not in use yet. */
async function listOverwritten(
  cluster: Cluster,
  { progress, shown }: Pick<EarlierRestore, 'progress' | 'shown'>,
  filled: readonly StreamProgress[],
  signal: AbortSignal,
): Promise<{ one: StreamProgress; what: string }[]> {
  if (!progress) return []
  const ids = new Map(shown.map(({ name, id }) => [name, id]))
  const open = filled.filter(({ isDone }) => !isDone)
  const found = await findOverwritten(
    cluster,
    progress.identity.producerId,
    open.map(({ topic, partition, targetOffset: end, sequence }) => ({
      ...{ topic, topicId: ids.get(topic) ?? '', partition },
      ...{ end, sequence },
    })),
    signal,
  )
  return open.flatMap(one => {
    const what = found.get(streamKey(one))
    return what === undefined ? [] : [{ one, what }]
  })
}

function describeOverwritten(one: StreamProgress, what: string, remedy: string): Finding {
  const problem = `this restore had filled ${streamKey(one)} up to offset ${one.targetOffset}, and ${what} now: the target has lost records`
  return topicError(one.topic, problem, remedy)
}

const REPLACED =
  'it was deleted and created again after this restore had begun to fill it: what the restore had written is gone, and its progress on the target is that of the deleted topic'

/** Of a partition that had no records by then nothing is missing in another topic. */
function listReplaced(noted: readonly StreamProgress[], shown: readonly MetadataTopic[]): Set<string> {
  const byName = new Map(shown.map(topic => [topic.name, topic]))
  const replaced = noted.filter(({ topic, topicId, isDone, targetOffset }) => {
    const now = byName.get(topic)
    return now !== undefined && isReplaced(topicId, now) && (!isDone || targetOffset > 0n)
  })
  return new Set(replaced.map(({ topic }) => topic))
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
