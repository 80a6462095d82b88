import { hasCode, KafkaBackupError } from '../errors.ts'
import { alterShareGroupOffsets, type DescribedShareGroup, describeShareGroupOffsets } from './api/share-offsets.ts'
import { type AskCoordinator, atCoordinators, type ByGroup, withCoordinator } from './at-coordinators.ts'
import { brokerError } from './broker-errors.ts'
import type { BrokerLink } from './broker-link.ts'
import type { Cluster } from './cluster.ts'
import { type CommittedOffsets, type GroupOffset, joinErrors } from './group-offsets.ts'
import { partitionKey, type TopicPartition } from './offsets.ts'

/** What an unset start offset is on the wire. */
const UNSET = -1n
/** Each partition takes a request between coordinators, which the broker makes before it answers. */
const PARTITIONS_PER_REQUEST = 1000

/**
 * Where each share group (KIP-932) starts on its partitions: all records before a start offset are processed. Which records
 * behind it are processed as well, no request reports. A broker without the request is KAFKA_UNSUPPORTED for its groups.
 */
export function fetchShareOffsets(
  cluster: Cluster,
  groups: readonly string[],
  signal: AbortSignal,
): Promise<ByGroup<CommittedOffsets>> {
  const ask: AskCoordinator<CommittedOffsets> = async (link, some) => {
    if (!link.speaks(describeShareGroupOffsets)) return new Map(some.map(group => [group, unsupported(group, link)]))
    const answers = await link.call(describeShareGroupOffsets, { groups: some }, signal)
    return new Map(answers.map(one => [one.group, readDescribed(one)]))
  }
  return atCoordinators(cluster, groups, ask, signal)
}

function unsupported(group: string, { name }: BrokerLink): KafkaBackupError {
  const message = `the start offsets of share group ${group} cannot be read: ${name} has no DescribeShareGroupOffsets`
  const help = 'Kafka 4.1 and later can report and set start offsets, if its feature share.version is on.'
  return new KafkaBackupError('KAFKA_UNSUPPORTED', message, { details: { group }, help })
}

function readDescribed({
  group,
  errorCode,
  errorMessage,
  topics,
}: DescribedShareGroup): CommittedOffsets | KafkaBackupError {
  if (errorCode !== 0) {
    return brokerError(errorCode, `reading the start offsets of share group ${group}`, errorMessage, { group })
  }
  const all = topics.flatMap(({ name, partitions }) => partitions.map(one => ({ topic: name, ...one })))
  const failed = all.find(one => one.errorCode !== 0)
  if (failed) {
    const doing = `reading the start offset of ${partitionKey(failed)} of share group ${group}`
    const details = { group, topic: failed.topic, partition: failed.partition }
    return brokerError(failed.errorCode, doing, failed.errorMessage, details)
  }
  const [set, unset] = [all.filter(one => one.startOffset >= 0n), all.filter(one => one.startOffset < 0n)]
  return {
    offsets: set.map(({ topic, partition, startOffset }) => shareOffset({ topic, partition }, startOffset)),
    undecided: [],
    unset: unset.map(({ topic, partition }) => ({ topic, partition })),
  }
}

/** A start offset has neither an epoch nor metadata. */
function shareOffset({ topic, partition }: TopicPartition, offset: bigint): GroupOffset {
  return { topic, partition, offset, leaderEpoch: -1, metadata: '' }
}

/**
 * Sets start offsets of a share group that has no members, and creates the group where there is none. All records from there
 * on are delivered, also those that were acknowledged before.
 */
export async function alterShareOffsets(
  cluster: Cluster,
  group: string,
  offsets: readonly (TopicPartition & { offset: bigint })[],
  signal: AbortSignal,
): Promise<void> {
  for (let start = 0; start < offsets.length; start += PARTITIONS_PER_REQUEST) {
    await alterSome(cluster, group, offsets.slice(start, start + PARTITIONS_PER_REQUEST), signal)
  }
}

/** Takes start offsets from a share group, as if it had never read these partitions. */
export function unsetShareOffsets(
  cluster: Cluster,
  group: string,
  partitions: readonly TopicPartition[],
  signal: AbortSignal,
): Promise<void> {
  const unset = partitions.map(({ topic, partition }) => ({ topic, partition, offset: UNSET }))
  return alterShareOffsets(cluster, group, unset, signal)
}

/** Partitions that a passing fault hit are set again; all others that failed are named at once. */
async function alterSome(
  cluster: Cluster,
  group: string,
  offsets: readonly (TopicPartition & { offset: bigint })[],
  signal: AbortSignal,
): Promise<void> {
  let rest = [...offsets]
  const alter = async (link: BrokerLink) => {
    const topics = [...Map.groupBy(rest, each => each.topic)].map(([name, partitions]) => ({ name, partitions }))
    const answer = await link.call(alterShareGroupOffsets, { group, topics }, signal)
    const { errorCode, errorMessage } = answer
    if (errorCode !== 0) {
      throw brokerError(errorCode, `setting start offsets of share group ${group}`, errorMessage, { group })
    }
    if (answer.topics.length === 0) throw unexplained(group)
    const answers = new Map(
      answer.topics.flatMap(({ name, partitions }) =>
        partitions.map(one => [partitionKey({ topic: name, partition: one.partition }), one] as const),
      ),
    )
    const errors = rest.flatMap(one => alterError(group, one, answers.get(partitionKey(one))) ?? [])
    rest = rest.filter(one => answers.get(partitionKey(one))?.errorCode !== 0)
    const final = errors.filter(error => !error.retryable)
    if (final.length > 0) throw joinErrors(final)
    if (errors[0]) throw errors[0]
  }
  await withCoordinator(cluster, group, alter, signal)
}

/** Kafka 4.1 drops the error of a request as a whole from its answer. */
function unexplained(group: string): KafkaBackupError {
  const message = `setting start offsets of share group ${group}: the broker neither took nor refused them`
  const help = 'See that the group has no members, that share.version is on, and the log of its coordinator.'
  return new KafkaBackupError('KAFKA_NOT_READY', message, { details: { group }, help })
}

/** A coordinator hears of a new topic later than others: an unknown one is asked for again. */
function alterError(
  group: string,
  one: TopicPartition,
  answer: { errorCode: number; errorMessage: string | null } | undefined,
): KafkaBackupError | undefined {
  const doing = `setting the start offset of ${partitionKey(one)} of share group ${group}`
  const details = { group, topic: one.topic, partition: one.partition }
  if (!answer) return new KafkaBackupError('KAFKA_PROTOCOL', `${doing}: the broker said nothing of it`, { details })
  if (answer.errorCode === 0) return undefined
  const error = brokerError(answer.errorCode, doing, answer.errorMessage, details)
  return hasCode(error, 'TOPIC_NOT_FOUND') ? new KafkaBackupError('KAFKA_NOT_READY', error.message, { details }) : error
}
