import type { ScheduleTime } from '../crd/status.ts'
import type { Facts } from './facts.ts'
import { parseSchedule } from './schedule.ts'
import { formatTime, laterTime, parseTime } from './times.ts'

/** When a run of each purpose last succeeded. */
type Successes = Record<ScheduleTime['purpose'], string | undefined>

/**
 * Since when the schedules of verifications and drills apply: alerts count from then, because nothing was due before. A changed or resumed
 * schedule applies from then on, unless a run was due before and has not succeeded: otherwise repeated changes would hide that none ever does.
 */
export function scheduleTimes(facts: Facts, successes: Successes): ScheduleTime[] | undefined {
  const { controller, resource, before, isSuspended } = facts
  if (controller !== 'backup') return undefined
  const { verify, drill, schedule = '' } = resource.spec ?? {}
  const current: Omit<ScheduleTime, 'since'>[] = [
    ...(verify ? [{ purpose: 'verify' as const, schedule: verify.schedule ?? schedule }] : []),
    ...(drill ? [{ purpose: 'drill' as const, schedule: drill.schedule ?? '' }] : []),
  ]
  const times = current.flatMap(one => {
    const known = before.schedules?.find(({ purpose }) => purpose === one.purpose)
    const isSame = known?.schedule === one.schedule && !isSuspended
    const isKept = known !== undefined && (isSame || isMissed(known, successes[known.purpose], facts))
    if (isSuspended && !isKept) return []
    return [{ ...one, since: passedTime(isKept ? known.since : firstTime(one, facts), facts) }]
  })
  return times.length === 0 ? undefined : times
}

/** A run was due since the last success, and has not succeeded. */
function isMissed({ schedule, since }: ScheduleTime, success: string | undefined, { resource, nowMs }: Facts): boolean {
  const parsed = parseSchedule(schedule, resource.spec?.timeZone)
  const fromMs = parseTime(laterTime(since, success))
  if ('problem' in parsed || fromMs === undefined) return false
  return (parsed.schedule.next(fromMs) ?? Number.POSITIVE_INFINITY) <= nowMs
}

/** A time to come was recorded by a clock that was ahead: the alert would wait for it. */
function passedTime(since: string, { nowMs }: Facts): string {
  return (parseTime(since) ?? Number.POSITIVE_INFINITY) > nowMs ? formatTime(nowMs) : since
}

/** A status of an earlier release has no such times, but when the next run is due. What was overdue then must stay so. */
function firstTime({ purpose }: Omit<ScheduleTime, 'since'>, { before, resource, nowMs }: Facts): string {
  const isNew = before.observedGeneration === undefined
  const nextTime = purpose === 'verify' ? before.nextVerifyTime : before.drill?.nextTime
  const isOlder = before.schedules === undefined && nextTime !== undefined
  return (isNew || isOlder ? resource.metadata.creationTimestamp : undefined) ?? formatTime(nowMs)
}
