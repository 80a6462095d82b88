import type { Decision } from './decision.ts'
import type { Facts } from './facts.ts'
import type { Action } from './plan.ts'
import { planDrill } from './plan-drill.ts'
import { planMain } from './plan-main.ts'
import { planVerify } from './plan-verify.ts'
import type { Runs } from './runs.ts'
import { continueRun } from './start-run.ts'
import { blockerOf } from './wait.ts'

/** Which runs of a resource start, continue or wait, unless it is being deleted. */
export function planRuns(facts: Facts, settled: Runs): Decision {
  const main = planMain(facts, settled)
  const verify = planVerify(facts, main)
  const drill = planDrill(facts, main, verify)
  const lack = blockerOf(facts)
  const unfinished = main.runs.live.filter(({ todo }) => todo !== undefined)
  const continued = lack ? [] : unfinished.map(live => continueRun(facts, live))
  const begun = [main.start, verify.start, drill.start].filter(start => start !== undefined)
  return {
    runs: main.runs,
    starts: [...continued, ...begun],
    before: finalizerActions(facts),
    after: [],
    main,
    verify,
    drill,
    wait: main.wait ?? (unfinished.length > 0 ? lack : undefined),
    trigger: main.trigger,
  }
}

/** The finalizer is set before the first byte of the backup is written. */
function finalizerActions({ hasFinalizer, wantsFinalizer }: Facts): Action[] {
  if (hasFinalizer === wantsFinalizer) return []
  return [{ type: wantsFinalizer ? 'add-finalizer' : 'remove-finalizer' }]
}
