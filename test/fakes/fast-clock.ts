import { type Clock, systemClock } from '../../src/lib/clock.ts'

/** A clock that runs `factor` times as fast as the real one, for limits of minutes that a test must reach. */
export function fastClock(factor: number): Clock {
  return {
    now: systemClock.now,
    monotonic: () => systemClock.monotonic() * factor,
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
    after: (ms, ring) => systemClock.after(ms / factor, ring),
  }
}
