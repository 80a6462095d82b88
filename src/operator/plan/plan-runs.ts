import type { Decision } from './decision.ts'
import type { Facts } from './facts.ts'
import type { Action } from './plan.ts'
import { planDrill } from './plan-drill.ts'
import { planMain } from './plan-main.ts'
import { planVerify } from './plan-verify.ts'
import type { LiveRun, Runs } from './runs.ts'
import { hashSpec } from './spec-hash.ts'
import { continueRun } from './start-run.ts'
import { blockerOf } from './wait.ts'

/** Which runs of a resource start, continue or wait, unless it is being deleted. */
export function planRuns(facts: Facts, settled: Runs): Decision {
  const main = planMain(facts, settled)
  const verify = planVerify(facts, main)
  const drill = planDrill(facts, main, verify)
  const lack = blockerOf(facts)
  const unfinished = main.runs.live.filter(({ todo }) => todo !== undefined)
  const blocked = unfinished.filter(live => lack !== undefined && !isCommittable(facts, live))
  const continued = unfinished.filter(live => !blocked.includes(live)).map(live => continueRun(facts, live))
  const begun = [main.start, verify.start, drill.start].filter(start => start !== undefined)
  return {
    runs: main.runs,
    starts: [...continued, ...begun],
    before: finalizerActions(facts),
    after: [],
    main,
    verify,
    drill,
    wait: main.wait ?? (blocked.length > 0 ? lack : undefined),
    trigger: main.trigger,
  }
}

/** Shards are committed with the spec that they had, so what another or an invalid spec lacks does not matter. */
function isCommittable({ problem, resource }: Facts, { todo, specHash }: LiveRun): boolean {
  if (todo !== 'commit') return false
  if (problem) return problem.reason === 'InvalidSpec'
  return specHash !== undefined && specHash !== hashSpec(resource.spec ?? {})
}

/** The finalizer is set before the first byte of the backup is written. */
function finalizerActions({ hasFinalizer, wantsFinalizer }: Facts): Action[] {
  if (hasFinalizer === wantsFinalizer) return []
  return [{ type: wantsFinalizer ? 'add-finalizer' : 'remove-finalizer' }]
}
