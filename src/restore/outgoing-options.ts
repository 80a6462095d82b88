import { readIndexes } from '../archive/catalog.ts'
import type { ManifestPartition, Segment } from '../archive/manifest.ts'
import type { Codec } from '../batch/header.ts'
import type { Storage } from '../storage/storage.ts'
import { keyFilter, legsFrom, type SourcePosition } from './legs.ts'
import { offsetHeaders } from './offset-headers.ts'
import type { RestoreOptions } from './options.ts'
import { type Outgoing, type OutgoingOptions, readOutgoing } from './outgoing.ts'
import type { PlannedLeg, PlannedStream, PlannedTopic, RestorePlan } from './plan.ts'
import { IdRewriter } from './rewrite-ids.ts'

/** One partition of the target, and the plan that it belongs to. */
export interface PlannedPlace {
  plan: RestorePlan
  topic: PlannedTopic
  stream: PlannedStream
}

/** A backup to read from, with the segments of its partitions as far as they are known. */
export interface BackupReader {
  storage: Storage
  segments?: ReadonlyMap<ManifestPartition, readonly Segment[]>
}

export async function readSegments(
  { storage, segments }: BackupReader,
  { topic, source }: PlannedLeg,
  signal: AbortSignal,
): Promise<readonly Segment[]> {
  const known = segments?.get(source)
  if (known) return known
  const indexes = await readIndexes(storage, topic, source, signal)
  return indexes.flatMap(index => index.segments)
}

/** The batches of a stream from there on: those of one leg after the other, none of two. */
export async function* readLegs(
  storage: Storage,
  stream: PlannedStream,
  from: SourcePosition,
  prepare: (leg: PlannedLeg) => OutgoingOptions | Promise<OutgoingOptions>,
  signal: AbortSignal,
): AsyncGenerator<Outgoing> {
  for (const leg of legsFrom(stream, from)) yield* readOutgoing(storage, await prepare(leg), signal)
}

/** What of a leg's segments is sent, and how. Good for one reading: a rewriter counts as it goes. */
export function outgoingOptions(
  options: RestoreOptions,
  { plan, topic, stream }: PlannedPlace,
  { source, start, end, segments }: Omit<PlannedLeg, 'topic'> & { segments: readonly Segment[] },
  limits: { maxBytes: number; batchBytes: number; codec?: Codec },
): OutgoingOptions {
  const { partition } = source
  // By its label: offsets of an older incarnation must not be taken for those of the newest.
  const origin = { topic: topic.label, partition, cluster: plan.sourceCluster }
  const takes = keyFilter(stream, { source })
  const name = `${topic.label}/${partition}`
  const rewrite = plan.rewrites?.get(topic.label)
  return {
    name,
    sourcePartition: partition,
    segments,
    openAborted: source.open_aborted,
    start,
    end,
    timeWindow: options.timeWindow,
    ...limits,
    ...(takes && { takes }),
    ...(rewrite && { ids: new IdRewriter(rewrite, name) }),
    ...(options.offsetHeaders && { edit: offsetHeaders(origin) }),
  }
}
