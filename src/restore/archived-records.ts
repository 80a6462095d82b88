import { decodeRecords, type KafkaRecord } from '../batch/records.ts'
import { walkBatches } from '../batch/walk.ts'
import type { Storage } from '../storage/storage.ts'
import type { RestoreOptions } from './options.ts'
import { type OffsetRun, type Outgoing, readOutgoing } from './outgoing.ts'
import { outgoingOptions, readSegments } from './outgoing-options.ts'
import type { PlannedStream, PlannedTopic, RestorePlan } from './plan.ts'

/** Nothing is sent, so no broker limits it, and only very small batches are worth merging. */
const LIMITS = { maxBytes: 2 ** 31 - 1, batchBytes: 64 << 10 }

/** The batches that a restore of this stream sends, from the first to the last. */
export async function openOutgoing(
  options: RestoreOptions,
  planned: { plan: RestorePlan; topic: PlannedTopic; stream: PlannedStream },
  storage: Storage,
  signal: AbortSignal,
): Promise<AsyncGenerator<Outgoing>> {
  const segments = await readSegments(storage, planned.stream, signal)
  return readOutgoing(storage, outgoingOptions(options, planned, segments, LIMITS), signal)
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
