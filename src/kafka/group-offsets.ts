import { hasCode, KafkaBackupError, toKafkaBackupError } from '../errors.ts'
import {
  type FetchedOffset,
  type OffsetCommitRequest,
  type OffsetFetchRequest,
  type OffsetFetchResponse,
  offsetCommit,
  offsetDelete,
  offsetFetch,
  type TopicPartitions,
} from './api/group-offsets.ts'
import { type AskCoordinator, atCoordinators, type ByGroup, withCoordinator } from './at-coordinators.ts'
import { brokerError } from './broker-errors.ts'
import type { BrokerLink } from './broker-link.ts'
import type { Cluster } from './cluster.ts'
import { DEFAULT_METADATA_LIMIT, METADATA_SETTING, readMetadataLimit } from './metadata-limit.ts'
import { partitionKey, type TopicPartition } from './offsets.ts'

export interface GroupOffset extends TopicPartition {
  /** The next record that the group reads. */
  offset: bigint
  /** Of the last record that it has read; -1 is unknown. */
  leaderEpoch: number
  metadata: string
}

/** What a group has committed, whatever its transactions may still add; the start offsets of a share group. */
export interface CommittedOffsets {
  offsets: GroupOffset[]
  /** Partitions with a newer offset in an open transaction. One that was never committed before is not among `offsets`. */
  undecided: TopicPartition[]
  /** Partitions that a share group knows and has no start offset for, or whose start offset the broker could not read. */
  unset?: TopicPartition[]
}

/** What a coordinator stores at a time has to fit into a batch of its own topic, by default 1 MiB. */
const BYTES_PER_COMMIT = 256 * 1024
const OFFSET_METADATA_TOO_LARGE = 12
const GROUP_ID_NOT_FOUND = 69
const UNSTABLE_OFFSET_COMMIT = 88

/**
 * Commits for a group that has no members at the moment, and creates the group where there is none. What does not fit into
 * one request is committed in several; a failure then leaves the ones before it committed. Before every try `confirm` gets
 * what the group has for the partitions, and throws where that must not be replaced.
 */
export async function commitGroupOffsets(
  cluster: Cluster,
  group: string,
  offsets: readonly GroupOffset[],
  signal: AbortSignal,
  confirm?: (current: readonly GroupOffset[]) => void,
): Promise<void> {
  await assertMetadataFits(cluster, group, offsets, signal)
  for (const some of splitCommits(group, offsets, BYTES_PER_COMMIT)) {
    await commitSome(cluster, group, some, signal, confirm)
  }
}

/** What the group has committed, of these partitions or of all; one without a commit is not among them. */
export function fetchGroupOffsets(
  cluster: Cluster,
  group: string,
  partitions: readonly TopicPartition[] | 'all',
  signal: AbortSignal,
): Promise<GroupOffset[]> {
  return withCoordinator(cluster, group, link => fetchOffsets(link, group, partitions, signal), signal)
}

async function fetchOffsets(
  link: BrokerLink,
  group: string,
  partitions: readonly TopicPartition[] | 'all',
  signal: AbortSignal,
): Promise<GroupOffset[]> {
  const topics = partitions === 'all' ? null : topicPartitions(partitions)
  const answer = await link.call(offsetFetch, { requireStable: true, groups: [{ group, topics }] }, signal)
  return readFetched(group, answer)
}

/**
 * What each group has committed, all of it, with one request for many groups of a coordinator; what could not be read is the
 * error of its group. An offset in an open transaction is waited for, and in the end an error.
 */
export function fetchOffsetsOfGroups(
  cluster: Cluster,
  groups: readonly string[],
  signal: AbortSignal,
): Promise<ByGroup<GroupOffset[]>> {
  const ask: AskCoordinator<GroupOffset[]> = async (link, some) => {
    const answer = await link.call(offsetFetch, allOf(some, true), signal)
    return new Map(some.map(group => [group, attempt(() => readFetched(group, answer))]))
  }
  return atCoordinators(cluster, groups, ask, signal)
}

/**
 * As fetchOffsetsOfGroups, but waits for no transaction: a partition whose newest offset is in an open transaction has the
 * last committed one, which is where its consumers resume if the transaction is aborted.
 */
