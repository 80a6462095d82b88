import type { ComparedGroup, SnapshotComparison } from '../../offsets/compare-snapshot.ts'
import { activeGroups, expectedOutcome, type OffsetsPlan } from '../../offsets/plan-reset.ts'
import type { PlanReport } from '../../offsets/run-plan.ts'
import type { OffsetSnapshot } from '../../offsets/snapshot.ts'
import { plural } from '../text.ts'
import type { Facts } from './result-builder.ts'

/** `partitions` counts those whose committed offset was changed and read back. */
export function planFacts({ strategy, snapshotId, groups }: PlanReport): Facts {
  const count = (...outcomes: string[]) => groups.filter(({ outcome }) => outcomes.includes(outcome)).length
  const set = groups.filter(({ outcome }) => outcome === 'done' || outcome === 'partly')
  const changed = set.flatMap(({ planned }) => planned.positions.filter(({ isChange }) => isChange))
  const problem = problemOf(groups)
  return {
    totals: {
      strategy,
      groups: groups.length,
      groups_set: count('done'),
      groups_unchanged: count('unchanged'),
      groups_partly: count('partly'),
      groups_failed: count('failed'),
      partitions: changed.length,
      // Keeps a snapshot ID that was noted before.
      ...(snapshotId !== null && { snapshot_id: snapshotId }),
    },
    ...(problem && { problem }),
  }
}

/** Why the run of this plan would not set everything. */
export function dryRunFacts(plan: OffsetsPlan): Facts {
  const [active] = activeGroups(plan)
  if (active) return { problem: { code: 'GROUP_ACTIVE', message: `group ${active.group} has active members` } }
  const problem = problemOf(
    plan.groups.map(planned => ({
      ...{ planned, outcome: expectedOutcome(planned) },
      ...(planned.error && { error: planned.error }),
    })),
  )
  return problem ? { problem } : {}
}

function problemOf(groups: PlanReport['groups']): Facts['problem'] {
  const short = groups.filter(({ outcome }) => outcome === 'failed' || outcome === 'partly')
  const first = short.find(({ error }) => error) ?? short[0]
  if (!first) return undefined
  const { planned, error } = first
  const reason = error?.message ?? planned.positions.find(one => one.problem !== undefined)?.problem ?? 'unknown'
  const message = `${plural(short.length, 'group')} not set, or set in part; ${planned.now.group}: ${reason}`
  return { ...(error && { code: error.code, details: error.details }), message }
}

export function snapshotFacts({ snapshot_id, groups }: OffsetSnapshot): Facts {
  const failed = groups.filter(({ error }) => error !== undefined)
  const [first] = failed
  const message = `${plural(failed.length, 'group')} could not be read; ${first?.group}: ${first?.error}`
  return {
    totals: {
      snapshot_id,
      groups: groups.length,
      groups_failed: failed.length,
      partitions: groups.reduce((sum, { positions }) => sum + positions.length, 0),
    },
    ...(first && { problem: { message } }),
  }
}

/** A difference is not an error, but the result names the first group that differs. */
export function comparisonFacts({ snapshotId, isStrict, groups }: SnapshotComparison): Facts {
  const different = groups.filter(({ isDifferent }) => isDifferent)
  const totals = { groups: groups.length, groups_different: different.length }
  const [first] = different
  if (!first) return { totals }
  const many = `${different.length} of ${plural(groups.length, 'group')} ${different.length === 1 ? 'differs' : 'differ'}`
  const message = `${many} from snapshot ${snapshotId}; ${first.group}: ${differenceOf(first, isStrict)}; see the log for all groups`
  return { totals, problem: { message } }
}

function differenceOf({ error, positions }: ComparedGroup, isStrict: boolean): string {
  const expected = isStrict ? ['same'] : ['same', 'ahead', 'metadata']
  const position = positions.find(({ change }) => !expected.includes(change))
  if (error !== undefined || !position) return error ?? 'unknown'
  const { topic, partition, was, is, change } = position
  const [now, then] = [is, was].map(offset => (offset === null ? 'nowhere' : `at ${offset}`))
  return `${topic}/${partition} is ${now}, was ${then} (${change})`
}
