import { decodeRecords, type KafkaRecord } from '../batch/records.ts'
import { walkBatches } from '../batch/walk.ts'
import { startOf } from './legs.ts'
import type { RestoreOptions } from './options.ts'
import type { OffsetRun, Outgoing } from './outgoing.ts'
import { type BackupReader, outgoingOptions, type PlannedPlace, readLegs, readSegments } from './outgoing-options.ts'

/** A record with the place that it had at the source. */
export interface ArchivedRecord extends KafkaRecord {
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
  return readLegs(
    backup.storage,
    stream,
    startOf(stream),
    async leg => {
      const segments = await readSegments(backup, leg, signal)
      return outgoingOptions(options, planned, { ...leg, segments }, LIMITS)
    },
    signal,
  )
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
