import type { Times } from '../archive/lease.ts'
import { commitKey } from '../archive/log/keys.ts'
import { formatUtc } from '../lib/clock.ts'
import type { PruneContext } from './prune-context.ts'
import { commitTimeMs, type SurveyedBackup } from './survey.ts'

/** Clocks of machines and stores differ by seconds. One that differs by more than this was set wrong. */
const MAX_DIFFERENCE_MS = 3_600_000

interface ClockFacts extends Times {
  /** What the clock of this machine would say now if it had not been set since this process began its run. */
  unsetMs?: number | undefined
  /** When the newest generation was made. */
  newestMs: number
}

/** Why nothing of a backup may be removed by the clock of this machine, which is noted; undefined where nothing speaks against it. */
export async function findClockDoubt(
  backup: SurveyedBackup,
  context: PruneContext,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { parts, lease, outcome } = context
  if (parts.trustsClock) return undefined
  const newestMs = await newestTimeMs(backup, context, signal)
  const doubt = doubtClock({ ...lease.times(), unsetMs: parts.ownLease?.storeNow(), newestMs })
  if (doubt !== undefined) outcome.notes.push(`nothing of it is removed, because ${doubt}`)
  return doubt
}

/** Only one of version 2 with a time in the future needs a request: its writer may have had a wrong clock, and the store the right one. */
async function newestTimeMs(
  { backupId, newest, manifests }: SurveyedBackup,
  { parts, lease }: PruneContext,
  signal: AbortSignal,
): Promise<number> {
  if (!newest) return 0
  const { created_at, generation } = newest
  const timeMs = commitTimeMs(created_at, manifests.get(generation)?.modifiedMs)
  if (timeMs <= lease.times().machineMs) return timeMs
  const stored = await parts.storage.stat(commitKey(backupId, generation), signal)
  return Math.min(timeMs, stored?.modifiedMs ?? timeMs)
}

/**
 * Pure. Why nothing may be removed by the clock of this machine; undefined where nothing speaks against it. A clock that is days ahead would expire at
 * once what should stay for days.
 */
function doubtClock({ storeMs, machineMs, unsetMs = machineMs, newestMs }: ClockFacts): string | undefined {
  const clock = `the clock of this machine says ${formatUtc(machineMs)}`
  if (isFar(machineMs - storeMs)) return `${clock}, and that of the store ${formatUtc(storeMs)}`
  if (isFar(machineMs - unsetMs))
    return `${clock}, but by the time that has passed since this run began it is ${formatUtc(unsetMs)}`
  if (newestMs - machineMs > MAX_DIFFERENCE_MS)
    return `${clock}, and the newest generation is from ${formatUtc(newestMs)}`
  return undefined
}

function isFar(differenceMs: number): boolean {
  return Math.abs(differenceMs) > MAX_DIFFERENCE_MS
}
