import { partitionKey } from '../kafka/offsets.ts'
import { type Finding, topicError, topicWarning } from '../observe/finding.ts'
import type { PlannedTopic } from './plan.ts'
import type { RestoreProgress } from './progress.ts'
import type { RestoreOptions } from './restore-options.ts'
import { listSome } from './shard-plan.ts'

export interface ExtraPartition {
  topic: string
  partition: number
}

/**
 * Pure. The partitions of an existing topic that the backup does not have, where the restore fills all others: nothing is written to them, but
 * their records would be mixed with those of the backup. A job that selects or places partitions leaves the others alone.
 */
export function listExtra(
  { name, source, streams }: PlannedTopic,
  there: readonly { partition: number; leader?: number }[],
): ExtraPartition[] {
  const isWhole = streams.length > 0 && streams.length === source.partitions.length
  const isKept = streams.every(({ partition, legs: [leg], keyedAmong }) => {
    return keyedAmong === undefined && leg?.source.partition === partition
  })
  if (!isWhole || !isKept) return []
  const filled = new Set(streams.map(({ partition }) => partition))
  return there
    .filter(({ partition, leader = 0 }) => !filled.has(partition) && leader >= 0)
    .map(({ partition }) => ({ topic: name, partition }))
}

/**
 * Pure. Of the extra partitions of a topic those that have records. Their producers should have waited for the end of a restore that has
 * begun: it can continue, and a comparison reports their records as differences, with which the restore does not complete.
 */
export function judgeExtra(
  { name, streams }: PlannedTopic,
  extra: readonly ExtraPartition[],
  { bounds, progress }: { bounds: KnownBounds; progress: RestoreProgress | undefined },
  remedy: string,
): Finding[] {
  const full = extra.map(partitionKey).filter(key => {
    const found = bounds.get(key)
    return found !== undefined && found.highWatermark > found.logStart
  })
  if (full.length === 0) return []
  const where = `records that this restore did not write, in partitions that the backup does not have (${listSome(full)})`
  const hasBegun = streams.some(({ partition }) => progress?.streams.has(partitionKey({ topic: name, partition })))
  if (!hasBegun) return [topicError(name, `it already contains ${where}`, remedy)]
  const others =
    'stop its producers until the restore is complete; with restore.verify it does not complete before these records are deleted, as by kafka-delete-records.sh'
  return [topicWarning(name, `it contains ${where}`, others)]
}

type KnownBounds = ReadonlyMap<string, { logStart: bigint; highWatermark: bigint }>

/**
 * Pure. Partitions that no broker leads: nothing can be written to those that the restore fills, also after the retries of the cluster. What others
 * hold is not known.
 */
export function judgeLeaders(
  planned: readonly PlannedTopic[],
  shown: ReadonlyMap<string, { partitions: readonly { partition: number; leader: number }[] }>,
  leaderless: ReadonlySet<string>,
): Finding[] {
  const remedy = 'start the brokers that have their replicas'
  return planned.flatMap(({ name, streams }) => {
    const filled = new Set(streams.map(({ partition }) => partitionKey({ topic: name, partition })))
    const closed = [...filled].filter(key => leaderless.has(key))
    const unled = (shown.get(name)?.partitions ?? []).filter(({ leader }) => leader < 0)
    const others = unled
      .map(({ partition }) => partitionKey({ topic: name, partition }))
      .filter(key => !filled.has(key))
    const problem = `partitions have no leader (${listSome(closed)})`
    return [
      ...(closed.length > 0 ? [{ ...topicError(name, problem, remedy), code: 'KAFKA_NOT_READY' as const }] : []),
      ...(others.length > 0
        ? [
            topicWarning(
              name,
              `partitions that are not restored have no leader, so whether they hold records is not known (${listSome(others)})`,
              remedy,
            ),
          ]
        : []),
    ]
  })
}

/** Of a topic that is there: its replicas stay as they are. */
export function judgeReplicas(
  { name }: PlannedTopic,
  there: readonly { replicas: readonly number[] }[],
  { replicationFactor: asked }: Pick<RestoreOptions, 'replicationFactor'>,
): Finding[] {
  const counts = [...new Set(there.map(({ replicas }) => replicas.length))].sort((a, b) => a - b)
  if (asked === undefined || counts.every(count => count === asked)) return []
  const problem = `restore.replication_factor asks for ${asked} replicas, and the topic exists and has ${counts.join(' to ')}`
  return [topicWarning(name, problem, 'add replicas with kafka-reassign-partitions.sh, or delete the topic')]
}
