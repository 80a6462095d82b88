import { commitRepair } from '../archive/commit-repair.ts'
import { planRepair, type RepairOptions, type RepairReport } from '../archive/repair.ts'
import { formatUtc, systemClock } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import { version } from '../version.ts'
import { withLeaseAt } from './leases.ts'
import { newRun } from './parts.ts'

export interface RepairRequest extends RepairOptions {
  /** Only find out what would be committed and what is lost. */
  isDryRun: boolean
  /** How long a lease of the writers counts. */
  writerTtlMs?: number
}

/** Commits what can be read of a damaged backup, as its only writer: WRITER_CONFLICT while another one is at work. */
export async function repairAt(
  storage: Storage,
  backupId: string,
  { isDryRun, writerTtlMs, ...options }: RepairRequest,
  signal: AbortSignal,
): Promise<RepairReport> {
  const plan = (nowMs: number) => planRepair(storage, backupId, { ...options, foundAt: formatUtc(nowMs) }, signal)
  if (isDryRun) return (await plan(systemClock.now())).report
  const claim = { backupId, role: 'writer' as const, kind: 'repair', ...(writerTtlMs && { ttlMs: writerTtlMs }) }
  return withLeaseAt(storage, claim, options, signal, async lease => {
    if (!lease) throw new Error('a repair writes')
    const found = await plan(lease.storeNow())
    if (!found.state || !found.report.needed) return { ...found.report, dry_run: false }
    const now = formatUtc(lease.storeNow())
    const confirm = async () => lease.assertHeld()
    return commitRepair(storage, found, { toolVersion: version, run: lease.run, now, newName: newRun, confirm }, signal)
  })
}
