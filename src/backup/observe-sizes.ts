import { newestById } from '../archive/incarnation.ts'
import type { ManifestPartition } from '../archive/manifest.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { partitionKey } from '../kafka/offsets.ts'
import { fetchPartitionSizes } from '../kafka/partition-sizes.ts'
import type { KnownState, RereadRules } from './backup-plan.ts'
import type { ObservedSource } from './observed-source.ts'
import { isOnlyCompacted, mayBeTooLarge } from './plan-compacted.ts'

/** Clusters whose brokers do not tell sizes, which was reported. */
const reported = new WeakSet<Cluster>()

const NOT_TOLD =
  'the brokers do not tell the sizes of partitions (Describe on the cluster is missing), so a compacted topic is read ' +
  'again when the backup of it has doubled, at most once a day, and not by comparison with the source'

/** Asks the leaders how large those compacted partitions are of which the backup may hold more than it needs. */
export async function observeSizes(
  observed: ObservedSource,
  known: KnownState | undefined,
  rules: RereadRules | null,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<ObservedSource> {
  const names = rules?.mode === 'auto' ? namesOfLarge(observed, known, rules) : []
  if (names.length === 0) return observed
  const sizes = await fetchSizes(cluster, names, signal)
  if (!sizes) return observed
  const topics = observed.topics.map(topic => ({
    ...topic,
    partitions: topic.partitions.map(one => {
      const sizeBytes = sizes === 'denied' ? sizes : sizes.get(partitionKey({ topic: topic.name, ...one }))
      return sizeBytes === undefined || !names.includes(topic.name) ? one : { ...one, sizeBytes }
    }),
  }))
  if (sizes !== 'denied' || reported.has(cluster)) return { ...observed, topics }
  reported.add(cluster)
  return { ...observed, topics, notes: [NOT_TOLD] }
}

function namesOfLarge(
  { topics, observedAt }: ObservedSource,
  known: KnownState | undefined,
  rules: RereadRules,
): string[] {
  const newest = newestById(known?.topics ?? [])
  const isLarge = (held: ManifestPartition) => mayBeTooLarge(held, rules, observedAt)
  return topics
    .filter(topic => isOnlyCompacted(topic) && newest.get(topic.id)?.partitions.some(isLarge))
    .map(({ name }) => name)
}

/** The copying of records does not depend on it: what cannot be asked now is asked by a later run. */
async function fetchSizes(
  cluster: Cluster,
  names: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number> | 'denied' | undefined> {
  try {
    return (await fetchPartitionSizes(cluster, names, signal)) ?? 'denied'
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof KafkaBackupError)) throw error
    return hasCode(error, 'KAFKA_DENIED') || hasCode(error, 'KAFKA_UNSUPPORTED') ? 'denied' : undefined
  }
}
