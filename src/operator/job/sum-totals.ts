import { type Attempt, newestEnded } from './attempt.ts'
import type { JobTotals } from './job-state.ts'
import type { PodResult } from './pod-result.ts'

/**
 * Pure. What all pods of a Job have told together. The last pod of a shard speaks for it, but for what only the first
 * one can know: gaps, which a pod that tries again finds recorded, and where groups were before anybody set them.
 */
export function sumTotals(attempts: readonly Attempt[]): JobTotals {
  const all = attempts.flatMap(({ index, ended }) => (ended?.result ? [{ index, result: ended.result }] : []))
  const last = newestEnded(attempts.filter(({ ended }) => ended?.result)).map(({ ended }) => ended.result)
  const gapsOf = new Map<number, number>()
  for (const { index, result } of all) gapsOf.set(index, Math.max(gapsOf.get(index) ?? 0, result.gaps))
  return {
    ...given('records', sum(last.map(one => one?.records))),
    ...given('bytes', sum(last.map(one => one?.bytes))),
    ...given('storedBytes', last.findLast(one => one?.storedBytes !== undefined)?.storedBytes),
    ...given('mayHoldDeletedKeys', last.findLast(one => one?.mayHoldDeletedKeys !== undefined)?.mayHoldDeletedKeys),
    ...given('groups', sum(all.map(({ result }) => result.groups))),
    ...given('gaps', sum([...gapsOf.values()])),
    ...given('snapshotId', snapshotOf(all.map(({ result }) => result))),
    ...given('dryRun', last.some(one => one?.isDryRun) || undefined),
    ...given('report', last.findLast(one => one?.report !== undefined)?.report),
  }
}

/** Of `offsets snapshot` the last one is the one that is whole. */
function snapshotOf(results: readonly PodResult[]): string | undefined {
  const withSnapshot = results.filter(({ snapshotId }) => snapshotId !== undefined)
  const isTaken = withSnapshot.some(({ command }) => command === 'offsets snapshot')
  return withSnapshot.at(isTaken ? -1 : 0)?.snapshotId
}

/** Undefined where nobody said any. */
function sum(numbers: readonly (number | undefined)[]): number | undefined {
  const said = numbers.filter(one => one !== undefined)
  if (said.length === 0) return undefined
  return Math.min(
    said.reduce((total, one) => total + one, 0),
    Number.MAX_SAFE_INTEGER,
  )
}

function given<K extends keyof JobTotals>(key: K, value: JobTotals[K] | undefined): Partial<JobTotals> {
  return value === undefined ? {} : { [key]: value }
}
