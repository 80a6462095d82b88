import type { Cluster } from '../kafka/cluster.ts'
import { acquireProducerId } from '../kafka/producer.ts'
import { type EffectiveConfigs, readTopicConfigs } from '../kafka/topic-configs.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import { countRecords } from './expected.ts'
import type { RestoreOptions } from './options.ts'
import { readOutgoing } from './outgoing.ts'
import { outgoingOptions, readSegments } from './outgoing-options.ts'
import { fingerprintOf } from './plan.ts'
import type { Prepared } from './prepare-restore.ts'
import { prepareTopics } from './prepare-topics.ts'
import { type RestoreMark, streamKey } from './progress.ts'
import { Stream } from './stream.ts'

const CONCURRENCY = 8

/** Makes the topics where they are missing, and a stream for each partition that is to be filled. */
export async function openStreams(
  options: RestoreOptions,
  { plan, progress, preflight, segments: gathered }: Prepared,
  { cluster, storage }: { cluster: Cluster; storage: Storage },
  signal: AbortSignal,
): Promise<{ streams: Stream[]; mark: RestoreMark }> {
  const planned = plan.topics.flatMap(topic => topic.streams.map(stream => ({ topic, stream })))
  // The look at the backup has read the indexes of all streams that are not filled.
  const indexes = await runPool(
    planned,
    CONCURRENCY,
    async ({ stream }) => gathered.get(stream) ?? (await readSegments(storage, stream, signal)),
  )
  const ready = await prepareTopics(cluster, plan.topics, preflight.existing, signal)
  const configs = await readTopicConfigs(cluster, [...ready.keys()], signal)
  const identity = progress?.identity ?? (await acquireProducerId(cluster, signal))
  const isShared = options.existingTopics === 'append'
  const streams = planned.map(({ topic, stream }, i) => {
    const maxBytes = maxBatchBytes(configs.get(topic.name))
    const limits = { maxBytes, batchBytes: Math.min(options.batchBytes, maxBytes) }
    const base = outgoingOptions(options, { plan, topic, stream }, indexes[i] ?? [], limits)
    const { segments, end, timeWindow } = base
    const open = (start: bigint) => readOutgoing(storage, { ...base, start }, signal)
    const countFrom = (start: bigint) => countRecords(segments, { start, end }, timeWindow)
    const topicId = ready.get(topic.name)?.id ?? ''
    const { partition } = stream
    const key = streamKey({ topic: topic.name, partition })
    const known = progress?.streams.get(key) ?? {
      topic: topic.name,
      partition,
      targetOffset: preflight.ends.get(key) ?? 0n,
      sourceOffset: stream.start,
      sequence: 0,
      isFilled: false,
      isDone: false,
    }
    const parts = { topic: topic.name, topicId, partition, identity, open, countFrom, isShared }
    return new Stream(parts, { ...known, isDone: false })
  })
  return { streams, mark: { identity, generation: plan.generation, fingerprint: fingerprintOf(plan) } }
}

/** A batch has to fit into a segment of the log, too. */
function maxBatchBytes(configs: EffectiveConfigs | undefined): number {
  const ofMessage = Number(configs?.get('max.message.bytes')?.value ?? 1_048_588)
  return Math.min(ofMessage, Number(configs?.get('segment.bytes')?.value ?? ofMessage))
}
