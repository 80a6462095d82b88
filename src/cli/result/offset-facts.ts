import type { PlanReport } from '../../offsets/run-plan.ts'
import type { OffsetSnapshot } from '../../offsets/snapshot.ts'
import { plural } from '../text.ts'
import type { Facts } from './outcome.ts'

/** `partitions` are those whose position was changed, and read back. */
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
      // The way back that was told when it was written is not forgotten.
      ...(snapshotId !== null && { snapshot_id: snapshotId }),
    },
    ...(problem && { problem }),
  }
}

function problemOf(groups: PlanReport['groups']): Facts['problem'] {
  const short = groups.filter(({ outcome }) => outcome === 'failed' || outcome === 'partly')
  const first = short.find(({ error }) => error) ?? short[0]
  if (!first) return undefined
  const { planned, error } = first
  const reason = error?.message ?? planned.positions.find(one => one.problem !== undefined)?.problem ?? 'unknown'
  const message = `${plural(short.length, 'group')} not set, or set in part; ${planned.now.group}: ${reason}`
  return { ...(error && { code: error.code }), message }
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
