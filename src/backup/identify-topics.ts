import type { ManifestPartition, ManifestTopic } from '../archive/manifest.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { isIdOfName } from '../kafka/named-topic-id.ts'
import { partitionKey } from '../kafka/offsets.ts'
import type { KnownState } from './backup-plan.ts'
import type { TailVerdict } from './chunk.ts'
import { compareTails, type StoredTail } from './compare-tails.ts'
import { mayBeCompacted, retentionExplains } from './named-topics.ts'
import type { ObservedPartition, ObservedSource, ObservedTopic } from './observed-source.ts'

/**
 * Which topics of the backup those of the source are. Where the cluster gives topics IDs, the ID decides. Where it does not, or
 * did not when the topic was backed up first, the name alone says nothing: a topic continues what is stored under its name
 * only if it still has some of it. Otherwise it starts a new incarnation, or the partitions say why it may be another.
 */
export async function identifyTopics(
  observed: ObservedSource,
  known: KnownState | undefined,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<ObservedSource> {
  const stored = new Map(known?.topics.filter(({ state }) => state !== 'replaced').map(topic => [topic.name, topic]))
  const warnings = [...observed.warnings]
  const topics: ObservedTopic[] = []
  for (const topic of observed.topics) {
    const held = stored.get(topic.name)
    const compare = (which: (one: ManifestPartition) => boolean) => compareHeld(cluster, topic, held, which, signal)
    topics.push(held ? await identify(topic, held, { compare, warnings, nowMs: cluster.clock.now() }) : topic)
  }
  return { ...observed, topics: await findOtherTails(topics, stored, cluster, signal), warnings }
}

interface Means {
  compare(which: (one: ManifestPartition) => boolean): Promise<Map<string, TailVerdict>>
  warnings: string[]
  nowMs: number
}

async function identify(topic: ObservedTopic, held: ManifestTopic, means: Means): Promise<ObservedTopic> {
  const heldId = held.kafka_id ?? held.id
  const isNamed = isIdOfName(topic.id, topic.name)
  if (topic.id === heldId) {
    const same = { ...topic, id: held.id, ...(held.kafka_id !== undefined && { kafkaId: held.kafka_id }) }
    return isNamed ? findStrangeStarts(same, held, means) : same
  }
  if (!isNamed && !isIdOfName(heldId, topic.name)) return topic
  // One of the two has an ID of the cluster, and the other has none: brokers were upgraded in between.
  const verdicts = [...(await means.compare(() => true)).values()]
  const isProven = verdicts.includes('same') && !verdicts.includes('other')
  const isNew = held.partitions.every(({ batches }) => batches === 0) && !topic.partitions.some(startsBefore(held))
  if (isProven || isNew) {
    return { ...topic, id: held.id, ...(!isNamed && { kafkaId: topic.id }) }
  }
  means.warnings.push(describeUnproven(topic.name, isNamed, verdicts.includes('other')))
  return { ...topic, startsOver: true }
}

/**
 * A log that starts behind what is stored has lost it by retention, or is another log. Retention has to explain it, unless
 * another partition of the topic still has what is stored of it. Nothing explains a log start that has moved back.
 */
async function findStrangeStarts(
  topic: ObservedTopic,
  held: ManifestTopic,
  { compare, nowMs }: Means,
): Promise<ObservedTopic> {
  const stored = new Map(held.partitions.map(one => [one.partition, one]))
  const hasMovedBack = startsBefore(held)
  const isStrange = (observed: ObservedPartition) => {
    const one = stored.get(observed.partition)
    if (!one || one.batches === 0 || observed.bounds.logStart < one.end_offset) return hasMovedBack(observed)
    return !retentionExplains(topic.effectiveConfigs, one.last_timestamp, nowMs)
  }
  if (!topic.partitions.some(isStrange)) return topic
  const shown = new Map(topic.partitions.map(({ partition, bounds }) => [partition, bounds.logStart]))
  const verdicts = await compare(one => (shown.get(one.partition) ?? one.end_offset) < one.end_offset)
  if ([...verdicts.values()].includes('same')) return topic
  const partitions = topic.partitions.map(one => (isStrange(one) ? { ...one, isStrangeStart: true } : one))
  return { ...topic, partitions }
}

/** Whether a log starts before what is stored ends, though it started there when it was read last, and held nothing. */
function startsBefore({ partitions }: ManifestTopic): (observed: ObservedPartition) => boolean {
  const stored = new Map(partitions.map(one => [one.partition, one]))
  return ({ partition, bounds }) => {
    const one = stored.get(partition)
    // With the last batch the log itself is compared, also where retention has removed what was stored.
    if (!one || one.last_batch || bounds.logStart >= one.end_offset) return false
    return one.batches === 0 || one.gaps.some(({ to, reason }) => reason === 'retention' && to === one.end_offset)
  }
}

/**
 * Of topics without an ID that have nothing to read: one that was created again, and ends where the stored one does, would
 * pass for it. Where there is something to read, the copying compares.
 */
async function findOtherTails(
  topics: readonly ObservedTopic[],
  stored: ReadonlyMap<string, ManifestTopic>,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<ObservedTopic[]> {
  const tails = topics.flatMap(topic => {
    const held = stored.get(topic.name)
    return held && isIdOfName(topic.id, topic.name) && isRead(topic, held) ? tailsToShow(topic, held) : []
  })
  const verdicts = await compareTails(cluster, tails, signal)
  const isOther = (topic: string, partition: number) => verdicts.get(partitionKey({ topic, partition })) === 'other'
  return topics.map(topic => ({
    ...topic,
    partitions: topic.partitions.map(one =>
      isOther(topic.name, one.partition) ? { ...one, isOtherTail: true as const } : one,
    ),
  }))
}

function isRead({ partitions }: ObservedTopic, held: ManifestTopic): boolean {
  const ends = new Map(held.partitions.map(one => [one.partition, one.read_to ?? one.end_offset]))
  return partitions.every(({ partition, bounds }) => bounds.lastStable <= (ends.get(partition) ?? bounds.logStart))
}

/** All partitions are created again together, so one of them will do, unless compaction may have removed its batch. */
function tailsToShow(topic: ObservedTopic, held: ManifestTopic): StoredTail[] {
  const starts = new Map(topic.partitions.map(({ partition, bounds }) => [partition, bounds.logStart]))
  const tails = tailsOf(topic, held, one => (starts.get(one.partition) ?? one.end_offset) < one.end_offset)
  return mayBeCompacted(topic.effectiveConfigs) ? tails : tails.slice(0, 1)
}

function compareHeld(
  cluster: Cluster,
  topic: ObservedTopic,
  held: ManifestTopic | undefined,
  which: (one: ManifestPartition) => boolean,
  signal: AbortSignal,
): Promise<Map<string, TailVerdict>> {
  return compareTails(cluster, tailsOf(topic, held, which), signal)
}

function tailsOf(
  { name: topic, id: topicId, partitions, effectiveConfigs }: ObservedTopic,
  held: ManifestTopic | undefined,
  which: (one: ManifestPartition) => boolean,
): StoredTail[] {
  const shown = new Set(partitions.map(({ partition }) => partition))
  const compared = (held?.partitions ?? []).filter(one => shown.has(one.partition) && which(one))
  return compared.flatMap(({ partition, last_batch: tail, end_offset: position }): StoredTail[] =>
    tail ? [{ topic, topicId, partition, tail, position, mayBeCompacted: mayBeCompacted(effectiveConfigs) }] : [],
  )
}

function describeUnproven(name: string, isNamed: boolean, isOther: boolean): string {
  const change = isNamed ? 'the cluster gave it an ID before, and does not now' : 'the cluster gives it an ID now'
  const why = isOther
    ? 'its log is not the one that this backup holds'
    : 'nothing that this backup holds is left at the source to show that it is the same topic'
  return `topic ${name}: ${change}, and ${why}; it is copied from its log start`
}
