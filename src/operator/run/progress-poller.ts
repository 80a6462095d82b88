import { get } from 'node:http'
import { startTimeLimit } from '../../lib/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import { onUnanswered } from '../../lib/http.ts'
import { runPool } from '../../lib/pool.ts'
import type { Controller, Resource } from '../crd/resource.ts'
import { jobPort } from '../job/job-pod.ts'
import type { JobState } from '../job/job-state.ts'
import type { OperatorObserver } from '../metrics/observer.ts'
import type { ObjectKey } from '../watch/store.ts'
import type { FetchProgress } from './operator-options.ts'
import { newestRun, type ResourceMemory } from './resource-memory.ts'
import { type PodProgress, parseProgress, RunMeter } from './run-meter.ts'

interface PollerParts {
  clock: Clock
  observer: OperatorObserver
  fetchProgress: FetchProgress
  intervalMs: number
  /** Resources with what is remembered of them. */
  watched: () => Iterable<Watched>
  /** Requests an update of the status. */
  onShown: (watched: Watched) => void
  onTurn: () => void
}

export interface Watched {
  controller: Controller
  key: ObjectKey
  resource: Resource
  memory: ResourceMemory
}

/** Limits how often progress updates the status. */
const SHOW_MS = 15_000
const PODS_AT_ONCE = 16

/** Polls the progress of running pods until the signal. A pod that does not answer is not a failure. */
export async function pollProgress(parts: PollerParts, signal: AbortSignal): Promise<void> {
  const { clock, intervalMs, watched, onTurn } = parts
  while (!signal.aborted) {
    onTurn()
    const runs = [...watched()].flatMap(one => runningOf(one).map(job => ({ ...one, job })))
    await runPool(runs, PODS_AT_ONCE, run => pollRun(run, parts, signal))
    await clock.sleep(intervalMs, signal).catch(() => undefined)
  }
}

/** Jobs whose pods serve `/progress`. */
function runningOf({ controller, memory }: Watched): JobState[] {
  const isServed = controller === 'backup' || controller === 'restore'
  return isServed ? memory.working.filter(({ purpose, running }) => purpose !== 'delete' && running.length > 0) : []
}

async function pollRun(
  { job, ...watched }: Watched & { job: JobState },
  parts: PollerParts,
  signal: AbortSignal,
): Promise<void> {
  const { controller, resource, memory } = watched
  const answers = await askPods(job, parts, signal)
  if (signal.aborted || answers.size === 0) return
  const meter = memory.meters.get(job.run) ?? new RunMeter()
  memory.meters.set(job.run, meter)
  const progress = meter.add(answers)
  if (job.purpose === 'main') parts.observer.progressed(controller, resource, job.run, progress)
  if (job.purpose === 'main') noteRound(memory, answers, parts.clock.now())
  const nowMs = parts.clock.monotonic()
  const { run } = job
  if (run !== newestRun(memory)) return
  if (memory.shown?.run === run && nowMs - memory.shown.sinceMs < SHOW_MS) return
  memory.shown = { run, progress, sinceMs: nowMs }
  parts.onShown(watched)
}

/**
 * The pod's clock may be ahead: a round counts no later than when it is first reported, or it would look new for as long as its
 * time is in the future.
 */
function noteRound(memory: ResourceMemory, answers: ReadonlyMap<string, PodProgress>, nowMs: number): void {
  const rounds = [...answers.values()].flatMap(({ lastRoundMs }) => lastRoundMs ?? [])
  const reportedMs = Math.max(...rounds)
  if (rounds.length === 0 || reportedMs === memory.reportedRoundMs) return
  memory.reportedRoundMs = reportedMs
  memory.lastRoundMs = Math.min(reportedMs, nowMs)
}

async function askPods(
  { running }: JobState,
  { fetchProgress }: PollerParts,
  signal: AbortSignal,
): Promise<Map<string, PodProgress>> {
  const answers = new Map<string, PodProgress>()
  const each = running.map(async ({ pod, ip }) => {
    const text = await fetchProgress(ip, signal).catch(() => '')
    const progress = parseProgress(text)
    if (progress !== undefined) answers.set(pod, progress)
  })
  await Promise.all(each)
  return answers
}

const TIMEOUT_MS = 2000
const MAX_BYTES = 64 * 1024

/** Opens a new connection for each request: the pod may be another one the next time. */
export function openFetchProgress(clock: Clock, port = jobPort): FetchProgress {
  return async (ip, signal) => {
    const limit = startTimeLimit(TIMEOUT_MS, clock, signal)
    try {
      return await fetchText(ip, port, limit.signal)
    } catch (error) {
      throw limit.reasonOf(error)
    } finally {
      limit.end()
    }
  }
}

function fetchText(host: string, port: number, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = get({ host, port, path: '/progress', signal, agent: false }, response => {
      if (response.statusCode !== 200) {
        response.destroy()
        reject(new Error(`the pod at ${host} answered ${response.statusCode}`))
        return
      }
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        chunks.push(chunk)
        if (bytes > MAX_BYTES)
          response.destroy(new Error(`the pod at ${host} answered with more than ${MAX_BYTES} bytes`))
      })
      response.once('error', reject)
      response.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
    })
    asked.once('error', reject)
    onUnanswered(asked, reject)
  })
}
