import type { AnyController, Resource } from '../crd/resource.ts'
import type { JobState } from '../job/job-state.ts'
import type { Job } from '../job/kube-job.ts'
import type { AnySituation, Situation } from '../plan/plan.ts'
import type { ClusterView } from './cluster-view.ts'
import { deletedJobs, knownJobs } from './known-jobs.ts'
import { findExclusion } from './offset-exclusion.ts'
import type { Planner } from './planner.ts'
import { planDrillPod, planMainPod, problemOf } from './prepare-starts.ts'
import { areReferencesFound, findReferred, referencesOf, usersOf } from './referred-objects.ts'
import { newestRun, type ResourceMemory, refusalAt, withLatestStatus } from './resource-memory.ts'

interface ObserveParts {
  controller: AnyController
  apiGroup: string
  view: ClusterView
  planner: Planner
  nowMs: number
}

/** The situation of a resource, from the caches and from memory where they lag. */
export function observeResource(stored: Resource, memory: ResourceMemory, parts: ObserveParts): AnySituation {
  const { controller, apiGroup, view, nowMs } = parts
  const resource = withLatestStatus(stored, memory)
  const jobs = [
    ...knownJobs(memory, view).map(job => readState(job, memory, parts)),
    ...deletedJobs(resource, view.kinds[controller], memory, view).map(({ job, pods }) =>
      parts.planner.readJobState(job, pods, nowMs),
    ),
  ]
  memory.working = jobs.filter(({ end, purpose }) => end === undefined && purpose !== 'drill')
  forgetMeters(memory, resource, jobs)
  const referred = findReferred(resource, view)
  const situation = {
    resource,
    apiGroup,
    jobs,
    ...secretsOf(resource, memory),
    isLicenseMissing: memory.license?.isMissing ?? false,
    licenseTrouble: memory.license?.trouble,
    problem: refusalAt(resource, memory.refusal, nowMs) ?? specProblem(resource, referred, parts),
    drillProblem: refusalAt(resource, memory.drillRefusal, nowMs) ?? drillSpecProblem(resource, referred, parts),
    progress: memory.shown?.run === newestRun(memory) ? memory.shown?.progress : undefined,
    lastRoundMs: memory.lastRoundMs,
    ...findExclusion(resource, parts),
    ...referred,
    ...(memory.isNamespaceTerminating && { isNamespaceTerminating: true }),
    nowMs,
  }
  if (controller !== 'storage') return { ...situation, controller }
  const users = usersOf(resource, view.resources).map(user => user.resource)
  const isInUse = users.some(({ status }) => (status?.active ?? []).length > 0)
  return { ...situation, controller, users: users.length, isInUse }
}

function readState(job: Job, memory: ResourceMemory, { planner, view, nowMs }: ObserveParts): JobState {
  const uid = job.metadata.uid ?? ''
  const state = planner.readJobState(job, view.pods.ownedBy(uid), nowMs)
  return memory.removed.has(uid) ? { ...state, isBeingDeleted: true } : state
}

/** What the last check of this spec found; a plan that starts a run checks again. */
function secretsOf({ metadata }: Resource, { secrets }: ResourceMemory) {
  const check = secrets?.generation === metadata.generation ? secrets?.check : undefined
  return {
    missingSecrets: check?.missing ?? [],
    secretsTrouble: check?.trouble,
    isSecretsChecked: check !== undefined,
  }
}

/** An invalid spec is reported immediately, not only when the schedule is due. */
function specProblem(
  resource: Resource,
  referred: Pick<Situation, 'storage' | 'cluster'>,
  { controller, planner }: ObserveParts,
): Situation['problem'] {
  const { schedule, backup } = resource.spec
  const isOngoing = controller === 'backup' && (schedule !== undefined || backup?.continuous === true)
  if (!(isOngoing || controller === 'storage') || !areReferencesFound(referred)) return undefined
  return problemOf(() => planMainPod(controller, resource, referencesOf(referred), planner))
}

function drillSpecProblem(
  resource: Resource,
  { storage }: Pick<Situation, 'storage'>,
  { controller, planner }: ObserveParts,
): Situation['problem'] {
  if (controller !== 'backup' || resource.spec.drill === undefined || !areReferencesFound({ storage })) return undefined
  return problemOf(() => planDrillPod(resource, referencesOf({ storage }), planner))
}

/** A run keeps its meter until it ends: its next Job and retried pods continue from there. */
function forgetMeters(memory: ResourceMemory, { status }: Resource, jobs: readonly JobState[]): void {
  const ended = new Set(status?.history?.map(({ run }) => run))
  const going = new Set(jobs.map(({ run }) => run).filter(run => !ended.has(run)))
  for (const run of [...memory.meters.keys()]) if (!going.has(run)) memory.meters.delete(run)
  if (memory.meters.size === 0) memory.shown = undefined
}
