import { isControl } from '../batch/header.ts'
import { decodeRecords } from '../batch/records.ts'
import { walkBatches } from '../batch/walk.ts'
import { KafkaBackupError } from '../errors.ts'
import { brokerError } from './broker-errors.ts'
import type { Cluster } from './cluster.ts'
import { Fetcher } from './fetcher.ts'
import { BufferPool } from './wire/buffer-pool.ts'

interface KeyPosition {
  topic: string
  topicId: string
  partition: number
  leader: number
  offset: bigint
}

const BUFFER_BYTES = 1 << 20
const ANSWER_BYTES = 64 * 1024
const MOST_KEYS = 100

/**
 * The keys of the first records from each position on, by topic ID. A partition that cannot be read has none: whatever
 * needs its records reports why.
 */
export async function readFirstKeys(
  cluster: Cluster,
  positions: readonly KeyPosition[],
  signal: AbortSignal,
): Promise<Map<string, (Buffer | null)[]>> {
  const found = new Map<string, (Buffer | null)[]>()
  const byLeader = Map.groupBy(positions, ({ leader }) => leader)
  const perLeader = [...byLeader].map(async ([brokerId, own]) => {
    const options = {
      brokerId,
      buffers: new BufferPool(1, BUFFER_BYTES),
      maxWaitMs: 0,
      rack: '',
      maxBytes: ANSWER_BYTES,
    }
    const fetcher = await Fetcher.open(cluster, options, signal)
    try {
      for (const position of own) {
        found.set(position.topicId, await readKeys(fetcher, position, signal).catch(error => ignore(error, signal)))
      }
    } finally {
      fetcher.close()
    }
  })
  await Promise.all(perLeader.map(one => one.catch(error => void ignore(error, signal))))
  return found
}

async function readKeys(
  fetcher: Fetcher,
  { topic, topicId, partition, offset }: KeyPosition,
  signal: AbortSignal,
): Promise<(Buffer | null)[]> {
  const position = { topic, topicId, partition, offset, leaderEpoch: -1, lastFetchedEpoch: -1 }
  const fetched = await fetcher.fetch([position], signal)
  try {
    const [part] = fetched.partitions
    if (!part) return []
    if (part.errorCode !== 0) throw brokerError(part.errorCode, `reading the first records of partition ${partition}`)
    const header = walkBatches(fetched.bytes, part.start, part.end).find(one => !isControl(one.attributes))
    if (!header) return []
    const records = decodeRecords(fetched.bytes, header).filter(record => record.offset >= offset)
    // Copies: the buffer is used again.
    return records.slice(0, MOST_KEYS).map(({ key }) => key && Buffer.from(key))
  } finally {
    fetched.release()
  }
}

function ignore(error: unknown, signal: AbortSignal): [] {
  signal.throwIfAborted()
  if (!(error instanceof KafkaBackupError)) throw error
  return []
}
