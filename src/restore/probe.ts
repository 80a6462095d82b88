import { KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { type Clock, formatUtc } from '../lib/clock.ts'
import { runPool } from '../lib/pool.ts'
import { formatBytes, formatDuration } from '../lib/units.ts'
import type { RegistryClient } from '../registry/client/client.ts'
import type { Storage } from '../storage/storage.ts'
import type { Rates } from './estimate.ts'
import { openPatching } from './patch-threads.ts'
import { type ProbedStream, type ProbeLimits, perSecond, probeBackup } from './probe-backup.ts'
import { probeTarget } from './probe-target.ts'
import { countActive } from './stream-memory.ts'
import type { RecordsSurvey } from './survey-records.ts'
import type { OpenStream, Workload } from './workload.ts'

/** `store` only reads; `target` also writes to a topic that it creates and deletes. */
export type ProbeScope = 'store' | 'target'

export interface ProbeParts {
  cluster: Cluster
  storage: Storage
  clock: Clock
  requestTimeoutMs: number
  /** Called with each step before it is done. */
  onStep: (message: string) => void
  /** Of the target; absent where nothing is registered. */
  registry?: RegistryClient
}

const MAX_BYTES = 64 << 20
const MIN_BYTES = 1 << 20
const MAX_MS = 5000
const REGISTRY_REQUESTS = 16
/** More would not make the sample better. */
const MAX_STREAMS = 16

/** Measures what a restore of this survey waits for. What cannot be measured is among the problems. */
export async function probeRates(
  survey: RecordsSurvey,
  work: Workload,
  scope: ProbeScope,
  parts: ProbeParts,
  signal: AbortSignal,
): Promise<Rates> {
  const { clock, storage, onStep, registry } = parts
  const rates: Rates = { source: { kind: 'probe', at: formatUtc(clock.now()) }, problems: [] }
  const attempt = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof KafkaBackupError)) throw error
      rates.problems.push(`${what} could not be measured: ${error.message}`)
      return undefined
    }
  }
  const sampled = sample(survey, work.streams)
  const limits = limitsOf(work)
  if (sampled.length > 0) {
    // Threads that rewrite IDs stay until all is measured.
    const patching = openPatching()
    try {
      onStep(`reading up to ${formatBytes(limits.maxBytes)} of the backup for up to ${formatDuration(limits.maxMs)}`)
      const read = await attempt('the store', () => probeBackup(survey, sampled, { storage, clock }, limits, signal))
      const { streams = [], ...ofBackup } = read ?? {}
      Object.assign(rates, ofBackup)
      if (scope === 'target' && streams.length > 0) {
        const onRemoved = (name: string, left: string | undefined) => {
          rates.probeTopic = { name, isDeleted: left === undefined }
          if (left === undefined) return
          rates.problems.push(left)
          // Also where the run is interrupted and has no report.
          onStep(left)
        }
        const write = () => writeSample(survey, sampled, streams, { ...parts, limits, onRemoved }, signal)
        Object.assign(rates, await attempt('the target', write))
      }
    } finally {
      patching.close()
    }
  }
  if (registry) {
    const perRequest = await attempt('the registry', () => askRegistry(registry, clock, signal))
    if (perRequest !== undefined) rates.registry = perRequest
  }
  return rates
}

/** Pure. A small restore is not measured with more than a few times its bytes. */
export function limitsOf({ bytes }: Pick<Workload, 'bytes'>): ProbeLimits {
  return { maxBytes: Math.min(MAX_BYTES, Math.max(MIN_BYTES, 4 * bytes)), maxMs: MAX_MS }
}

/** The largest ones, as many as are filled at a time. */
function sample({ options }: RecordsSurvey, streams: readonly OpenStream[]): OpenStream[] {
  const open = streams.filter(({ storeBytes }) => storeBytes > 0)
  return open.toSorted((a, b) => b.bytes - a.bytes).slice(0, Math.min(countActive(options), MAX_STREAMS))
}

type Removal = Pick<Parameters<typeof probeTarget>[2], 'onRemoved'>

function writeSample(
  { options }: RecordsSurvey,
  [largest]: readonly OpenStream[],
  streams: readonly ProbedStream[],
  { cluster, clock, requestTimeoutMs, onStep, limits, onRemoved }: ProbeParts & Removal & { limits: ProbeLimits },
  signal: AbortSignal,
): ReturnType<typeof probeTarget> {
  if (!largest) throw new KafkaBackupError('INTERNAL', 'there is nothing to write')
  const { connectionsPerBroker } = options
  const onBegin = ({ topic, partitions }: { topic: string; partitions: number }) =>
    onStep(
      `creating topic ${topic} with ${partitions} partitions on the target, writing up to ${formatBytes(limits.maxBytes)} to it for up to ` +
        `${formatDuration(limits.maxMs)}, and deleting it`,
    )
  const parts = { cluster, clock, requestTimeoutMs, connectionsPerBroker, onBegin, onRemoved }
  return probeTarget(largest.topic, streams, parts, limits, signal)
}

/** Small requests that change nothing, as many at a time as the job allows. */
async function askRegistry(registry: RegistryClient, clock: Clock, signal: AbortSignal): Promise<number> {
  const startedAt = clock.monotonic()
  const requests = Array.from({ length: REGISTRY_REQUESTS }, () => '/config')
  await runPool(requests, REGISTRY_REQUESTS, path => registry.find({ path }, signal))
  return perSecond(REGISTRY_REQUESTS, clock.monotonic() - startedAt)
}
