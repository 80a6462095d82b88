import { againAt } from './again-at.ts'
import { planEvents } from './events.ts'
import { type Facts, historyOf, readFacts } from './facts.ts'
import { planRemovals } from './old-jobs.ts'
import type { Outcome } from './outcome.ts'
import type { Plan, Situation } from './plan.ts'
import { planDeletion } from './plan-deletion.ts'
import { planLife } from './plan-life.ts'
import { planStatus } from './plan-status.ts'
import { settleRuns } from './runs.ts'

/**
 * What to do about a resource, and what to tell of it. It goes by the situation alone, so that whoever looks at the same
 * one plans the same, and a plan that was carried out in part is made whole by the next one.
 */
export function planResource(situation: Situation): Plan {
  const facts = readFacts(situation)
  const runs = settleRuns(facts)
  const isGoing = facts.resource.metadata.deletionTimestamp !== undefined
  const outcome = isGoing ? planDeletion(facts, runs) : planLife(facts, runs)
  const isLeft = isGoing && outcome.deletion === undefined
  if (isLeft) return { actions: outcome.before, status: facts.before, after: [], events: [], ended: [] }
  return planFrom(facts, outcome)
}

function planFrom(facts: Facts, outcome: Outcome): Plan {
  const status = planStatus(facts, outcome)
  const told = new Set(historyOf(facts.before).map(({ run }) => run))
  const againAtMs = againAt(facts, outcome)
  return {
    actions: [...outcome.before, ...outcome.starts.map(({ action }) => action)],
    status,
    after: [...planRemovals(facts, outcome.runs, status.history ?? []), ...outcome.after],
    events: planEvents(facts, outcome, status),
    ended: (status.history ?? []).filter(({ run }) => !told.has(run)).toReversed(),
    ...(againAtMs !== undefined && { againAtMs }),
  }
}
