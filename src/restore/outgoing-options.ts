import { listSegments } from '../archive/indexes.ts'
import type { ManifestPartition, Segment } from '../archive/manifest.ts'
import type { Codec } from '../batch/header.ts'
import { hasBound } from '../batch/needs.ts'
import type { EditRecord } from '../batch/record-editor.ts'
import { decodeRecords, type KafkaRecord } from '../batch/records.ts'
import { walkBatches } from '../batch/walk.ts'
import type { Storage } from '../storage/storage.ts'
import { keyFilter, legsFrom, type SourcePosition, startOf } from './legs.ts'
import { type OutgoingOptions, readBlocks } from './outgoing.ts'
import { flatten, type OffsetRun, type Outgoing, type OutgoingBlock } from './outgoing-batch.ts'
import type { PlannedLeg, PlannedStream, PlannedTopic, RestorePlan } from './plan.ts'
import type { RestoreOptions } from './restore-options.ts'
import { IdRewriter } from './rewrite-ids.ts'

/** One partition of the target, and the plan that it belongs to. */
interface PlannedPlace {
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
  return segments?.get(source) ?? listSegments(storage, topic, source, signal)
}

/** The batches of a stream from there on: those of one leg after the other, none of two. */
export async function* readLegs(
  storage: Storage,
  stream: PlannedStream,
  from: SourcePosition,
  prepare: (leg: PlannedLeg) => OutgoingOptions | Promise<OutgoingOptions>,
  signal: AbortSignal,
): AsyncGenerator<OutgoingBlock> {
  for (const leg of legsFrom(stream, from)) yield* readBlocks(storage, await prepare(leg), signal)
}

/** The program, where what it sends depends on it: all other restores send what the backup holds, byte for byte. */
export interface BoundProgram {
  version: string
  /** Of the job, that select, change or place records. */
  settings: readonly string[]
}

/** Pure. Undefined where any version may continue what another has begun. */
export function bindProgram(
  { filter, rewrite, repartition, timeWindow, offsetHeaders }: RestoreOptions,
  version: string,
): BoundProgram | undefined {
  const settings = [
    ...(filter ? ['restore.filter'] : []),
    ...(rewrite?.writes ? ['enterprise.schema_registry.restore.rewrite_ids'] : []),
    ...(repartition === 'by_key' ? ['restore.repartition: by_key'] : []),
    ...(hasBound(timeWindow) ? ['a time window'] : []),
    ...(offsetHeaders ? ['restore.offset_headers'] : []),
  ]
  return settings.length === 0 ? undefined : { version, settings }
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
  const { filter } = plan
  const place = { topic: topic.source.name, label: topic.label, partition }
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
    ...(filter && { selects: record => filter.selects(record, place) }),
    ...(rewrite && { ids: new IdRewriter(rewrite, name) }),
    ...(options.offsetHeaders && { edit: offsetHeaders(origin) }),
  }
}

/** Adds to each record where it came from, as plain text. */
export function offsetHeaders(origin: { topic: string; partition: number; cluster: string | null }): EditRecord {
  const fixed: [string, Buffer][] = [
    ['x-original-topic', Buffer.from(origin.topic)],
    ['x-original-partition', Buffer.from(String(origin.partition))],
  ]
  const cluster = Buffer.from(origin.cluster ?? '')
  return ({ offset, timestamp }) => ({
    addHeaders: [
      ...fixed,
      ['x-original-offset', Buffer.from(String(offset))],
      ['x-original-timestamp', Buffer.from(String(timestamp))],
      ['x-source-cluster', cluster],
    ],
  })
}

/** A record with the place that it had at the source. */
interface ArchivedRecord extends KafkaRecord {
  sourcePartition: number
}

/** Nothing is sent, so no broker limits it, nothing need be packed, and only very small batches are worth merging. */
const LIMITS = { maxBytes: 2 ** 31 - 1, batchBytes: 64 << 10, codec: 'none' as const }

/** The batches that a restore of this stream sends, from the first to the last. */
export function openOutgoing(
  options: RestoreOptions,
  planned: PlannedPlace,
  backup: BackupReader,
  signal: AbortSignal,
): AsyncGenerator<Outgoing> {
  const { stream } = planned
  const prepare = async (leg: PlannedLeg) => {
    const segments = await readSegments(backup, leg, signal)
    return outgoingOptions(options, planned, { ...leg, segments }, LIMITS)
  }
  return flatten(readLegs(backup.storage, stream, startOf(stream), prepare, signal))
}

/** Their records as they were at the source, those of one batch at a time. */
export async function* decodeOutgoing(batches: AsyncIterable<Outgoing>): AsyncGenerator<ArchivedRecord[]> {
  for await (const { bytes, runs, sourcePartition } of batches) {
    const [header] = walkBatches(bytes, 0, bytes.length)
    if (!header) continue
    const offsets = offsetsOf(runs)
    yield decodeRecords(bytes, header).map(record => ({
      ...record,
      sourcePartition,
      offset: offsets.next().value ?? record.offset,
    }))
  }
}

function* offsetsOf(runs: readonly OffsetRun[]): Generator<bigint, undefined> {
  for (const { sourceOffset, count } of runs) {
    for (let i = 0; i < count; i++) yield sourceOffset + BigInt(i)
  }
  return undefined
}
