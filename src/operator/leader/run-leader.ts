import { startTimeLimit } from '../../lib/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import type { ObjectRef } from '../kube/object.ts'
import { LeaseClaim } from './lease-claim.ts'

export interface LeaderOptions {
  api: KubeApi
  clock: Clock
  random: () => number
  lease: ObjectRef
  /** Different for each process, also for two of the same pod. */
  identity: string
  timing?: Partial<LeaderTiming>
  onChange?: (isLeader: boolean) => void
  onFailure?: (error: unknown) => void
}

export interface LeaderTiming {
  /** Others take over when the lease has not changed for this long. */
  leaseMs: number
  /** A leader that cannot renew for this long stops. Well below `leaseMs`, so two replicas never lead at once. */
  renewDeadlineMs: number
  retryMs: number
}

const leaderTiming: LeaderTiming = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2000 }

/** The abort reason of the work's signal. */
export class LeadershipLost extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'LeadershipLost'
  }
}

/** A pod may restart its process before the old one has ended, so its name is not enough. */
export function formatIdentity(podName: string, uuid: string): string {
  return `${podName}_${uuid}`
}

/**
 * Runs the work whenever this process leads, until the signal. The work's signal is aborted when leadership is no longer
 * certain; the lease is released or requested again only after the work has stopped. If the work fails, its error ends the call.
 */
export async function runLeader(
  options: LeaderOptions,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const timing = { ...leaderTiming, ...options.timing }
  const claim = new LeaseClaim({ ...options, leaseMs: timing.leaseMs })
  try {
    while (!signal.aborted) {
      const sinceMs = await acquire(claim, options, timing, signal)
      if (sinceMs !== undefined) await lead(claim, sinceMs, options, timing, work, signal)
    }
  } finally {
    await release(claim, options, timing)
  }
}

/** The local time from which the lease is surely held; undefined if the signal came first. */
async function acquire(
  claim: LeaseClaim,
  options: LeaderOptions,
  timing: LeaderTiming,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { clock, random } = options
  while (!signal.aborted) {
    const askedMs = clock.monotonic()
    if (await tryClaim(claim, options, timing, signal)) return askedMs
    const delayMs = timing.retryMs * (1 + random() / 5)
    await clock.sleep(delayMs, signal).catch(() => undefined)
  }
  return undefined
}

async function lead(
  claim: LeaseClaim,
  sinceMs: number,
  options: LeaderOptions,
  timing: LeaderTiming,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, onChange } = options
  const leading = new AbortController()
  const ended = new AbortController()
  if (clock.monotonic() - sinceMs >= timing.renewDeadlineMs) return
  onChange?.(true)
  const onStop = () => leading.abort(signal.reason)
  signal.addEventListener('abort', onStop, { once: true })
  if (signal.aborted) onStop()
  const lose = (why: string) => {
    ended.abort()
    leading.abort(new LeadershipLost(why))
  }
  const renewing = keepRenewing(claim, sinceMs, options, timing, lose, ended.signal)
  try {
    await work(leading.signal)
    if (!leading.signal.aborted) throw new Error('the work of the leader ended by itself')
  } catch (error) {
    if (!leading.signal.aborted) throw error
  } finally {
    ended.abort()
    signal.removeEventListener('abort', onStop)
    await renewing
    onChange?.(false)
  }
}

/** Renews until the signal or until it calls `lose`, which it does on time even if a request hangs. */
async function keepRenewing(
  claim: LeaseClaim,
  sinceMs: number,
  options: LeaderOptions,
  timing: LeaderTiming,
  lose: (why: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { clock, identity } = options
  const why = `the lease could not be renewed for ${timing.renewDeadlineMs} ms`
  const watchFrom = (ms: number) =>
    clock.after(Math.max(0, ms + timing.renewDeadlineMs - clock.monotonic()), () => lose(why))
  let cancel = watchFrom(sinceMs)
  try {
    while (!signal.aborted) {
      await clock.sleep(timing.retryMs, signal).catch(() => undefined)
      if (signal.aborted) return
      // The write counts from when it was sent: the server may respond late.
      const askedMs = clock.monotonic()
      if (await tryClaim(claim, options, timing, signal)) {
        cancel()
        cancel = watchFrom(askedMs)
      } else if (claim.holder !== identity && !signal.aborted) {
        lose(`${claim.holder === '' ? 'no replica' : claim.holder} holds the lease`)
      }
    }
  } finally {
    cancel()
  }
}

/** One attempt, limited to half of the deadline, to leave time for another one. */
async function tryClaim(
  claim: LeaseClaim,
  { clock, onFailure }: LeaderOptions,
  timing: LeaderTiming,
  signal: AbortSignal,
): Promise<boolean> {
  const over = startTimeLimit(timing.renewDeadlineMs / 2, clock, signal)
  try {
    return await claim.claim(over.signal)
  } catch (error) {
    if (!signal.aborted) onFailure?.(error)
    return false
  } finally {
    over.end()
  }
}

async function release(claim: LeaseClaim, { clock, onFailure }: LeaderOptions, timing: LeaderTiming): Promise<void> {
  const over = startTimeLimit(timing.retryMs, clock, new AbortController().signal)
  try {
    await claim.release(over.signal)
  } catch (error) {
    onFailure?.(error)
  } finally {
    over.end()
  }
}
