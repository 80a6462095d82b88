import type { Action } from './plan.ts'
import type { DrillPlan } from './plan-drill.ts'
import type { MainPlan } from './plan-main.ts'
import type { VerifyPlan } from './plan-verify.ts'
import type { LiveRun, Runs } from './runs.ts'
import type { Start } from './start-run.ts'
import type { Wait } from './wait.ts'

/** What is decided; status, events and removals follow from it. */
export interface Decision {
  runs: Runs
  starts: Start[]
  /** Before the status is written, and after that. */
  before: Action[]
  after: Action[]
  main?: MainPlan
  verify?: VerifyPlan
  drill?: DrillPlan
  wait?: Wait | undefined
  /** Of a resource that is being deleted. */
  deletion?: Wait
  trigger?: string | undefined
}

/** Runs that work once the plan is carried out, the newest first. */
export function workingRuns({ runs, starts }: Decision): LiveRun[] {
  const started = starts.map(({ live }) => live)
  const going = runs.live.filter(({ run }) => !started.some(one => one.run === run))
  return [...started, ...going].toSorted((one, other) => {
    if (one.startTime === other.startTime) return one.run < other.run ? 1 : -1
    return one.startTime < other.startTime ? 1 : -1
  })
}
