import type { EndedRun } from '../resource/status.ts'
import { parseTime } from './times.ts'

export function newestFirst(runs: readonly EndedRun[]): EndedRun[] {
  const timed = runs.map(run => ({
    run,
    endMs: parseTime(run.completionTime) ?? 0,
    startMs: parseTime(run.startTime) ?? 0,
  }))
  timed.sort(
    (one, other) => other.endMs - one.endMs || other.startMs - one.startMs || (one.run.run < other.run.run ? 1 : -1),
  )
  return timed.map(({ run }) => run)
}
