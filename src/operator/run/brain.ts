import type { JobState } from '../job/job-state.ts'
import type { ConfigMap, Job, Pod } from '../job/kube-job.ts'
import type { Action, Plan, Situation } from '../plan/plan.ts'
import type { JobPod, JobStep } from '../resource/job-pod.ts'
import type { Controller, Resource } from '../resource/resource.ts'

/** What decides, all of it pure. The rest of the folder looks, asks it, and does what it says. */
export interface Brain {
  planResource(situation: Situation): Plan
  /** CONFIG_INVALID in the words of the spec where it cannot be run. */
  planJobPod(controller: Controller, resource: Resource, step: JobStep): JobPod
  buildObjects(controller: Controller, resource: Resource, start: StartAction, pod: JobPod): StepObjects
  readJobState(job: Job, pods: readonly Pod[], nowMs: number): JobState
  /** The ConfigMap with the job file of a Job that `buildObjects` made. */
  configMapOf(job: Job): string | undefined
}

export type StartAction = Extract<Action, { type: 'start' }>

/** In the order in which they are made: a Job without its ConfigMap has pods that do not start. */
export interface StepObjects {
  configMap: ConfigMap
  job: Job
}
