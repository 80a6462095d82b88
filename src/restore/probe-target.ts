import { randomBytes } from 'node:crypto'
import { KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { acquireProducerId, type ProducerIdentity } from '../kafka/produce-lane.ts'
import { createTopics } from '../kafka/topic-admin.ts'
import { assertDeletable, deleteTopic, deleteTopicNamed } from '../kafka/topic-deletion.ts'
import { waitForTopics } from '../kafka/topic-leaders.ts'
import type { Clock } from '../lib/clock.ts'
import { newTopic } from './fit-settings.ts'
import type { Outgoing, OutgoingBlock } from './outgoing-batch.ts'
import type { PlannedTopic } from './plan.ts'
import { type ProbedStream, type ProbeLimits, perSecond } from './probe-backup.ts'
import { Replay } from './replay.ts'
import { Stream } from './stream.ts'

interface TargetProbe {
  /** Bytes a second into all partitions at a time, prepared while they are written. */
  targetWrite: number
  /** And into one, from memory. */
  onePartition: number
}

interface TargetParts {
  cluster: Cluster
  clock: Clock
  connectionsPerBroker: number
  requestTimeoutMs: number
  /** Called before anything is created. */
  onBegin: (what: { topic: string; partitions: number }) => void
  /** Called when the topic is deleted, or with the reason why it is not. */
  onRemoved: (topic: string, left: string | undefined) => void
}

const PROBE_TOPICS = '__kafka-backup.probe.'

const TIMEOUT_MS = 30_000
/** A topic that a killed probe leaves behind loses its records by itself. */
const RETENTION_MS = 3_600_000

/**
 * Writes batches of the backup to a topic that is created for it, like the largest topic of the restore, and deleted by its ID
 * afterwards, also where the probe fails or is interrupted. Nothing is created where the user could not delete it.
 */
export async function probeTarget(
  like: PlannedTopic,
  streams: readonly ProbedStream[],
  parts: TargetParts,
  limits: ProbeLimits,
  signal: AbortSignal,
): Promise<TargetProbe> {
  const { cluster, onBegin, onRemoved } = parts
  const name = `${PROBE_TOPICS}${randomBytes(8).toString('hex')}`
  // One more, to measure one partition alone.
  const partitions = streams.length + 1
  const batches = streams.flatMap(one => one.batches)
  await assertDeletable(cluster, name, signal)
  onBegin({ topic: name, partitions })
  const created = await create(parts, probeTopic(like, name, partitions, batches))
  if ('error' in created) {
    if (created.mayExist) onRemoved(name, await removeUnanswered(parts, name))
    throw created.error
  }
  const { id } = created
  const measure = async () => {
    signal.throwIfAborted()
    const [topic] = await waitForTopics(cluster, [{ name, partitions }], signal)
    if (topic?.id !== id)
      throw new KafkaBackupError('RESTORE_CONFLICT', `another client has created topic ${name} again`)
    const identity = await acquireProducerId(cluster, signal)
    const write = (some: readonly PartitionSource[], share: number) =>
      writeSome({ name, id }, some, { ...parts, identity }, scale(limits, share), signal)
    const ready = async function* () {
      yield* batches
    }
    const onePartition = await write([{ partition: streams.length, open: ready }], 0.25)
    const targetWrite = await write(
      streams.map(({ open }, partition) => ({ partition, open })),
      0.75,
    )
    return { targetWrite, onePartition }
  }
  return measure().finally(async () => onRemoved(name, await remove(parts, { name, id })))
}

function scale({ maxBytes, maxMs }: ProbeLimits, share: number): ProbeLimits {
  return { maxBytes: maxBytes * share, maxMs: maxMs * share }
}

function probeTopic(like: PlannedTopic, name: string, partitions: number, batches: readonly Outgoing[]) {
  const largest = Math.max(...batches.map(({ bytes }) => bytes.length))
  const own = Number(like.whileFilling['max.message.bytes'] ?? 0)
  const configs = {
    ...like.whileFilling,
    'retention.ms': `${RETENTION_MS}`,
    ...(Math.max(largest, own) > 1_048_588 && { 'max.message.bytes': `${Math.max(largest, own)}` }),
  }
  return { ...newTopic({ ...like, name, partitions }), configs }
}

type Creation = { id: string } | { error: unknown; mayExist: boolean }

/** Not interrupted: a creation whose answer is not awaited would leave the topic behind. */
async function create({ cluster, clock }: TargetParts, topic: ReturnType<typeof newTopic>): Promise<Creation> {
  try {
    return await withinTime(clock, async signal => {
      const [created] = await createTopics(cluster, [topic], { timeoutMs: TIMEOUT_MS }, signal)
      if (created?.outcome === 'created' && created.topicId !== undefined) return { id: created.topicId }
      if (created?.outcome === 'refused') return { error: created.error, mayExist: false }
      // Created without an answer, or without its ID; its random name belongs to no one else.
      const [found] = await waitForTopics(cluster, [topic], signal)
      if (!found) throw new KafkaBackupError('KAFKA_NOT_READY', `topic ${topic.name} is not there yet`)
      return { id: found.id }
    })
  } catch (error) {
    return { error, mayExist: true }
  }
}

/** Its creation got no answer, so that it may be there, or appear later. Answers with what is left, in words. */
async function removeUnanswered({ cluster, clock }: TargetParts, name: string): Promise<string> {
  const asked = await withinTime(clock, signal => deleteTopicNamed(cluster, name, signal)).then(
    () => 'A request to delete it was accepted, but it may still appear',
    error => `It could not be deleted: ${error instanceof Error ? error.message : error}`,
  )
  return `the target did not answer whether it created topic ${name}. ${asked}; delete it if it exists`
}

/** Not interrupted either. Answers with what is left, in words. */
async function remove(
  { cluster, clock }: TargetParts,
  topic: { name: string; id: string },
): Promise<string | undefined> {
  try {
    await withinTime(clock, signal => deleteTopic(cluster, topic, signal))
    return undefined
  } catch (error) {
    return `the topic ${topic.name} could not be deleted; delete it: ${error instanceof Error ? error.message : error}`
  }
}

async function withinTime<T>(clock: Clock, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController()
  const cancel = clock.after(TIMEOUT_MS, () => stop.abort(new KafkaBackupError('KAFKA_TIMEOUT', 'it took too long')))
  try {
    return await work(stop.signal)
  } finally {
    cancel()
  }
}

interface PartitionSource {
  partition: number
  open: () => AsyncGenerator<Outgoing>
}

/** Bytes a second from the first answer on: connections are open then. */
async function writeSome(
  { name, id }: { name: string; id: string },
  some: readonly PartitionSource[],
  { identity, ...parts }: TargetParts & { identity: ProducerIdentity },
  limits: ProbeLimits,
  signal: AbortSignal,
): Promise<number> {
  const { clock } = parts
  const startedAt = clock.monotonic()
  let bytes = 0
  let first: { ms: number; bytes: number } | undefined
  const mayContinue = () => bytes < limits.maxBytes && clock.monotonic() - startedAt < limits.maxMs
  // Batch by batch: events of progress come too late for the limit.
  const onStored = (batch: Outgoing) => {
    bytes += batch.bytes.length
    first ??= { ms: clock.monotonic(), bytes }
  }
  const written = { identity, mayContinue, onStored }
  const streams = some.map(({ partition, open }) => openStream({ name, id, partition }, open, written))
  const replay = new Replay({ ...parts, maxActive: streams.length, isShared: false, onProgress: () => undefined })
  await replay.run(streams, signal)
  const endedAt = clock.monotonic()
  if (first && bytes > first.bytes) return perSecond(bytes - first.bytes, endedAt - first.ms)
  return perSecond(bytes, endedAt - startedAt)
}

/** Sends the batches again and again, as far as the limits allow. */
function openStream(
  { name: topic, id: topicId, partition }: { name: string; id: string; partition: number },
  source: PartitionSource['open'],
  {
    identity,
    mayContinue,
    onStored,
  }: { identity: ProducerIdentity; mayContinue: () => boolean; onStored: (batch: Outgoing) => void },
): Stream {
  const open = async function* (): AsyncGenerator<OutgoingBlock> {
    while (mayContinue()) {
      for await (const batch of source()) {
        if (!mayContinue()) return
        yield [batch]
        // The next one is requested when this one is stored.
        onStored(batch)
      }
    }
  }
  const place = { topic, partition }
  const start = { sourcePartition: 0, sourceOffset: 0n, targetOffset: 0n, sequence: 0, isFilled: false, isDone: false }
  return new Stream(
    { ...place, topicId, identity, open, countFrom: async () => 0, isShared: false },
    { ...place, ...start },
  )
}
