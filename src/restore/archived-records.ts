import { readIndex } from '../archive/catalog.ts'
import { decodeRecords, type KafkaRecord } from '../batch/records.ts'
import { walkBatches } from '../batch/walk.ts'
import type { Storage } from '../storage/storage.ts'
import { offsetHeaders } from './offset-headers.ts'
import type { RestoreOptions } from './options.ts'
import { type OffsetRun, type Outgoing, readOutgoing } from './outgoing.ts'
import type { PlannedStream, PlannedTopic, RestorePlan } from './plan.ts'

/** Nothing is sent, so no broker limits it. */
const MAX_BATCH_BYTES = 2 ** 31 - 1
/** Only very small batches are worth merging when they are not sent. */
const BATCH_BYTES = 64 << 10

/** The batches that a restore of this stream sends, from the first to the last. */
export async function openOutgoing(
  options: RestoreOptions,
  { plan, topic, stream }: { plan: RestorePlan; topic: PlannedTopic; stream: PlannedStream },
  storage: Storage,
  signal: AbortSignal,
): Promise<AsyncGenerator<Outgoing>> {
  const { source, start, end } = stream
  const indexes = await Promise.all(source.indexes.map(ref => readIndex(storage, ref, signal)))
  const origin = { topic: topic.source.name, partition: source.partition, cluster: plan.sourceCluster }
  const outgoing = {
    name: `${topic.source.name}/${source.partition}`,
    segments: indexes.flatMap(index => index.segments),
    openAborted: source.open_aborted,
    start,
    end,
    timeWindow: options.timeWindow,
    maxBytes: MAX_BATCH_BYTES,
    batchBytes: BATCH_BYTES,
    ...(options.offsetHeaders && { edit: offsetHeaders(origin) }),
  }
  return readOutgoing(storage, outgoing, signal)
}

/** Their records with the offsets that they had at the source, those of one batch at a time. */
export async function* decodeOutgoing(batches: AsyncIterable<Outgoing>): AsyncGenerator<KafkaRecord[]> {
  for await (const { bytes, runs } of batches) {
    const [header] = walkBatches(bytes, 0, bytes.length)
    if (!header) continue
    const offsets = offsetsOf(runs)
    yield decodeRecords(bytes, header).map(record => ({ ...record, offset: offsets.next().value ?? record.offset }))
  }
}

function* offsetsOf(runs: readonly OffsetRun[]): Generator<bigint, undefined> {
  for (const { sourceOffset, count } of runs) {
    for (let i = 0; i < count; i++) yield sourceOffset + BigInt(i)
  }
  return undefined
}
