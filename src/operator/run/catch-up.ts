import { hasCode } from '../../errors.ts'
import type { Resource } from '../crd/resource.ts'
import type { SecretUse } from '../job/job-pod.ts'
import { type Job, jobKind } from '../job/kube-job.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import type { ObjectRef, ResourceKind } from '../kube/object.ts'
import type { SecretCheck } from '../plan/plan.ts'
import type { Store } from '../watch/store.ts'
import { knownJobs } from './known-jobs.ts'
import { isNamespaceTerminating } from './namespace.ts'
import type { Planner } from './planner.ts'
import { checkSecrets, isSecretMissing, planMainPod, problemOf } from './prepare-starts.ts'
import { areReferencesFound, findReferred, type ReferredStores, referencesOf } from './referred-objects.ts'
import { noteSeen, type ResourceMemory, type SeenJob, withLatestStatus } from './resource-memory.ts'

/** After this lag the API server is asked. */
const MAX_LAG_MS = 10_000
const LICENSE_MS = 60_000
/** The API server may allow a denied check later. */
const DENIED_MS = 60_000
/** A little less than the plan waits before it asks again. */
const MISSING_MS = 10_000
/** A cache does not lag for this long: it is listed again more often. */
const REMOVED_MS = 60 * 60_000

interface CatchUpParts {
  api: KubeApi
  jobs: Store<Job>
  kind: ResourceKind<Resource>
  view: ReferredStores
  planner: Planner
  nowMs: number
}

/**
 * Asks the API server where cache and memory do not agree for a while: whether a Job that was made is still there, what
 * became of a status, and where a Job is that the status calls active. Usually it asks for nothing.
 */
export async function catchUp(
  stored: Resource,
  memory: ResourceMemory,
  parts: CatchUpParts,
  signal: AbortSignal,
): Promise<void> {
  const { api, jobs, kind, nowMs } = parts
  const { namespace, name, uid } = stored.metadata
  noteSeen(memory, stored)
  const seen = new Set(jobs.ownedBy(uid ?? '').map(job => job.metadata.uid))
  for (const [removed, sinceMs] of memory.removed) {
    if (!seen.has(removed) && nowMs - sinceMs > REMOVED_MS) memory.removed.delete(removed)
  }
  for (const [jobName, { job, sinceMs }] of memory.created) {
    if (seen.has(job.metadata.uid)) memory.created.delete(jobName)
    else if (nowMs - sinceMs > MAX_LAG_MS) await askForJob({ namespace, name: jobName }, memory, parts, signal)
  }
  // The next plan may not start it again: another run may have become due, which must not run next to it.
  for (const jobName of memory.unsureJobs) {
    const isKnown = knownJobs(memory, parts).some(job => nameOf(job) === jobName)
    if (!isKnown) await askForJob({ namespace, name: jobName }, memory, parts, signal)
    memory.unsureJobs.delete(jobName)
  }
  for (const [jobUid, job] of memory.seen) await lookForSeen(jobUid, job, stored, memory, parts, signal)
  const { written } = memory
  if (written && !written.isSeen && nowMs - written.sinceMs > MAX_LAG_MS) {
    noteRead(memory, await api.get(kind, { namespace, name }, signal), stored, nowMs)
  }
  await askForActive(withLatestStatus(stored, memory), memory, parts, signal)
  memory.isNamespaceTerminating ||= await isNamespaceTerminating(api, kind, stored, signal)
  await lookForSecrets(stored, memory, parts, signal)
  await lookForLicense(stored, memory, parts, signal)
}

/** A run must not end, nor the next one start, only because the caches lack a Job that the status names. */
export async function askForActive(
  { metadata, status }: Resource,
  memory: ResourceMemory,
  parts: CatchUpParts,
  signal: AbortSignal,
): Promise<void> {
  const known = new Set(knownJobs(memory, parts).map(nameOf))
  for (const { job } of status?.active ?? []) {
    if (!known.has(job)) await askForJob({ namespace: metadata.namespace, name: job }, memory, parts, signal)
  }
}

