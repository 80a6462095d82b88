import type { Cluster } from '../kafka/cluster.ts'
import { acquireProducerId } from '../kafka/produce-lane.ts'
import { type EffectiveConfigs, readTopicConfigs } from '../kafka/topic-configs.ts'
import type { Storage } from '../storage/storage.ts'
import { countStream } from './expected.ts'
import { type SourcePosition, startOf } from './legs.ts'
import type { OutgoingOptions } from './outgoing.ts'
import { bindProgram, outgoingOptions, readLegs, readSegments } from './outgoing-options.ts'
import { fingerprintOf, orderTopics, type PlannedLeg } from './plan.ts'
import { type OnTopicsCreated, prepareTopics } from './prepare-topics.ts'
import { type ShardPin, type StreamProgress, streamKey } from './progress.ts'
import type { RestoreOptions } from './restore-options.ts'
import type { RunMark } from './run-mark.ts'
import { Stream } from './stream.ts'
import { countAheadBytes } from './stream-memory.ts'
import type { RecordsSurvey } from './survey-records.ts'

interface StreamParts {
  cluster: Cluster
  storage: Storage
  /** Of the program. */
  version: string
  onTopicsCreated?: OnTopicsCreated
}

type SurveyedStreams = Pick<RecordsSurvey, 'plan' | 'progress' | 'earlierRuns' | 'preflight' | 'segments'>

/**
 * Creates missing topics, and opens a stream for each partition that is to be filled, with the shard that fills it. What a shard has filled has
 * all its records, also where this program would select others.
 */
export async function openStreams(
  options: RestoreOptions,
  { plan, progress, earlierRuns, preflight, segments }: SurveyedStreams,
  { cluster, storage, version, onTopicsCreated }: StreamParts,
  signal: AbortSignal,
  pins?: ReadonlyMap<string, ShardPin>,
): Promise<{ streams: Stream[]; mark: RunMark }> {
  const segmentsOf = (leg: PlannedLeg) => readSegments({ storage, segments }, leg, signal)
  const { ready, unclear } = await prepareTopics({ cluster, onTopicsCreated }, plan.topics, preflight.existing, signal)
  const configs = await readTopicConfigs(cluster, [...ready.keys()], signal)
  // A new producer ID also identifies the run, even if it continues as an earlier producer.
  const own = await acquireProducerId(cluster, signal)
  const identity = progress?.identity ?? own
  const isShared = options.existingTopics === 'append'
  const program = bindProgram(options, version)
  const ordered = orderTopics(plan.topics, options)
  const planned = ordered.flatMap(topic => topic.streams.map(stream => ({ plan, topic, stream })))
  const aheadBytes = countAheadBytes(options, planned.length)
  const streams = planned.map(place => {
    const { topic, stream } = place
    const maxBytes = maxBatchBytes(configs.get(topic.name))
    const limits = { maxBytes, batchBytes: Math.min(options.batchBytes, maxBytes) }
    const prepare = async (leg: PlannedLeg): Promise<OutgoingOptions> => {
      const outgoing = outgoingOptions(options, place, { ...leg, segments: await segmentsOf(leg) }, limits)
      return { ...outgoing, givesBack: true, aheadBytes }
    }
    const open = (from: SourcePosition) => readLegs(storage, stream, from, prepare, signal)
    const countFrom = (from: SourcePosition) => countStream(stream, from, options.timeWindow, segmentsOf)
    const topicId = ready.get(topic.name)?.id ?? ''
    const { partition } = stream
    const key = streamKey({ topic: topic.name, partition })
    const noted = progress?.streams.get(key)
    const known = (noted && forgetEmpty(noted)) ?? {
      ...{ topic: topic.name, partition, targetOffset: preflight.ends.get(key) ?? 0n, ...startOf(stream) },
      ...{ sequence: 0, isFilled: false, isDone: false },
      ...(!preflight.existing.has(topic.name) && { isMade: true }),
    }
    const parts = { topic: topic.name, topicId, partition, identity, open, countFrom, isShared, program }
    const shard = pins?.get(key) ?? known.shard
    return new Stream(parts, { ...known, isDone: known.isFilledByShard === true, ...(shard && { shard }) })
  })
  // Of topics that are created, one run creates each. A run that finds them before they are noted is a conflict, or appends.
  const isCommon = isShared || [...ready.keys()].some(name => preflight.existing.has(name) || unclear.has(name))
  const run = { run: `${own.producerId}`, earlier: earlierRuns, mayHaveTwin: progress === undefined && isCommon }
  // A shard has a part of the plan: the fingerprint of the whole is that of its notes, which was compared.
  const fingerprint = progress?.fingerprint ?? fingerprintOf(plan)
  const schemasAddedAt = progress?.schemasAddedAt ?? plan.schemasAddedAt
  const pinned = { generation: plan.generation, ...(schemasAddedAt !== undefined && { schemasAddedAt }) }
  return { streams, mark: { identity, fingerprint, backupId: plan.backupId, ...pinned, ...run } }
}

/** Without the ID of a topic that may have been created again: of a partition without records nothing is missing there. */
function forgetEmpty(noted: StreamProgress): StreamProgress {
  if (!noted.isDone || noted.targetOffset > 0n) return noted
  const { topicId: _, ...rest } = noted
  return rest
}

/** A batch has to fit into a segment of the log, too. */
function maxBatchBytes(configs: EffectiveConfigs | undefined): number {
  const ofMessage = Number(configs?.get('max.message.bytes')?.value ?? 1_048_588)
  return Math.min(ofMessage, Number(configs?.get('segment.bytes')?.value ?? ofMessage))
}
