import type { ManifestPartition, ManifestTopic } from '../archive/manifest.ts'
import { KafkaBackupError } from '../errors.ts'
import { isIdOfName } from '../kafka/named-topic-id.ts'
import type { BackupOptions } from './backup-options.ts'
import type { ObservedPartition, ObservedSource, ObservedTopic } from './observed-source.ts'

/** In a message; the rest is counted. */
const MAX_NAMED = 10

/**
 * Pure. The IDs of topics that start a new incarnation: those that the run names, and those whose source lost records that
 * the backup holds, where the job allows it. SOURCE_TRUNCATED where it does not, with all of them.
 */
export function findReplaced(
  observed: ObservedSource,
  earlier: ReadonlyMap<string, ManifestTopic>,
  { onTruncation, newIncarnations = [] }: Pick<BackupOptions, 'onTruncation' | 'newIncarnations'>,
): Set<string> {
  refuseUnknown(observed, newIncarnations)
  const asked = observed.topics.filter(({ name, startsOver }) => startsOver || newIncarnations.includes(name))
  const replaced = new Set(asked.map(({ id }) => id))
  const others = observed.topics.filter(({ id }) => !replaced.has(id))
  const truncated = others
    .map(topic => ({ id: topic.id, signs: findTruncations(topic, earlier.get(topic.id)) }))
    .filter(({ signs }) => signs.length > 0)
  const signs = truncated.flatMap(one => one.signs)
  if (signs.length > 0 && onTruncation === 'fail') {
    const more = signs.length > MAX_NAMED ? `; and ${signs.length - MAX_NAMED} more partitions` : ''
    throw new KafkaBackupError('SOURCE_TRUNCATED', `${signs.slice(0, MAX_NAMED).join('; ')}${more}`)
  }
  for (const { id } of truncated) replaced.add(id)
  return replaced
}

/** A name that selects nothing would leave the old incarnation in place in silence. */
function refuseUnknown({ topics }: ObservedSource, names: readonly string[]): void {
  const unknown = names.filter(name => !topics.some(topic => topic.name === name))
  if (unknown.length === 0) return
  throw new KafkaBackupError('USAGE', `--new-incarnation: this job backs up no topic ${unknown.join(', ')}`, {
    help: 'Give the name of a topic that source.topics selects and that the cluster has.',
  })
}

function findTruncations(topic: ObservedTopic, before: ManifestTopic | undefined): string[] {
  const stored = new Map(before?.partitions.map(one => [one.partition, one]))
  const missing = findMissing(topic, before)
  if (missing) return [missing]
  return topic.partitions.flatMap(one => {
    const known = stored.get(one.partition)
    const sign = known && findTruncation(one, known)
    return sign === undefined ? [] : [`${topic.name}/${one.partition} ${sign}`]
  })
}

/** Kafka never removes partitions. Of a topic with an ID they are unknown to a broker that lags behind. */
function findMissing({ name, id, partitions, leaderless }: ObservedTopic, before?: ManifestTopic): string | undefined {
  if (!isIdOfName(id, name)) return undefined
  const shown = new Set([...leaderless, ...partitions.map(({ partition }) => partition)])
  const hidden = before?.partitions.find(({ partition, batches }) => batches > 0 && !shown.has(partition))
  const now = `the topic has ${shown.size} partitions now, and the cluster gives it no ID, so it may have been created again`
  return hidden && `${name}/${hidden.partition} is in this backup, but not at the source: ${now}`
}

function findTruncation(
  { bounds, divergence, isStrangeStart, isOtherTail }: ObservedPartition,
  { end_offset }: ManifestPartition,
): string | undefined {
  if (bounds.highWatermark < end_offset) {
    return `ends at ${bounds.highWatermark}, but this backup holds it up to ${end_offset}`
  }
  if (isStrangeStart && bounds.logStart < end_offset) return hasMovedBack(bounds.logStart, end_offset)
  if (isStrangeStart) return startsBehind(bounds.logStart, end_offset)
  if (isOtherTail) return hasOtherBatch(end_offset)
  if (!divergence) return undefined
  const { storedEpoch, endOffset } = divergence
  const held = `this backup holds leader epoch ${storedEpoch} up to offset ${end_offset}`
  return endOffset === undefined
    ? `has another history than this backup: ${held}, and the source does not know that epoch`
    : `has another history than this backup: ${held}, and at the source that epoch ends at ${endOffset}`
}

const MAY_BE_ANOTHER = 'the cluster gives topics no IDs, so it may have been created again'

function hasMovedBack(logStart: bigint, before: bigint): string {
  return `starts at ${logStart}, but it started at ${before} before: ${MAY_BE_ANOTHER}`
}

function hasOtherBatch(end: bigint): string {
  return `has another batch before offset ${end} than this backup: ${MAY_BE_ANOTHER}`
}

/** Pure. For a message, behind the name of the partition. */
export function startsBehind(logStart: bigint, end: bigint): string {
  return `starts at ${logStart}, but this backup ends at ${end}, and its retention does not explain that: ${MAY_BE_ANOTHER}`
}

/** The source has another history than what is stored, as the copying found out. */
export class TruncationError extends KafkaBackupError {
  readonly topic: string

  constructor(topic: string, message: string) {
    super('SOURCE_TRUNCATED', message, { details: { topic } })
    this.topic = topic
  }
}

/** The topic whose truncation ended a run, also where a part of the run could be kept. */
export function truncatedTopic(error: unknown): string | undefined {
  if (error instanceof TruncationError) return error.topic
  return error instanceof KafkaBackupError && error.cause !== undefined ? truncatedTopic(error.cause) : undefined
}
