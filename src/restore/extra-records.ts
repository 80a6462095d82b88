import type { Cluster } from '../kafka/cluster.ts'
import { readLogRecords } from '../kafka/log-reader.ts'
import { fetchKnowableBounds, partitionKey } from '../kafka/offsets.ts'
import { runPool } from '../lib/pool.ts'
import { type Alignment, alignRecords } from './align.ts'
import { sizeOfRecord } from './difference.ts'
import { type ExtraPartition, listExtra } from './existing-partitions.ts'
import type { LocatedRestore } from './locate-restore.ts'
import { Lookahead } from './lookahead.ts'
import type { PlannedTopic } from './plan.ts'

export interface ExtraRecords extends ExtraPartition {
  alignment: Alignment
}

interface ExtraParts {
  cluster: Cluster
  maxDifferences: number
  /** By `topic/partition` of the target: topics that are complete are in use, so that their other partitions do not matter. */
  ends?: ReadonlyMap<string, bigint> | undefined
}

const CONCURRENCY = 4

interface FoundExtra {
  extra: ExtraRecords[]
  /** Of partitions that cannot be read. */
  warnings: string[]
}

/** Records of the target in partitions that the backup does not have. In a topic that others write to they are expected. */
export async function findExtraRecords(
  { plan, options, topics }: LocatedRestore,
  { cluster, maxDifferences, ends = new Map() }: ExtraParts,
  signal: AbortSignal,
): Promise<FoundExtra> {
  if (options.existingTopics === 'append') return { extra: [], warnings: [] }
  const isInUse = ({ name, streams }: PlannedTopic) =>
    streams.every(({ partition }) => ends.has(partitionKey({ topic: name, partition })))
  const asked = plan.topics
    .filter(topic => !isInUse(topic))
    .flatMap(topic => listOthers(topic, [...(topics.get(topic.name)?.partitions ?? [])]))
  if (asked.length === 0) return { extra: [], warnings: [] }
  const { bounds, leaderless } = await fetchKnowableBounds(cluster, asked, signal)
  const known = asked.flatMap(one => {
    const range = bounds.get(partitionKey(one))
    return range ? [{ one, range }] : []
  })
  const read = await runPool(known, CONCURRENCY, async ({ one, range }) => {
    const place = { ...one, topicId: topics.get(one.topic)?.id ?? '' }
    const actual = new Lookahead(
      readLogRecords(cluster, place, { from: range.logStart, to: range.lastStable }, signal),
      sizeOfRecord,
    )
    const expected = new Lookahead(nothing(), sizeOfRecord)
    try {
      return { ...one, alignment: await alignRecords(expected, actual, { maxDifferences }, signal) }
    } finally {
      await actual.close()
    }
  })
  const unknown = asked.map(partitionKey).filter(key => !bounds.has(key))
  const reasonFor = (key: string) => (leaderless.has(key) ? 'it has no leader' : 'no broker reports its end')
  return {
    extra: read.filter(({ alignment }) => alignment.differences.length > 0),
    warnings: unknown.map(key => `${key}: it is not in the backup, and was not compared, because ${reasonFor(key)}`),
  }
}

/** Where keys decide, a topic has as many partitions as they are placed among. */
function listOthers(topic: PlannedTopic, there: readonly number[]): ExtraPartition[] {
  const keyedAmong = topic.streams[0]?.keyedAmong
  if (keyedAmong === undefined)
    return listExtra(
      topic,
      there.map(partition => ({ partition })),
    )
  return there.filter(one => one >= keyedAmong).map(partition => ({ topic: topic.name, partition }))
}

async function* nothing(): AsyncGenerator<[]> {}
