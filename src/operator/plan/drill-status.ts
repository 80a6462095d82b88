import { formatCount, formatDuration } from '../../lib/units.ts'
import type { DrillStatus, EndedRun } from '../crd/status.ts'
import type { Decision } from './decision.ts'
import type { Facts } from './facts.ts'
import { lastOf } from './runs.ts'
import { formatTime, latestSuccess } from './times.ts'
import { no, unknown, type Verdict, yes } from './verdict.ts'

/** What the drills of a backup found. Without drills there is none; what the history has forgotten stays. */
export function drillStatus(
  facts: Facts,
  { drill, deletion }: Decision,
  history: readonly EndedRun[],
): DrillStatus | undefined {
  const { resource, before } = facts
  if (resource.spec?.drill === undefined || deletion !== undefined) return undefined
  const last = lastOf(history, 'drill')
  const proven = history.find(({ purpose, phase }) => purpose === 'drill' && phase === 'Completed')
  const found = last ? foundBy(last) : kept(before.drill)
  const lack = drill?.lack
  return present({
    ...found,
    ...(lack && { reason: lack.reason, message: lack.message }),
    recoverySeconds: proven?.recoverySeconds ?? before.drill?.recoverySeconds,
    lastProvenTime: latestSuccess(facts, before.drill?.lastProvenTime, proven),
    nextTime: drill?.nextDrillMs === undefined ? undefined : formatTime(drill.nextDrillMs),
  })
}

type Fields = { [Name in keyof DrillStatus]: DrillStatus[Name] | undefined }

function foundBy(run: EndedRun): Fields {
  const { completionTime, phase, reason, records, report } = run
  const isProven = phase === 'Completed'
  return {
    lastTime: completionTime,
    result: isProven ? 'Proven' : 'Failed',
    reason: isProven ? undefined : (reason ?? 'Failed'),
    message: isProven ? provenMessage(run) : (run.message ?? `Run ${run.run} failed.`),
    records,
    evidence: report,
  }
}

function kept(before: DrillStatus | undefined): Fields {
  const { lastTime, result, reason, message, records, evidence } = before ?? {}
  return lastTime === undefined ? {} : { lastTime, result, reason, message, records, evidence }
}

function provenMessage({ run, records = 0, recoverySeconds }: EndedRun): string {
  const time = recoverySeconds === undefined ? '' : ` in ${formatDuration(recoverySeconds * 1000)}`
  return `Run ${run} restored ${formatCount(records)} records${time} and found them equal to the backup.`
}

function present(fields: Fields): DrillStatus {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** Whether the last drill proved the backup. What blocks the next one counts more. */
export function drilledVerdict({ resource }: Facts, { drill, runs }: Decision): Verdict | undefined {
  if (resource.spec?.drill === undefined) return undefined
  if (drill?.lack) return no(drill.lack.reason, drill.lack.message)
  const last = lastOf(runs.ended, 'drill')
  if (!last) return unknown('NotDrilled', 'No drill of the backup has ended yet.')
  if (last.phase === 'Completed') return yes('Proven', provenMessage(last))
  return no(last.reason ?? 'Failed', last.message ?? `Run ${last.run} failed.`)
}