export function fetchCommittedOffsets(
  cluster: Cluster,
  groups: readonly string[],
  signal: AbortSignal,
): Promise<ByGroup<CommittedOffsets>> {
  const ask: AskCoordinator<CommittedOffsets> = async (link, some) => {
    const stable = await link.call(offsetFetch, allOf(some, true), signal)
    const open = some.filter(group => undecidedIn(group, stable).length > 0)
    const committed = open.length === 0 ? { groups: [] } : await link.call(offsetFetch, allOf(open, false), signal)
    return new Map(some.map(group => [group, attempt(() => readCommitted(group, stable, committed))]))
  }
  return atCoordinators(cluster, groups, ask, signal)
}

/** Refuses what brokers would refuse before anything is committed: they would take the other offsets. */
async function assertMetadataFits(
  cluster: Cluster,
  group: string,
  offsets: readonly GroupOffset[],
  signal: AbortSignal,
): Promise<void> {
  const isLong = (limit: number) => offsets.find(({ metadata }) => metadata.length > limit)
  if (!isLong(DEFAULT_METADATA_LIMIT)) return
  const limit = await readMetadataLimit(cluster, signal)
  const long = limit !== undefined && isLong(limit)
  if (!long) return
  const what = `committing ${partitionKey(long)} of group ${group}: ${describeMetadata(long)}`
  throw new KafkaBackupError('KAFKA_REFUSED', `${what}, which is ${limit}`)
}

function describeMetadata({ metadata }: GroupOffset): string {
  return `its metadata has ${metadata.length} characters, more than ${METADATA_SETTING} of the broker`
}

/** Runs of commits that a coordinator can store at once, each at least one long. */
export function splitCommits(group: string, offsets: readonly GroupOffset[], maxBytes: number): GroupOffset[][] {
  const runs: GroupOffset[][] = []
  let room = 0
  for (const one of offsets) {
    const bytes = 64 + Buffer.byteLength(group) + Buffer.byteLength(one.topic) + Buffer.byteLength(one.metadata)
    if (runs.length === 0 || bytes > room) {
      runs.push([])
      room = maxBytes
    }
    runs.at(-1)?.push(one)
    room -= bytes
  }
  return runs
}

/** Partitions that a passing fault hit are committed again; all others that failed are named at once. */
async function commitSome(
  cluster: Cluster,
  group: string,
  offsets: readonly GroupOffset[],
  signal: AbortSignal,
  confirm?: (current: readonly GroupOffset[]) => void,
): Promise<void> {
  let rest = [...offsets]
  const commit = async (link: BrokerLink) => {
    confirm?.(await fetchOffsets(link, group, rest, signal))
    const answer = await link.call(offsetCommit, commitRequest(group, rest), signal)
    const codes = new Map(
      answer.topics.flatMap(({ name, partitions }) =>
        partitions.map(({ partition, errorCode }) => [partitionKey({ topic: name, partition }), errorCode] as const),
      ),
    )
    const errors = rest.flatMap(one => commitError(group, one, codes.get(partitionKey(one))) ?? [])
    rest = rest.filter(one => codes.get(partitionKey(one)) !== 0)
    const final = errors.filter(error => !error.retryable)
    if (final.length > 0) throw joinErrors(final)
    if (errors[0]) throw errors[0]
  }
  await withCoordinator(cluster, group, commit, signal)
}

function commitRequest(group: string, offsets: readonly GroupOffset[]): OffsetCommitRequest {
  const topics = Map.groupBy(offsets, each => each.topic)
  return { group, topics: [...topics].map(([name, partitions]) => ({ name, partitions })) }
}

/** A coordinator hears of a new topic later than others: an unknown one is asked for again. */
function commitError(group: string, one: GroupOffset, errorCode: number | undefined): KafkaBackupError | undefined {
  const doing = `committing ${partitionKey(one)} of group ${group}`
  const details = { group, topic: one.topic, partition: one.partition }
  if (errorCode === undefined) {
    return new KafkaBackupError('KAFKA_PROTOCOL', `${doing}: the broker said nothing of it`, { details })
  }
  if (errorCode === 0) return undefined
  const said = errorCode === OFFSET_METADATA_TOO_LARGE ? describeMetadata(one) : null
  const error = brokerError(errorCode, doing, said, details)
  return hasCode(error, 'TOPIC_NOT_FOUND') ? new KafkaBackupError('KAFKA_NOT_READY', error.message, { details }) : error
}

function topicPartitions(partitions: readonly TopicPartition[]): TopicPartitions[] {
  const topics = Map.groupBy(partitions, each => each.topic)
  return [...topics].map(([name, each]) => ({ name, partitions: each.map(({ partition }) => partition) }))
}