/** A cache may miss a Job for a while. What belonged to it is removed only if the API server does not have it. */
async function lookForSeen(
  uid: string,
  job: SeenJob,
  { metadata }: Resource,
  memory: ResourceMemory,
  parts: CatchUpParts,
  signal: AbortSignal,
): Promise<void> {
  const isKnown = knownJobs(memory, parts).some(known => known.metadata.uid === uid)
  if (isKnown || job.isGone) return
  if (!memory.removed.has(uid)) {
    await askForJob({ namespace: metadata.namespace, name: job.name }, memory, parts, signal)
  }
  job.isGone = memory.created.get(job.name)?.job.metadata.uid !== uid
}

/** Remembers the resource as the API server has it, before the cache shows it. */
export function noteRead(memory: ResourceMemory, read: Resource, stored: Resource, nowMs: number): void {
  const isSeen = read.metadata.resourceVersion === stored.metadata.resourceVersion
  memory.written = { sent: read.status ?? {}, resource: read, sinceMs: nowMs, isSeen }
}

async function askForJob(
  ref: ObjectRef,
  memory: ResourceMemory,
  { api, nowMs }: CatchUpParts,
  signal: AbortSignal,
): Promise<void> {
  memory.created.delete(ref.name)
  memory.missing.delete(ref.name)
  try {
    const job = await api.get(jobKind, ref, signal)
    const isOwned = (job.metadata.ownerReferences ?? []).some(({ uid }) => uid === memory.uid)
    if (isOwned) memory.created.set(ref.name, { job, sinceMs: nowMs })
  } catch (error) {
    if (!hasCode(error, 'KUBE_NOT_FOUND')) throw error
    memory.missing.add(ref.name)
  }
}

/** A schedule is accepted only with its secrets, so a missing one is reported before the night. */
async function lookForSecrets(
  stored: Resource,
  memory: ResourceMemory,
  { api, kind, view, planner, nowMs }: CatchUpParts,
  signal: AbortSignal,
): Promise<void> {
  const { metadata, spec } = stored
  const { generation = 0, namespace, deletionTimestamp } = metadata
  const { secrets } = memory
  const isSettled = secrets !== undefined && nowMs - secrets.sinceMs < validMs(secrets.check)
  const isScheduled = kind.kind === 'KafkaBackup' && spec.schedule !== undefined && spec.backup?.continuous !== true
  if (!isScheduled || deletionTimestamp !== undefined || (secrets?.generation === generation && isSettled)) return
  const referred = findReferred(stored, view)
  let uses: readonly SecretUse[] = []
  const problem = problemOf(() => {
    uses = planMainPod('backup', stored, referencesOf(referred), planner).secrets
  })
  if (problem !== undefined || !areReferencesFound(referred)) return
  const check = await checkSecrets(api, namespace, uses, signal)
  memory.secrets = { generation, check, sinceMs: nowMs }
}

/** Secrets that were found are checked again when a run starts. */
function validMs({ missing, trouble }: SecretCheck): number {
  if (missing.length > 0) return MISSING_MS
  return trouble === undefined ? Number.POSITIVE_INFINITY : DENIED_MS
}

async function lookForLicense(
  { metadata, spec }: Resource,
  memory: ResourceMemory,
  { api, nowMs }: CatchUpParts,
  signal: AbortSignal,
): Promise<void> {
  const secret = spec.enterprise?.licenseSecret?.name
  const { license } = memory
  if (secret === undefined || (license && nowMs - license.sinceMs < LICENSE_MS)) return
  try {
    const isMissing = await isSecretMissing(api, { namespace: metadata.namespace, name: secret }, signal)
    memory.license = { isMissing, sinceMs: nowMs }
  } catch (error) {
    if (!hasCode(error, 'KUBE_DENIED', 'KUBE_INVALID')) throw error
    // No feature needs a license: report it and continue.
    memory.license = { isMissing: false, trouble: `${error.message}.`, sinceMs: nowMs }
  }
}

function nameOf({ metadata }: Job): string {
  return metadata.name
}
