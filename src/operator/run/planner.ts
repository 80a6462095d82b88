import type { AnyController, Resource } from '../crd/resource.ts'
import { buildCommit } from '../job/build-commit.ts'
import { buildJob } from '../job/build-job.ts'
import type { JobSettings } from '../job/build-pod.ts'
import { buildConfigMap, configMapOf } from '../job/build-pod.ts'
import type { JobPod, JobStep } from '../job/job-pod.ts'
import type { JobState } from '../job/job-state.ts'
import type { ConfigMap, Job, Pod } from '../job/kube-job.ts'
import { planJobPod } from '../job/plan-job-pod.ts'
import { readJobState } from '../job/read-job-state.ts'
import type { References } from '../job/references.ts'
import type { Action, AnySituation, Plan } from '../plan/plan.ts'
import { planResource } from '../plan/plan-resource.ts'
import { planStorage } from '../plan/plan-storage.ts'

/** What decides, all of it pure. The rest of the folder looks, asks it, and does what it says. */
export interface Planner {
  planResource(situation: AnySituation): Plan
  /** CONFIG_INVALID in the words of the spec where it cannot be run. */
  planJobPod(controller: AnyController, resource: Resource, step: JobStep, references?: References): JobPod
  buildObjects(controller: AnyController, resource: Resource, start: StartAction, pod: JobPod): StepObjects
  /** The commit of shards whose spec has changed since; their ConfigMap is that of the commit too. */
  buildCommit(controller: AnyController, resource: Resource, start: StartAction, shards: Job): Job
  readJobState(job: Job, pods: readonly Pod[], nowMs: number): JobState
  /** The ConfigMap with the job file of a Job that `buildObjects` made. */
  configMapOf(job: Job): string | undefined
}

export type StartAction = Extract<Action, { type: 'start' }>

/** In the order in which they are made: a Job without its ConfigMap has pods that do not start. */
export interface StepObjects {
  /** Absent if an earlier Job of the run has it. */
  configMap?: ConfigMap
  job: Job
}

export function createPlanner(apiGroup: string, settings: JobSettings): Planner {
  return {
    planResource: situation => (situation.controller === 'storage' ? planStorage(situation) : planResource(situation)),
    planJobPod,
    readJobState,
    configMapOf,
    buildObjects: (controller, resource, { run, step, dueMs }, pod) => ({
      configMap: buildConfigMap({ controller, resource, apiGroup }, pod.jobFile),
      job: buildJob({ controller, resource, apiGroup, run, step, dueMs, pod, settings }),
    }),
    buildCommit: (controller, resource, { run, step, dueMs }, shards) =>
      buildCommit({ controller, resource, apiGroup, run, step, dueMs }, shards),
  }
}
