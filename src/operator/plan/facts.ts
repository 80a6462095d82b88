import { type Controller, type ResourceSpec, triggerAnnotation } from '../crd/resource.ts'
import type { EndedRun, ResourceStatus } from '../crd/status.ts'
import type { JobState } from '../job/job-state.ts'
import type { Situation } from './plan.ts'
import { parseSchedule, type Schedule } from './schedule.ts'

/** What the plan derives from a situation. */
export interface Facts extends Situation {
  /** The current status; empty for a new resource. */
  before: ResourceStatus
  generation: number
  /** One run that does not end. */
  isContinuous: boolean
  isSuspended: boolean
  /** It has a schedule, valid or not. */
  isScheduled: boolean
  schedule: Schedule | undefined
  verify: 'never' | 'after-runs' | Schedule
  /** The schedule of drills. */
  drill: Schedule | undefined
  /** A value of the trigger annotation that has not started a run yet. */
  trigger: string | undefined
  /** From the situation, or an invalid schedule. */
  problem: { reason: string; message: string } | undefined
  hasFinalizer: boolean
  wantsFinalizer: boolean
}

export function readFacts(situation: Situation): Facts {
  const { controller, resource, apiGroup } = situation
  const { metadata } = resource
  const spec: ResourceSpec = resource.spec ?? {}
  const before = resource.status ?? {}
  const isBackup = controller === 'backup'
  const isContinuous = isBackup && spec.backup?.continuous === true
  const times = isBackup && !isContinuous ? readSchedules(spec) : noTimes
  const value = metadata.annotations?.[triggerAnnotation(apiGroup)]
  return {
    ...situation,
    before,
    generation: metadata.generation ?? 0,
    isContinuous,
    isSuspended: spec.suspend === true,
    isScheduled: isBackup && !isContinuous && spec.schedule !== undefined,
    schedule: times.schedule,
    verify: times.verify,
    ...readDrill(controller, spec, situation.drillProblem),
    trigger: value === undefined || value === '' || value === before.lastTrigger ? undefined : value,
    problem: times.problem ?? situation.problem,
    hasFinalizer: metadata.finalizers?.includes(finalizerName(apiGroup)) ?? false,
    wantsFinalizer: isBackup && spec.deletionPolicy === 'Delete',
  }
}

export function finalizerName(apiGroup: string): string {
  return `${apiGroup}/delete-backup`
}

export function historyOf(before: ResourceStatus): readonly EndedRun[] {
  return before.history ?? []
}

type Times = Pick<Facts, 'schedule' | 'verify' | 'problem'>

const noTimes: Times = { schedule: undefined, verify: 'never', problem: undefined }

function readSchedules(spec: ResourceSpec): Times {
  const main = spec.schedule === undefined ? undefined : parseSchedule(spec.schedule, spec.timeZone)
  const verify = spec.verify?.schedule === undefined ? undefined : parseSchedule(spec.verify.schedule, spec.timeZone)
  if (main && 'problem' in main) return { ...noTimes, problem: invalid('spec.schedule', main.problem) }
  if (verify && 'problem' in verify) return { ...noTimes, problem: invalid('spec.verify.schedule', verify.problem) }
  return {
    schedule: main?.schedule,
    verify: verify?.schedule ?? (spec.verify ? 'after-runs' : 'never'),
    problem: undefined,
  }
}

/** An invalid schedule of drills blocks drills, and no backups. */
function readDrill(
  controller: Controller,
  { drill, timeZone }: ResourceSpec,
  drillProblem: Facts['drillProblem'],
): Pick<Facts, 'drill' | 'drillProblem'> {
  if (controller !== 'backup' || drill?.schedule === undefined) return { drill: undefined, drillProblem: undefined }
  const parsed = parseSchedule(drill.schedule, timeZone)
  if ('problem' in parsed) return { drill: undefined, drillProblem: invalid('spec.drill.schedule', parsed.problem) }
  return { drill: parsed.schedule, drillProblem }
}

function invalid(field: string, problem: string): { reason: string; message: string } {
  return { reason: 'InvalidSpec', message: `${field}: ${problem}.` }
}

/** A pod whose node has been silent for too long. */
export function lostPodOf(jobs: readonly JobState[], nowMs: number): { reason: string; message: string } | undefined {
  const lost = jobs.find(job => job.lost !== undefined && job.lost.atMs <= nowMs)?.lost
  return lost && { reason: 'NodeLost', message: lost.message }
}

/** When a silent pod counts as lost. */
export function recheckForLost(jobs: readonly JobState[]): number[] {
  return jobs.flatMap(({ lost }) => (lost ? [lost.atMs] : []))
}
