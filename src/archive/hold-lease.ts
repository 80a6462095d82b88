import { KafkaBackupError } from '../errors.ts'
import { HeldLease, type Lease, type LeaseClaim, type LeaseParts } from './held-lease.ts'
import { awaitPrune, beginWriter } from './writer-lease.ts'

export type { Lease, LeaseClaim, LeaseParts } from './held-lease.ts'

/**
 * Works under a lease, which is renewed until the work has ended and removed then, however it ended. A writer waits for
 * another writer of the same backup and for a prune that is at work: of two that look for each other after they have
 * written their leases, at least one sees the other. A reader that may not write does its work without: the grace period
 * of a prune is all that covers it.
 */
export async function withLease<T>(
  parts: LeaseParts,
  claim: LeaseClaim,
  signal: AbortSignal,
  work: (lease: Lease | undefined) => Promise<T>,
): Promise<T> {
  const lease = await begin(parts, claim, signal)
  if (!lease) return work(undefined)
  try {
    if (claim.role === 'writer') await awaitPrune(lease, parts, claim, signal)
    return await work(lease)
  } finally {
    await lease.end()
  }
}

async function begin(parts: LeaseParts, claim: LeaseClaim, signal: AbortSignal): Promise<HeldLease | undefined> {
  if (claim.role === 'writer') return beginWriter(parts, claim, signal)
  const lease = new HeldLease(parts, claim)
  return (await tryBegin(lease, parts, claim, signal)) ? lease : undefined
}

async function tryBegin(lease: HeldLease, parts: LeaseParts, claim: LeaseClaim, signal: AbortSignal): Promise<boolean> {
  try {
    await lease.begin(signal)
    return true
  } catch (error) {
    if (claim.role !== 'reader' || signal.aborted || !(error instanceof KafkaBackupError)) throw error
    const message = `no lease can be written at ${parts.storage.location}, so that only the grace period keeps a prune away: ${error.message}`
    parts.onProgress({ type: 'note', message })
    return false
  }
}
