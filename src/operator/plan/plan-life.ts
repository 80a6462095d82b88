import type { Facts } from './facts.ts'
import type { Outcome } from './outcome.ts'
import type { Action } from './plan.ts'
import { planMain } from './plan-main.ts'
import { planVerify } from './plan-verify.ts'
import type { Runs } from './runs.ts'
import { continueRun } from './start-run.ts'
import { lackOf } from './wait.ts'

/** Of a resource that is not being deleted: which runs start, continue or wait. */
export function planLife(facts: Facts, settled: Runs): Outcome {
  const main = planMain(facts, settled)
  const verify = planVerify(facts, main)
  const lack = lackOf(facts)
  const unfinished = main.runs.live.filter(({ todo }) => todo !== undefined)
  const continued = lack ? [] : unfinished.map(live => continueRun(facts, live))
  const begun = [main.start, verify.start].filter(start => start !== undefined)
  return {
    runs: main.runs,
    starts: [...continued, ...begun],
    before: finalizerActions(facts),
    after: [],
    main,
    verify,
    wait: main.wait ?? (unfinished.length > 0 ? lack : undefined),
    trigger: main.trigger,
  }
}

/** It is there before the first byte of a backup that it has to remove. */
function finalizerActions({ hasFinalizer, wantsFinalizer }: Facts): Action[] {
  if (hasFinalizer === wantsFinalizer) return []
  return [{ type: wantsFinalizer ? 'add-finalizer' : 'remove-finalizer' }]
}
