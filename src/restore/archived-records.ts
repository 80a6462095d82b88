import { decodeRecords, type KafkaRecord } from '../batch/records.ts'
import { walkBatches } from '../batch/walk.ts'
import type { Storage } from '../storage/storage.ts'
import { outgoingOptions } from './open-streams.ts'
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
  const limits = { options: { ...options, batchBytes: BATCH_BYTES }, maxBytes: MAX_BATCH_BYTES, storage }
  const outgoing = await outgoingOptions(plan, topic, stream, limits, signal)
  return readOutgoing(storage, { ...outgoing, start: stream.start }, signal)
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
