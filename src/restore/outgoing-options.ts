import { readIndex } from '../archive/catalog.ts'
import type { Segment } from '../archive/manifest.ts'
import type { Storage } from '../storage/storage.ts'
import { offsetHeaders } from './offset-headers.ts'
import type { RestoreOptions } from './options.ts'
import type { OutgoingOptions } from './outgoing.ts'
import type { PlannedStream, PlannedTopic, RestorePlan } from './plan.ts'

export async function readSegments(
  storage: Storage,
  { source }: PlannedStream,
  signal: AbortSignal,
): Promise<Segment[]> {
  const indexes = await Promise.all(source.indexes.map(ref => readIndex(storage, ref, signal)))
  return indexes.flatMap(index => index.segments)
}

/** Pure. What of a stream's segments is sent, and how. */
export function outgoingOptions(
  options: RestoreOptions,
  { plan, topic, stream }: { plan: RestorePlan; topic: PlannedTopic; stream: PlannedStream },
  segments: readonly Segment[],
  limits: { maxBytes: number; batchBytes: number },
): OutgoingOptions {
  const { source, start, end } = stream
  const origin = { topic: topic.source.name, partition: source.partition, cluster: plan.sourceCluster }
  return {
    name: `${topic.source.name}/${source.partition}`,
    segments,
    openAborted: source.open_aborted,
    start,
    end,
    timeWindow: options.timeWindow,
    ...limits,
    ...(options.offsetHeaders && { edit: offsetHeaders(origin) }),
  }
}
