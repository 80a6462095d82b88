import type { Resource, ResourceSpec } from '../../../src/operator/crd/resource.ts'
import type { ResourceStatus } from '../../../src/operator/crd/status.ts'
import type { JobEnd, JobState } from '../../../src/operator/job/job-state.ts'
import { jobName } from '../../../src/operator/job/names.ts'
import type { Plan, Situation } from '../../../src/operator/plan/plan.ts'
import { planResource } from '../../../src/operator/plan/plan-resource.ts'

/** A Monday. */
export const startMs = Date.parse('2026-11-16T01:30:00Z')
export const hourMs = 3_600_000

export function at(time: string): number {
  return Date.parse(`2026-11-${time}Z`)
}

export function resourceOf(spec: ResourceSpec = {}, rest: Partial<Resource> = {}): Resource {
  return {
    apiVersion: 'kafka-backup.dev/v1alpha1',
    kind: 'KafkaBackup',
    ...rest,
    metadata: {
      name: 'orders',
      namespace: 'kafka',
      uid: 'uid-1',
      generation: 1,
      creationTimestamp: '2026-11-16T01:30:00Z',
      ...rest.metadata,
    },
    spec,
  }
}

export function situationOf(resource: Resource, rest: Partial<Situation> = {}): Situation {
  return {
    controller: 'backup',
    resource,
    apiGroup: 'kafka-backup.dev',
    jobs: [],
    missingSecrets: [],
    isLicenseMissing: false,
    problem: undefined,
    progress: undefined,
    referredSnapshotId: undefined,
    nowMs: startMs,
    ...rest,
  }
}

export function jobOf(run: string, rest: Partial<JobState> = {}): JobState {
  const stage = rest.stage ?? 'whole'
  const name = jobName(resourceOf(), run, stage)
  return {
    name,
    uid: `uid-${name}`,
    run,
    purpose: 'main',
    stage,
    shards: 1,
    backupId: 'orders',
    dueMs: startMs,
    createdMs: startMs,
    isBeingDeleted: false,
    end: undefined,
    waiting: undefined,
    running: [],
    ...rest,
  }
}

export function endOf(rest: Partial<JobEnd> = {}): JobEnd {
  return { isSuccess: true, isStillTrying: false, completedMs: startMs + 60_000, totals: {}, ...rest }
}

/** Plans one situation after the other, each with the status of the plan before. */
export class Story {
  status: ResourceStatus | undefined
  resource: Resource
  rest: Partial<Situation>
  last: Plan | undefined

  constructor(resource: Resource, rest: Partial<Situation> = {}) {
    this.resource = resource
    this.status = resource.status
    this.rest = rest
  }

  plan(nowMs: number, jobs: JobState[] = [], rest: Partial<Situation> = {}): Plan {
    const { status: _, ...resource } = this.resource
    const told = this.status === undefined ? resource : { ...resource, status: this.status }
    const plan = planResource(situationOf(told, { ...this.rest, nowMs, jobs, ...rest }))
    this.status = plan.status
    this.last = plan
    return plan
  }
}

export function startedRuns(plan: Plan): string[] {
  return plan.actions.flatMap(action => (action.type === 'start' ? [action.run] : []))
}

export function reasons(plan: Plan): string[] {
  return plan.events.map(({ reason }) => reason)
}
