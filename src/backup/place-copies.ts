import type { Gap } from '../archive/manifest.ts'
import type { MetadataTopic } from '../kafka/api/metadata.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { fetchLocalStarts } from '../kafka/offsets.ts'
import { isOtherTopic } from './named-topics.ts'
import type { PartitionCopy } from './partition-copy.ts'

/** Where partitions are read over one or more connections. */
export interface FetchSource {
  brokerId: number
  rack: string
  /** The broker reads from remote storage first, which may take long: over connections that serve nothing else. */
  isRemote: boolean
}

interface PlaceFacts {
  /** Empty to read from leaders only. */
  rack: string
  /** Replicas that leaders pointed to. */
  nearest: ReadonlyMap<PartitionCopy, number>
  /** Read from their leader whatever it points to. */
  leaderOnly: ReadonlySet<PartitionCopy>
}

export type GapReason = Gap['reason']

interface PlacedCopies {
  places: { place: FetchSource; led: PartitionCopy[] }[]
  leaderless: PartitionCopy[]
  /** Their topic is not there any more. */
  gone: { copy: PartitionCopy; reason: GapReason }[]
}

const UNKNOWN_TOPIC = 3

/** Where each partition is read: at its leader, or at the replica that its leader pointed to. */
export async function placeCopies(
  copies: readonly PartitionCopy[],
  cluster: Cluster,
  facts: PlaceFacts,
  signal: AbortSignal,
): Promise<PlacedCopies> {
  const names = [...new Set(copies.map(copy => copy.topic))]
  const { topics } = await cluster.metadata({ topics: names }, signal)
  return groupByPlace(copies, topics, { ...facts, remote: await findRemote(copies, topics, cluster, signal) })
}

/**
 * The copies whose next records a broker reads from remote storage (KIP-405). All of a tiered topic count where the brokers do
 * not tell what they hold themselves. Topics without tiered storage are not asked for.
 */
async function findRemote(
  copies: readonly PartitionCopy[],
  topics: readonly MetadataTopic[],
  cluster: Cluster,
  signal: AbortSignal,
): Promise<ReadonlySet<PartitionCopy>> {
  const tiered = copies.filter(copy => copy.isTiered)
  if (tiered.length === 0) return new Set()
  const starts = await fetchLocalStarts(cluster, tiered, signal, topics)
  return new Set(tiered.filter(copy => copy.fetchFrom < (starts.get(copy.name) ?? copy.end)))
}

function groupByPlace(
  copies: readonly PartitionCopy[],
  topics: readonly MetadataTopic[],
  facts: PlaceFacts & { remote: ReadonlySet<PartitionCopy> },
): PlacedCopies {
  const byName = new Map(topics.map(topic => [topic.name, topic]))
  const places = new Map<string, { place: FetchSource; led: PartitionCopy[] }>()
  const placed: PlacedCopies = { places: [], leaderless: [], gone: [] }
  for (const copy of copies) {
    const topic = byName.get(copy.topic)
    if (topic?.errorCode === UNKNOWN_TOPIC || (topic?.errorCode === 0 && isOtherTopic(topic, copy))) {
      placed.gone.push({ copy, reason: topic.errorCode === UNKNOWN_TOPIC ? 'topic_deleted' : 'topic_recreated' })
      continue
    }
    const leader = topic?.partitions.find(({ partition }) => partition === copy.partition)?.leader ?? -1
    const brokerId = facts.nearest.get(copy) ?? leader
    const place = { brokerId, rack: facts.leaderOnly.has(copy) ? '' : facts.rack, isRemote: facts.remote.has(copy) }
    const key = `${brokerId} ${place.isRemote} ${place.rack}`
    const at = places.get(key)
    if (brokerId < 0) placed.leaderless.push(copy)
    else if (at) at.led.push(copy)
    else places.set(key, { place, led: [copy] })
  }
  return { ...placed, places: [...places.values()] }
}

/** Pure. Round robin, so that each lane gets a fair share of a topic; no empty hands. */
export function dealOut<T>(items: readonly T[], hands: number): T[][] {
  return Array.from({ length: Math.min(hands, items.length) }, (_, hand) => items.filter((_, i) => i % hands === hand))
}
