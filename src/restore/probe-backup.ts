import type { Segment } from '../archive/manifest.ts'
import { readSegment } from '../archive/segment-reader.ts'
import type { Clock } from '../lib/clock.ts'
import { runPool } from '../lib/pool.ts'
import { readAhead } from '../lib/read-ahead.ts'
import { keepMemory } from '../lib/recycled-memory.ts'
import type { Storage } from '../storage/storage.ts'
import { readOutgoing } from './outgoing.ts'
import type { Outgoing } from './outgoing-batch.ts'
import { outgoingOptions } from './outgoing-options.ts'
import type { PlannedLeg } from './plan.ts'
import type { RecordsSurvey } from './survey-records.ts'
import { type OpenStream, readOpenSegments } from './workload.ts'

export interface ProbeLimits {
  maxBytes: number
  maxMs: number
}

interface BackupProbe {
  /** Stored bytes a second; undefined where there is nothing to read. */
  storeRead?: number
  prepare?: number
  /** The partitions of which something was read that would be sent. */
  streams: ProbedStream[]
}

/** What was read of one partition. */
export interface ProbedStream {
  /** Batches that would be sent, ready in memory. */
  batches: readonly Outgoing[]
  /** The same batches, prepared again. */
  open: () => AsyncGenerator<Outgoing>
}

interface ProbeParts {
  storage: Storage
  clock: Clock
}

/** What the topics of the target take is not asked: the topic of the probe takes all of it. */
const MAX_BATCH_BYTES = 2 ** 31 - 1
/** Of the batches so much is kept, to be written to the target. */
const KEPT_BYTES = 32 << 20

/**
 * Reads the beginning of what is left of the largest partitions, as many at a time as the restore does, within these limits.
 * Then it prepares what was read for the target a second time, from memory: so much of the time is not the store's.
 */
export async function probeBackup(
  { options, plan, segments }: Pick<RecordsSurvey, 'options' | 'plan' | 'segments'>,
  open: readonly OpenStream[],
  { storage, clock }: ProbeParts,
  limits: ProbeLimits,
  signal: AbortSignal,
): Promise<BackupProbe> {
  const streams = await runPool(open, Math.max(1, open.length), async one => ({
    ...one,
    parts: await readOpenSegments(one, { storage, segments }, signal),
  }))
  const recorder = new RangeRecorder(storage)
  const startedAt = clock.monotonic()
  const mayContinue = () => recorder.bytes < limits.maxBytes && clock.monotonic() - startedAt < limits.maxMs
  await runPool(streams, Math.max(1, streams.length), stream => readSome(stream, recorder, mayContinue, signal))
  const readMs = clock.monotonic() - startedAt
  const sources = streams.map(one => () => prepareAgain({ options, plan }, one, recorder, signal))
  const prepareAll = () => prepareSources(sources)
  const first = await timed(prepareAll, clock)
  // The first time, code is compiled and threads start, which a restore does once.
  const { value, ms } = first.ms < limits.maxMs / 2 ? await timed(prepareAll, clock) : first
  const { bytes } = recorder
  const rates = bytes > 0 && { storeRead: perSecond(bytes, readMs), prepare: perSecond(bytes, ms) }
  return { ...rates, streams: value.filter(({ batches }) => batches.length > 0) }
}

async function timed<T>(work: () => Promise<T>, clock: Clock): Promise<{ value: T; ms: number }> {
  const startedAt = clock.monotonic()
  const value = await work()
  return { value, ms: clock.monotonic() - startedAt }
}

function prepareSources(sources: readonly ProbedStream['open'][]): Promise<ProbedStream[]> {
  const room = { bytes: KEPT_BYTES }
  return runPool(sources, Math.max(1, sources.length), async open => {
    const batches: Outgoing[] = []
    for await (const batch of open()) {
      if (room.bytes < batch.bytes.length) continue
      room.bytes -= batch.bytes.length
      batches.push({ ...batch, bytes: Buffer.from(batch.bytes) })
    }
    return { batches, open }
  })
}

/** Pure. At least a tenth of a millisecond: a clock may not have moved. */
export function perSecond(bytes: number, ms: number): number {
  return bytes / (Math.max(ms, 0.1) / 1000)
}

interface SampledSegment {
  leg: PlannedLeg
  segment: Segment
}

interface SampledStream extends OpenStream {
  parts: Awaited<ReturnType<typeof readOpenSegments>>
}

function* segmentsOf({ parts }: SampledStream): Generator<SampledSegment> {
  for (const { leg, segments } of parts) for (const segment of segments) yield { leg, segment }
}

async function readSome(
  stream: SampledStream,
  recorder: RangeRecorder,
  mayContinue: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  for (const { segment } of segmentsOf(stream)) {
    if (!mayContinue()) return
    for await (const _ of readAhead(readSegment(recorder, segment, signal))) if (!mayContinue()) return
  }
}

/** Up to the end of what was read. */
async function* prepareAgain(
  { options, plan }: Pick<RecordsSurvey, 'options' | 'plan'>,
  stream: SampledStream,
  recorder: RangeRecorder,
  signal: AbortSignal,
): AsyncGenerator<Outgoing> {
  const limits = { maxBytes: MAX_BATCH_BYTES, batchBytes: options.batchBytes }
  try {
    for (const { leg, segment } of segmentsOf(stream)) {
      const outgoing = outgoingOptions(options, { plan, ...stream }, { ...leg, segments: [segment] }, limits)
      yield* readOutgoing(recorder.replay(), outgoing, signal)
    }
  } catch (error) {
    if (!(error instanceof NotRead)) throw error
  }
}

/** The probe ends here. */
class NotRead extends Error {}

type RangeReader = Pick<Storage, 'readRange'>

/** Keeps what is read of a store, to read it again without the store. */
class RangeRecorder implements RangeReader {
  bytes = 0
  readonly #storage: Storage
  readonly #ranges = new Map<string, Buffer>()

  constructor(storage: Storage) {
    this.#storage = storage
  }

  async readRange(key: string, start: number, length: number, signal: AbortSignal): Promise<Buffer> {
    // The reader gives back what it has unpacked.
    const bytes = keepMemory(await this.#storage.readRange(key, start, length, signal))
    this.bytes += bytes.length
    this.#ranges.set(`${key} ${start} ${length}`, bytes)
    return bytes
  }

  replay(): Storage {
    const readRange: Storage['readRange'] = async (key, start, length) => {
      const known = this.#ranges.get(`${key} ${start} ${length}`)
      if (!known) throw new NotRead(key)
      // A copy: the header of a batch changes when it is sent.
      return Buffer.from(known)
    }
    // Nothing else is asked of it by what reads segments.
    return { ...this.#storage, readRange }
  }
}
