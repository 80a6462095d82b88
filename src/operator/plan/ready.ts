import { formatDuration } from '../../lib/units.ts'
import type { Facts } from './facts.ts'
import { lastOf } from './history.ts'
import { lostPodOf } from './lost-pod.ts'
import { type Outcome, workingRuns } from './outcome.ts'
import type { ShownPhase } from './phase.ts'
import { lastSuccessTime } from './rounds.ts'
import type { LiveRun } from './runs.ts'
import { stalledMessage } from './stalled.ts'
import { parseTime } from './times.ts'
import { no, type Verdict, yes } from './verdict.ts'

export const suspendedMessage = 'It is suspended: set spec.suspend to false to let it run.'

/** Whether runs can start and succeed; of a continuous backup whether its rounds do. */
export function readyVerdict(facts: Facts, outcome: Outcome, { phase, reason, message }: ShownPhase): Verdict {
  const { runs, wait, deletion } = outcome
  const live = workingRuns(outcome)
  const lost = lostPodOf([...live.flatMap(({ jobs }) => jobs), ...runs.lingering], facts.nowMs)
  const last = lastOf(runs.ended, 'main')
  if (deletion) return no(deletion.reason, deletion.message)
  if (wait && wait.reason !== 'WaitingForVerify' && wait.reason !== 'Stopping') return no(wait.reason, wait.message)
  if (lost) return no(lost.reason, lost.message)
  if (facts.isContinuous && !facts.isSuspended) return continuousVerdict(facts, outcome, live)
  if (last?.phase === 'Failed') return no(last.reason ?? 'Failed', last.message ?? 'The last run failed.')
  if (facts.isSuspended && facts.isScheduled) return no('Suspended', suspendedMessage)
  if (phase === 'Pending' && reason === 'Suspended') return no('Suspended', message ?? suspendedMessage)
  return yes(last ? 'Completed' : 'Waiting', last ? 'The last run is complete.' : 'Nothing blocks the next run.')
}

/** Stopped for good; never succeeded; not for too long; or well. */
function continuousVerdict(facts: Facts, { runs }: Outcome, live: readonly LiveRun[]): Verdict {
  const last = lastOf(runs.ended, 'main')
  const run = live.find(({ purpose }) => purpose === 'main')
  if (!run && last?.phase === 'Failed') return no(last.reason ?? 'Failed', stalledMessage(last.message))
  const succeededMs = parseTime(lastSuccessTime(facts, runs.ended))
  const failures = failuresOf(run)
  if (succeededMs === undefined) {
    return no('NoRoundYet', `No round has succeeded yet, so there is nothing to restore.${failures}`)
  }
  if (facts.nowMs - succeededMs <= facts.roundLimitMs) return yes('RoundsSucceed', 'Rounds succeed in time.')
  const limit = formatDuration(facts.roundLimitMs)
  const cause = failures || ' See the log of its pod.'
  return no('RoundOverdue', `No round has succeeded for more than ${limit}; see lastSuccessfulTime.${cause}`)
}

function failuresOf(run: LiveRun | undefined): string {
  const failed = run?.jobs.find(({ failedPods }) => failedPods !== undefined)?.failedPods
  return failed ? ` Pods that failed and were replaced: ${failed.count}. ${failed.message ?? ''}`.trimEnd() : ''
}
