import type { ScheduleTime } from '../crd/status.ts'
import type { Facts } from './facts.ts'
import { formatTime } from './times.ts'

/**
 * Since when the schedules of verifications and drills apply: alerts count from then, because nothing was due before. A suspended
 * resource has none, so its schedules apply again from the time when it is resumed.
 */
export function scheduleTimes({ controller, resource, before, isSuspended, nowMs }: Facts): ScheduleTime[] | undefined {
  if (controller !== 'backup' || isSuspended) return undefined
  const { verify, drill, schedule = '' } = resource.spec ?? {}
  const current: Omit<ScheduleTime, 'since'>[] = [
    ...(verify ? [{ purpose: 'verify' as const, schedule: verify.schedule ?? schedule }] : []),
    ...(drill ? [{ purpose: 'drill' as const, schedule: drill.schedule ?? '' }] : []),
  ]
  const isNew = before.observedGeneration === undefined
  const since = (isNew ? resource.metadata.creationTimestamp : undefined) ?? formatTime(nowMs)
  const times = current.map(one => {
    const known = before.schedules?.find(({ purpose }) => purpose === one.purpose)
    return known?.schedule === one.schedule ? known : { ...one, since }
  })
  return times.length === 0 ? undefined : times
}