function allOf(groups: readonly string[], requireStable: boolean): OffsetFetchRequest {
  return { requireStable, groups: groups.map(group => ({ group, topics: null })) }
}

function readFetched(group: string, answer: OffsetFetchResponse): GroupOffset[] {
  const partitions = partitionsOf(group, answer)
  const errors = partitions
    .filter(({ errorCode }) => errorCode !== 0)
    .map(one => {
      const details = { group, topic: one.topic, partition: one.partition }
      return brokerError(one.errorCode, `reading the offset of ${partitionKey(one)} of group ${group}`, null, details)
    })
  const final = errors.filter(error => !error.retryable)
  if (errors[0]) throw final.length > 0 ? joinErrors(final) : errors[0]
  return partitions
    .filter(({ offset }) => offset >= 0n)
    .map(({ errorCode: _, metadata, ...rest }) => ({ ...rest, metadata: metadata ?? '' }))
}

/** `committed` has the groups with open transactions once more, as they are without them. */
function readCommitted(group: string, stable: OffsetFetchResponse, committed: OffsetFetchResponse): CommittedOffsets {
  const undecided = undecidedIn(group, stable)
  return { offsets: readFetched(group, undecided.length > 0 ? committed : stable), undecided }
}

function undecidedIn(group: string, { groups }: OffsetFetchResponse): TopicPartition[] {
  const topics = groups.find(each => each.group === group)?.topics ?? []
  return topics.flatMap(({ name: topic, partitions }) =>
    partitions
      .filter(({ errorCode }) => errorCode === UNSTABLE_OFFSET_COMMIT)
      .map(({ partition }) => ({ topic, partition })),
  )
}

function partitionsOf(group: string, { groups }: OffsetFetchResponse): (FetchedOffset & TopicPartition)[] {
  const answer = groups.find(each => each.group === group)
  if (!answer)
    throw new KafkaBackupError('KAFKA_PROTOCOL', `the broker's answer lacks group ${group}`, { details: { group } })
  // Kafka answers that a group it does not know has committed nothing; kfake has this error for it.
  if (answer.errorCode === GROUP_ID_NOT_FOUND) return []
  if (answer.errorCode !== 0)
    throw brokerError(answer.errorCode, `reading the offsets of group ${group}`, null, { group })
  return answer.topics.flatMap(topic => topic.partitions.map(one => ({ topic: topic.name, ...one })))
}

function attempt<T>(read: () => T): T | KafkaBackupError {
  try {
    return read()
  } catch (error) {
    return toKafkaBackupError(error)
  }
}

/** One error that names every failure, up to a screenful. */
export function joinErrors(errors: readonly KafkaBackupError[]): KafkaBackupError {
  const [first] = errors
  const shown = errors.slice(0, 20).map(error => error.message)
  const more = errors.length > shown.length ? [`and ${errors.length - shown.length} more`] : []
  return new KafkaBackupError(first?.code ?? 'KAFKA_REFUSED', [...shown, ...more].join('; '))
}

const UNKNOWN_TOPIC_OR_PARTITION = 3

/** Takes positions from a group, as if it had never committed any; those that it does not have are fine. */
export async function deleteGroupOffsets(
  cluster: Cluster,
  group: string,
  partitions: readonly TopicPartition[],
  signal: AbortSignal,
): Promise<void> {
  const topics = [...Map.groupBy(partitions, each => each.topic)].map(([name, each]) => ({
    name,
    partitions: each.map(({ partition }) => partition),
  }))
  await withCoordinator(
    cluster,
    group,
    async link => {
      const answer = await link.call(offsetDelete, { group, topics }, signal)
      if (answer.errorCode === GROUP_ID_NOT_FOUND) return
      if (answer.errorCode !== 0)
        throw brokerError(answer.errorCode, `removing positions of group ${group}`, null, { group })
      const failed = answer.topics.flatMap(({ name, partitions: each }) =>
        each
          .filter(({ errorCode }) => errorCode !== 0 && errorCode !== UNKNOWN_TOPIC_OR_PARTITION)
          .map(({ partition, errorCode }) => deleteError(group, { topic: name, partition }, errorCode)),
      )
      if (failed[0]) throw failed[0]
    },
    signal,
  )
}

function deleteError(group: string, place: TopicPartition, errorCode: number): KafkaBackupError {
  const details = { group, topic: place.topic, partition: place.partition }
  return brokerError(errorCode, `removing the position of group ${group} on ${partitionKey(place)}`, null, details)
}
