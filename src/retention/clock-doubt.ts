import type { Times } from '../archive/lease.ts'
import { commitKey } from '../archive/log/keys.ts'
import { formatUtc } from '../lib/clock.ts'
import type { PruneContext, PruneParts } from './prune-context.ts'
import { commitTimeMs, type SurveyedBackup } from './survey.ts'

/** Clocks of machines and stores differ by seconds. One that differs by more than this was set wrong. */
const MAX_DIFFERENCE_MS = 3_600_000

/**
 * Prunes wait for so long after the clock of this machine moved. Meanwhile every lease that lives is renewed by the clock as it is now, and
 * a person can correct a wrong one.
 */
const SETTLING_MS = 1_800_000

interface ClockFacts extends Times {
  /** When the newest generation was made. */
  newestMs: number
}

/** The clock of this machine was set since this process began its run, or the machine was paused. */
interface Move {
  byMs: number
  /** When a prune first saw it with clocks that agree, by the time that has passed. */
  seenMs: number
  isReported: boolean
}

/** By the lease of the run. */
const moves = new WeakMap<object, Move>()

/** Why nothing of a backup may be removed by the clock of this machine, which is noted; undefined where nothing speaks against it. */
export async function findClockDoubt(
  backup: SurveyedBackup,
  context: PruneContext,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { parts, lease, outcome } = context
  if (parts.trustsClock) return undefined
  const newestMs = await newestTimeMs(backup, context, signal)
  const times = lease.times()
  const doubt = doubtClock({ ...times, newestMs }, parts.ownLease) ?? doubtMove(times.machineMs, parts)
  if (doubt !== undefined) outcome.notes.push(`nothing of it is removed, because ${doubt}`)
  return doubt
}

/**
 * Why nothing may be removed because the clock of this machine moved. A machine that its host paused looks like one whose clock was set, so
 * prunes continue after a while: ages are then those of the slower clock, see `nowMs` of the context.
 */
function doubtMove(machineMs: number, { ownLease, onProgress }: PruneParts): string | undefined {
  if (!ownLease) return undefined
  const unsetMs = ownLease.storeNow()
  const byMs = machineMs - unsetMs
  if (!isFar(byMs)) return void moves.delete(ownLease)
  const before = moves.get(ownLease)
  const move = before && !isFar(before.byMs - byMs) ? before : { byMs, seenMs: unsetMs, isReported: false }
  moves.set(ownLease, move)
  const differ = `${saysClock(machineMs)}, but by the time that has passed since this run began it is ${formatUtc(unsetMs)}`
  const leftMs = move.seenMs + SETTLING_MS - unsetMs
  if (leftMs > 0) {
    const until = formatUtc(machineMs + leftMs)
    return `${differ}: it was set, or the machine was paused. Prunes after ${until} remove again, by the slower of both`
  }
  const message = `${differ}: removing again, by the slower of both until this process ends`
  if (!move.isReported) onProgress({ type: 'warning', message })
  move.isReported = true
  return undefined
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
 * Why nothing may be removed by the clock of this machine; undefined where nothing speaks against it. A clock that is days ahead would expire at
 * once what should stay for days. While the clocks differ, a move of this one does not settle.
 */
function doubtClock({ storeMs, machineMs, newestMs }: ClockFacts, run: object | undefined): string | undefined {
  if (isFar(machineMs - storeMs)) {
    if (run) moves.delete(run)
    return `${saysClock(machineMs)}, and that of the store ${formatUtc(storeMs)}`
  }
  if (newestMs - machineMs > MAX_DIFFERENCE_MS)
    return `${saysClock(machineMs)}, and the newest generation is from ${formatUtc(newestMs)}`
  return undefined
}

function saysClock(machineMs: number): string {
  return `the clock of this machine says ${formatUtc(machineMs)}`
}

function isFar(differenceMs: number): boolean {
  return Math.abs(differenceMs) > MAX_DIFFERENCE_MS
}
