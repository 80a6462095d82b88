import { hostname } from 'node:os'
import { type Lease, type LeaseClaim, type LeaseParts, withLease } from '../archive/writer-lease.ts'
import { systemClock } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import { version } from '../version.ts'
import { type Hooks, newRun } from './parts.ts'
import { hasProcessEnded, processIdentity } from './process-identity.ts'

/** Works under a lease on a backup; a run that only reads writes none. */
export function withLeaseAt<T>(
  storage: Storage,
  claim: LeaseClaim,
  hooks: Hooks,
  signal: AbortSignal,
  work: (lease: Lease | undefined) => Promise<T>,
): Promise<T> {
  if (hooks.isReadOnly) return work(undefined)
  return withLease(leaseParts(storage, hooks), claim, signal, work)
}

export function leaseParts(storage: Storage, { onProgress }: Pick<Hooks, 'onProgress'>): LeaseParts {
  const identity = processIdentity()
  const process_ = { host: hostname(), pid: process.pid, ...(identity && { identity }), hasEnded: hasProcessEnded }
  return { storage, clock: systemClock, newRun, toolVersion: version, ...process_, onProgress }
}
