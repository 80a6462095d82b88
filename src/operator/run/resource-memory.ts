import { backoffMs } from '../../lib/retry.ts'
import type { Resource } from '../crd/resource.ts'
import type { EndedRun, ResourceStatus, RunProgress } from '../crd/status.ts'
import type { JobState } from '../job/job-state.ts'
import type { Job } from '../job/kube-job.ts'
import type { KubeEvent } from '../kube/event-recorder.ts'
import type { SecretCheck, Situation } from '../plan/plan.ts'
import type { RunMeter } from './run-meter.ts'

/**
 * What this process knows of a resource beyond its caches. They lag behind what it wrote itself: until they show a Job
 * or a status, it is here. Kept while it leads, and never needed by the next leader.
 */
export interface ResourceMemory {
  uid: string
  /** Created Jobs that are not in the cache yet, by name. */
  created: Map<string, { job: Job; sinceMs: number }>
  /** Names of Jobs whose creation failed without a refusal: the API server may have them. */
  unsureJobs: Set<string>
  /** Jobs that were there, by uid, until they are gone together with their pods and ConfigMap. */
  seen: Map<string, SeenJob>
  /** Names of Jobs that the API server was asked for and did not have. */
  missing: Set<string>
  /** Uids of removed Jobs, and when, until no cache can show them any more. */
  removed: Map<string, number>
  /** The status as it was sent, and what the server made of it; `isSeen` once the cache shows it. */
  written: { sent: ResourceStatus; resource: Resource; sinceMs: number; isSeen: boolean } | undefined
  /** A status write without a response: the status that it replaces, and what is reported once it succeeded. */
  unsure: { before: ResourceStatus; ended: EndedRun[]; events: KubeEvent[] } | undefined
  /** The API server rejected a Job. No retry before this time, unless the spec changes. */
  refusal: { generation: number; problem: Problem; untilMs: number; times: number } | undefined
  /** The same for the Job of a drill, which must not block backups. */
  drillRefusal: ResourceMemory['refusal']
  /** Found while the resource waited for its finalizer; it never becomes false again. */
  isNamespaceTerminating: boolean
  /** The last check of the secrets of a spec, while no run was due. */
  secrets: { generation: number; check: SecretCheck; sinceMs: number } | undefined
  license: { isMissing: boolean; trouble?: string; sinceMs: number } | undefined
  /** Active Jobs, to poll for progress. */
  working: JobState[]
  meters: Map<string, RunMeter>
  /** The progress in the status, which is updated less often. */
  shown: { run: string; progress: RunProgress; sinceMs: number } | undefined
  /** When the last round of a continuous run ended well; `reportedRoundMs` is the same by the clock of its pod. */
  lastRoundMs: number | undefined
  reportedRoundMs: number | undefined
}

export interface SeenJob {
  name: string
  configMap: string | undefined
  /** The API server does not have it any more. */
  isGone: boolean
}

export type Problem = NonNullable<Situation['problem']>

export function newMemory(uid: string): ResourceMemory {
  return {
    uid,
    created: new Map(),
    unsureJobs: new Set(),
    seen: new Map(),
    missing: new Set(),
    removed: new Map(),
    written: undefined,
    unsure: undefined,
    refusal: undefined,
    drillRefusal: undefined,
    isNamespaceTerminating: false,
    secrets: undefined,
    license: undefined,
    working: [],
    meters: new Map(),
    shown: undefined,
    lastRoundMs: undefined,
    reportedRoundMs: undefined,
  }
}

/** The cache shows this version of the resource. */
export function noteSeen(memory: ResourceMemory, resource: Resource): void {
  const { written } = memory
  if (written?.resource.metadata.resourceVersion === resource.metadata.resourceVersion && written) written.isSeen = true
}

/**
 * The resource with the last written status, which only the operator writes, and the version of that write. Where the cache
 * lacks the spec of that version too, it is the resource as it was read: a status must not describe an older spec.
 */
export function withLatestStatus(resource: Resource, { written }: ResourceMemory): Resource {
  if (written === undefined || written.isSeen) return resource
  if ((written.resource.metadata.generation ?? 0) > (resource.metadata.generation ?? 0)) return written.resource
  const { status: _, metadata, ...rest } = resource
  const { resourceVersion } = written.resource.metadata
  const latest = { ...rest, metadata: { ...metadata, ...(resourceVersion !== undefined && { resourceVersion }) } }
  return written.resource.status === undefined ? latest : { ...latest, status: written.resource.status }
}

const refusalBackoff = { attempts: Number.POSITIVE_INFINITY, baseDelayMs: 15_000, maxDelayMs: 10 * 60_000 }

export function refusalAfter(
  before: ResourceMemory['refusal'],
  { generation, problem, nowMs, random }: { generation: number; problem: Problem; nowMs: number; random: number },
): ResourceMemory['refusal'] {
  const times = before?.generation === generation ? before.times + 1 : 1
  return { generation, problem, untilMs: nowMs + backoffMs(times, refusalBackoff, random), times }
}

/** A rejection counts for the rejected spec, for a while; also if the clock was set back since, which makes that time long. */
export function refusalAt(
  { metadata }: Resource,
  refusal: ResourceMemory['refusal'],
  nowMs: number,
): Problem | undefined {
  if (refusal === undefined || refusal.generation !== metadata.generation) return undefined
  const leftMs = refusal.untilMs - nowMs
  return leftMs > 0 && leftMs <= refusalBackoff.maxDelayMs ? refusal.problem : undefined
}

/** The newest active run: the one whose progress is shown. */
export function newestRun({ working }: ResourceMemory): string | undefined {
  return working.toSorted((one, other) => one.createdMs - other.createdMs).at(-1)?.run
}
