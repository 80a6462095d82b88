import type { LastBatch } from '../archive/manifest.ts'
import { KafkaBackupError } from '../errors.ts'
import { brokerError } from '../kafka/broker-errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { Fetcher } from '../kafka/fetcher.ts'
import { fetchBounds, partitionKey, type TopicPartition } from '../kafka/offsets.ts'
import { BufferPool } from '../kafka/wire/buffer-pool.ts'
import { judgeTail, type TailVerdict, walkAnswer } from './chunk.ts'

/** What a backup holds last of a partition, to be compared with the source. */
export interface StoredTail extends TopicPartition {
  topicId: string
  tail: LastBatch
  /** Where it ends. */
  position: bigint
  /** Where compaction may have removed the batch, its absence says nothing. */
  mayBeCompacted: boolean
}

const PARTITIONS_PER_FETCH = 64
const BUFFER_BYTES = 4 << 20
const MAX_GROWTH = 256
const OFFSET_OUT_OF_RANGE = 1

/**
 * Reads the last stored batch of each partition from its leader, by `partitionKey`: the log of a topic that was created again
 * has another batch there, or none.
 */
export async function compareTails(
  cluster: Cluster,
  tails: readonly StoredTail[],
  signal: AbortSignal,
): Promise<Map<string, TailVerdict>> {
  const verdicts = new Map<string, TailVerdict>()
  await cluster.settling(async () => {
    const open = tails.filter(one => !verdicts.has(partitionKey(one)))
    for (const [brokerId, led] of await groupByLeader(cluster, open, signal)) {
      const buffers = new BufferPool(1, BUFFER_BYTES)
      const options = { brokerId, buffers, maxWaitMs: 0, maxBytes: BUFFER_BYTES, rack: '' }
      const fetcher = await Fetcher.open(cluster, options, signal)
      try {
        await compareTailsAt(fetcher, led, verdicts, signal)
      } finally {
        fetcher.close()
      }
    }
  }, signal)
  const lost = tails.filter(one => !verdicts.has(partitionKey(one)))
  for (const [key, verdict] of await judgeLost(cluster, lost, signal)) verdicts.set(key, verdict)
  return verdicts
}

/**
 * Until each has an answer; one that is out of range has no verdict. What got nothing for want of room comes first in the
 * next request.
 */
export async function compareTailsAt(
  fetcher: Pick<Fetcher, 'fetch'>,
  tails: readonly StoredTail[],
  verdicts: Map<string, TailVerdict>,
  signal: AbortSignal,
): Promise<void> {
  let rest = [...tails]
  for (let growth = 1; rest.length > 0; ) {
    const before = rest.length
    const some = rest.slice(0, PARTITIONS_PER_FETCH)
    const answered = await compareSome(fetcher, some, verdicts, growth, signal)
    rest = rest.filter(one => !answered.has(one))
    growth = rest.length < before ? 1 : growth * 2
    if (growth <= MAX_GROWTH) continue
    rest = rest.filter(one => !some.includes(one))
    growth = 1
    noteRemoved(some, verdicts)
  }
}

/** Nothing comes, however large the answer may be: compaction can have left nothing from there on. */
function noteRemoved(tails: readonly StoredTail[], verdicts: Map<string, TailVerdict>): void {
  const strict = tails.filter(one => !one.mayBeCompacted)
  if (strict.length > 0) throw unreadable(strict)
  for (const one of tails) verdicts.set(partitionKey(one), 'gone')
}

async function compareSome(
  fetcher: Pick<Fetcher, 'fetch'>,
  tails: readonly StoredTail[],
  verdicts: Map<string, TailVerdict>,
  growth: number,
  signal: AbortSignal,
): Promise<Set<StoredTail>> {
  const unknown = { leaderEpoch: -1, lastFetchedEpoch: -1 }
  const fetched = await fetcher.fetch(
    tails.map(one => ({ ...one, ...unknown, offset: one.position - 1n })),
    signal,
    growth,
  )
  const answered = new Set<StoredTail>()
  try {
    for (const one of tails) {
      const part = fetched.partitions.find(each => each.topicId === one.topicId && each.partition === one.partition)
      if (!part) continue
      if (part.errorCode !== 0 && part.errorCode !== OFFSET_OUT_OF_RANGE)
        throw brokerError(part.errorCode, `comparing ${partitionKey(one)}`, null, { topic: one.topic })
      const headers = walkAnswer(fetched.bytes, part, partitionKey(one))
      if (headers.length === 0 && part.errorCode === 0) continue
      answered.add(one)
      if (part.errorCode !== 0) continue
      const { tail, position, mayBeCompacted } = one
      verdicts.set(partitionKey(one), judgeTail(fetched.bytes, headers, tail, position, mayBeCompacted))
    }
    return answered
  } finally {
    fetched.release()
  }
}

/** Out of range: the log ends before it, or starts behind it, and then nothing can be said. */
async function judgeLost(
  cluster: Cluster,
  tails: readonly StoredTail[],
  signal: AbortSignal,
): Promise<Map<string, TailVerdict>> {
  if (tails.length === 0) return new Map()
  const bounds = await fetchBounds(cluster, tails, signal)
  return new Map(
    tails.map(one => {
      const { highWatermark = 0n } = bounds.get(partitionKey(one)) ?? {}
      return [partitionKey(one), highWatermark < one.position ? 'other' : 'gone']
    }),
  )
}

async function groupByLeader(
  cluster: Cluster,
  tails: readonly StoredTail[],
  signal: AbortSignal,
): Promise<Map<number, StoredTail[]>> {
  if (tails.length === 0) return new Map()
  const { topics } = await cluster.metadata({ topics: [...new Set(tails.map(({ topic }) => topic))] }, signal)
  return Map.groupBy(tails, ({ topic, partition }) => {
    const shown = topics.find(({ name }) => name === topic)?.partitions.find(one => one.partition === partition)
    if (shown && shown.leader >= 0) return shown.leader
    const message = `partition ${topic}/${partition} has no leader at the moment`
    throw new KafkaBackupError('KAFKA_NOT_READY', message, { details: { topic, partition } })
  })
}

function unreadable(tails: readonly StoredTail[]): KafkaBackupError {
  const names = tails.slice(0, 10).map(partitionKey).join(', ')
  return new KafkaBackupError('KAFKA_NOT_READY', `the broker returns nothing of what is stored last of ${names}`)
}
