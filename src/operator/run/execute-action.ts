import type { Clock } from '../../lib/clock.ts'
import type { Resource } from '../crd/resource.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import type { ResourceKind } from '../kube/object.ts'
import { finalizerName } from '../plan/facts.ts'
import type { Action, AnySituation, Plan } from '../plan/plan.ts'
import { JobRefused, removeConfigMap, removeJob, startJob, stopJob } from './change-jobs.ts'
import type { ClusterView } from './cluster-view.ts'
import { addFinalizer, removeFinalizer } from './finalizer.ts'
import { deletedJobs, knownJobs } from './known-jobs.ts'
import { claimStart } from './offset-exclusion.ts'
import type { Planner, StartAction, StepObjects } from './planner.ts'
import type { ResourceMemory } from './resource-memory.ts'
import { noteFinalizers, StatusOutdated } from './write-status.ts'

interface ActionParts {
  api: KubeApi
  clock: Clock
  planner: Planner
  view: ClusterView
  kind: ResourceKind<Resource>
  memory: ResourceMemory
  situation: AnySituation
  /** Of the steps that the plan starts. */
  objects: ReadonlyMap<StartAction, StepObjects>
}

/** Marks a reset or a rollback as starting. Throws StatusOutdated if another run of the same groups has started since the plan was made. */
export function claimStarts(plan: Plan, situation: AnySituation, memory: ResourceMemory, view: ClusterView): void {
  const isStarting = plan.actions.some(({ type }) => type === 'start')
  if (!isStarting) forgetStart(memory, view)
  else if (!claimStart(situation, view)) {
    throw new StatusOutdated(new Error('another run of the same groups has started'))
  }
}

/** Once its Job is in the cache, or if there is none. */
export function forgetStart({ uid, created }: ResourceMemory, { starting }: ClusterView): void {
  if (created.size === 0) starting.delete(uid)
}

/** Does one thing of a plan. What it changes is remembered, as the caches show it later. */
export async function executeAction(action: Action, parts: ActionParts, signal: AbortSignal): Promise<void> {
  const { api, kind, situation } = parts
  const { resource, apiGroup } = situation
  signal.throwIfAborted()
  switch (action.type) {
    case 'start':
      return start(action, parts, signal)
    case 'remove-job':
      return remove(action, parts, signal)
    case 'stop-job':
      return stopJob(api, { namespace: resource.metadata.namespace, name: action.name }, action.uid, signal)
    case 'add-finalizer':
      return noteChange(await addFinalizer(api, kind, resource, finalizerName(apiGroup), signal), parts)
    case 'remove-finalizer':
      return noteChange(await removeFinalizer(api, kind, resource, finalizerName(apiGroup), signal), parts)
  }
}

function noteChange(changed: Resource, { memory, situation, clock }: ActionParts): void {
  noteFinalizers(changed, situation.resource, memory, clock.monotonic())
}

async function start(action: StartAction, parts: ActionParts, signal: AbortSignal): Promise<void> {
  const { api, clock, memory } = parts
  const objects = parts.objects.get(action)
  if (objects === undefined) throw new Error(`the run ${action.run} was planned without what it needs`)
  const { name } = objects.job.metadata
  const job = await startJob(api, objects, memory.uid, signal).catch(error => {
    if (!(error instanceof JobRefused)) memory.unsureJobs.add(name)
    throw error
  })
  memory.created.set(name, { job, sinceMs: clock.monotonic() })
  if (action.step.purpose === 'drill') memory.drillRefusal = undefined
  else memory.refusal = undefined
}

async function remove(
  { name, uid }: Extract<Action, { type: 'remove-job' }>,
  { api, planner, clock, view, memory, situation }: ActionParts,
  signal: AbortSignal,
): Promise<void> {
  const jobs = knownJobs(memory, view)
  const job = jobs.find(({ metadata }) => metadata.uid === uid)
  if (job === undefined || memory.removed.has(uid)) return
  const isOver = situation.jobs.some(state => state.uid === uid && state.end !== undefined && !state.end.isStillTrying)
  const others = jobs.filter(({ metadata }) => metadata.uid !== uid && !isGoing(metadata, memory))
  await removeJob(api, planner, job, others, isOver, signal)
  memory.removed.set(uid, clock.monotonic())
  memory.created.delete(name)
}

function isGoing({ uid, deletionTimestamp }: Resource['metadata'], { removed }: ResourceMemory): boolean {
  return deletionTimestamp !== undefined || removed.has(uid ?? '')
}

/**
 * Remembers the Jobs that are there, and removes the ConfigMaps of those that a user has deleted: nothing else would before the resource
 * goes. The files of pods that still run stay.
 */
export async function removeLeftConfigMaps(parts: ActionParts, signal: AbortSignal): Promise<void> {
  const { api, planner, view, kind, memory, situation } = parts
  const { resource } = situation
  const jobs = knownJobs(memory, view)
  const present = [...jobs, ...deletedJobs(resource, kind, memory, view).map(({ job }) => job)]
  const uids = new Set(present.map(({ metadata }) => metadata.uid))
  const used = jobs.filter(({ metadata }) => !isGoing(metadata, memory)).map(job => planner.configMapOf(job))
  for (const [uid, { configMap, isGone }] of memory.seen) {
    if (uids.has(uid) || !isGone) continue
    const isLeft = configMap !== undefined && !memory.removed.has(uid) && !used.includes(configMap)
    if (isLeft) await removeConfigMap(api, { namespace: resource.metadata.namespace, name: configMap }, signal)
    memory.seen.delete(uid)
  }
  for (const job of present) {
    const { name, uid = '' } = job.metadata
    if (!memory.seen.has(uid)) memory.seen.set(uid, { name, configMap: planner.configMapOf(job), isGone: false })
  }
}
