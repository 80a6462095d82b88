import { hasCode } from '../../errors.ts'
import type { Resource } from '../crd/resource.ts'
import type { JobPod, SecretUse } from '../job/job-pod.ts'
import type { Job } from '../job/kube-job.ts'
import { jobName } from '../job/names.ts'
import type { References } from '../job/references.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import type { ObjectRef, ResourceKind } from '../kube/object.ts'
import type { AnySituation, MissingSecret, Plan, SecretCheck } from '../plan/plan.ts'
import { hashSpec } from '../plan/spec-hash.ts'
import { refusalOf } from './change-jobs.ts'
import type { ClusterView } from './cluster-view.ts'
import { findEarlierJob } from './earlier-job.ts'
import { knownJobs } from './known-jobs.ts'
import type { Planner, StartAction, StepObjects } from './planner.ts'
import { referencesOf } from './referred-objects.ts'
import type { Problem, ResourceMemory } from './resource-memory.ts'

export interface PreparedPlan {
  plan: Plan
  /** What each start makes. */
  objects: Map<StartAction, StepObjects>
}

/** The plan, made again with what its starts need and lack: a spec that can be run, and secrets that are there. */
export async function prepareStarts(
  situation: AnySituation,
  memory: ResourceMemory,
  { api, planner, view }: { api: KubeApi; planner: Planner; view: ClusterView },
  signal: AbortSignal,
): Promise<PreparedPlan> {
  const jobs = knownJobs(memory, view)
  const plan = planner.planResource(situation)
  const built = buildStarts(plan, situation, jobs, planner)
  const isDrill = isDrillStart(plan)
  if ('problem' in built) {
    return planned(planner, { ...situation, [isDrill ? 'drillProblem' : 'problem']: built.problem }, jobs)
  }
  const earlierJob = startsOf(plan).length > 0 ? await findEarlierJob(api, situation, signal) : undefined
  if (earlierJob !== undefined) return planned(planner, { ...situation, earlierJob }, jobs)
  const { namespace } = situation.resource.metadata
  const { missing, trouble } = await checkSecrets(api, namespace, built.secrets, signal)
  if (missing.length > 0) {
    const lack = isDrill ? { drillProblem: missingProblem(missing) } : { missingSecrets: missing }
    return planned(planner, { ...situation, ...lack }, jobs)
  }
  if (trouble === undefined) return { plan, objects: built.objects }
  return planned(planner, { ...situation, secretsTrouble: trouble }, jobs)
}

export function startsOf({ actions }: Plan): StartAction[] {
  return actions.filter(action => action.type === 'start')
}

/** A drill starts alone, so what it lacks is known not to concern backups. */
export function isDrillStart(plan: Plan): boolean {
  const starts = startsOf(plan)
  return starts.length > 0 && starts.every(({ step }) => step.purpose === 'drill')
}

function missingProblem(missing: readonly MissingSecret[]): Problem {
  const named = missing.map(({ name, field }) => `${name} (${field})`).join(', ')
  const message = `Missing secrets: ${named}. The drill starts when they are in the namespace of the resource.`
  return { reason: 'SecretMissing', message }
}

/** Why the spec cannot be run, where it cannot; what is wrong with the program itself is thrown. */
export function problemOf(plan: () => unknown): Problem | undefined {
  try {
    plan()
    return undefined
  } catch (error) {
    if (!hasCode(error, 'CONFIG_INVALID')) throw error
    return { reason: 'InvalidSpec', message: error.message }
  }
}

/** The pod of the next run of a backup, or of the next validation of a storage. */
export function planMainPod(
  controller: 'backup' | 'storage',
  resource: Resource,
  references: References,
  planner: Planner,
): JobPod {
  return planPod(controller, resource, 'main', references, planner)
}

export function planDrillPod(resource: Resource, references: References, planner: Planner): JobPod {
  return planPod('backup', resource, 'drill', references, planner)
}

function planPod(
  controller: 'backup' | 'storage',
  resource: Resource,
  purpose: 'main' | 'drill',
  references: References,
  planner: Planner,
): JobPod {
  const { backupId = resource.metadata.name } = resource.spec
  const step = { purpose, stage: 'whole', shards: 1, backupId } as const
  const pod = planner.planJobPod(controller, resource, step, references)
  // Its template is checked when the Job is built.
  planner.buildObjects(controller, resource, { type: 'start', run: '', step, dueMs: 0 }, pod)
  return pod
}

function planned(planner: Planner, situation: AnySituation, jobs: readonly Job[]): PreparedPlan {
  const plan = planner.planResource(situation)
  const built = buildStarts(plan, situation, jobs, planner)
  return { plan, objects: 'objects' in built ? built.objects : new Map() }
}

type Built = { problem: Problem } | { objects: PreparedPlan['objects']; secrets: SecretUse[] }

function buildStarts(
  plan: Plan,
  { controller, resource, storage, cluster, problem: known }: AnySituation,
  jobs: readonly Job[],
  planner: Planner,
): Built {
  const objects: PreparedPlan['objects'] = new Map()
  const pods: JobPod[] = []
  const problem = problemOf(() => {
    for (const start of startsOf(plan)) {
      const shards = shardsOfOlderSpec(start, resource, jobs, known !== undefined)
      if (shards) {
        objects.set(start, { job: planner.buildCommit(controller, resource, start, shards) })
        continue
      }
      const pod = planner.planJobPod(controller, resource, start.step, referencesOf({ storage, cluster }))
      objects.set(start, planner.buildObjects(controller, resource, start, pod))
      pods.push(pod)
    }
  })
  return problem === undefined ? { objects, secrets: pods.flatMap(({ secrets }) => secrets) } : { problem }
}

/** The Job of the shards that the start commits, if the spec has changed since or is invalid: what they copied is committed as it was asked for. */
function shardsOfOlderSpec(
  { run, step }: StartAction,
  resource: Resource,
  jobs: readonly Job[],
  isInvalid: boolean,
): Job | undefined {
  const isSame = step.specHash === undefined || step.specHash === hashSpec(resource.spec ?? {})
  if (step.stage !== 'commit' || (isSame && !isInvalid)) return undefined
  const name = jobName(resource, run, 'shards')
  return jobs.find(({ metadata }) => metadata.name === name)
}

const secretKind: ResourceKind = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' }

/**
 * Which of the secrets do not exist. Only their metadata is read. A denial is not a failure: the kubelet mounts the secrets
 * with its own rights, so a run needs no permission of the operator.
 */
export async function checkSecrets(
  api: KubeApi,
  namespace: string | undefined,
  uses: readonly SecretUse[],
  signal: AbortSignal,
): Promise<SecretCheck> {
  const missing: MissingSecret[] = []
  try {
    for (const name of new Set(uses.map(use => use.name))) {
      if (!(await isSecretMissing(api, { namespace, name }, signal))) continue
      const fields = new Set(uses.filter(use => use.name === name).map(use => use.field))
      missing.push(...[...fields].map(field => ({ name, field })))
    }
  } catch (error) {
    if (!hasCode(error, 'KUBE_DENIED')) throw refusalOf(error)
    return { missing, trouble: `${error.message}.` }
  }
  return { missing }
}

export async function isSecretMissing(api: KubeApi, ref: ObjectRef, signal: AbortSignal): Promise<boolean> {
  try {
    await api.getMetadata(secretKind, ref, signal)
    return false
  } catch (error) {
    if (hasCode(error, 'KUBE_NOT_FOUND')) return true
    throw error
  }
}
