import { hasCode } from '../errors.ts'
import type { HeldLease, LeaseParts } from './held-lease.ts'
import { registryLeaseFolder } from './layout.ts'
import { WRITER_TTL_MS } from './lease.ts'
import { beginWriter } from './writer-lease.ts'

export interface RegistryHold {
  /** Fails where a lease was not renewed in time: another restore may be at work by now. */
  assertHeld(): void
  /** May be called again. */
  release(): Promise<void>
}

/**
 * Keeps other restores away from a registry: one lease for each of its addresses, in one order for all, in the store that
 * has the journal. A restore that is at work is waited for, as by a writer of a backup: until it ends or its lease expires;
 * one that renews its lease meanwhile refuses this one. Where no lease may be written, nothing is kept away, and that is
 * reported; the journal, which lies there too, then cannot be written either.
 */
export async function holdRegistry(
  parts: LeaseParts,
  { urls, kind }: { urls: readonly string[]; kind: string },
  signal: AbortSignal,
): Promise<RegistryHold> {
  const held: HeldLease[] = []
  const release = async () => {
    for (const lease of held.splice(0)) await lease.end()
  }
  try {
    for (const url of [...new Set(urls.map(plainAddress))].sort()) {
      const claim = {
        backupId: registryLeaseFolder(url),
        role: 'writer',
        kind,
        where: `registry ${url}`,
        help,
      } as const
      held.push(await beginWriter(parts, claim, signal))
    }
  } catch (error) {
    await release()
    if (!hasCode(error, 'STORAGE_DENIED', 'STORAGE_REFUSED', 'STORAGE_RETAINED')) throw error
    const message = `no lease can be written at ${parts.storage.location}, so a second restore into this registry at the same time is not prevented: ${error.message}`
    parts.onProgress({ type: 'note', message })
  }
  const assertHeld = () => {
    for (const lease of held) lease.assertHeld()
  }
  return { assertHeld, release }
}

const help =
  'Let it finish or stop it, then run the same command again. After a crash nothing has to be removed: the lease of a ' +
  `process that has ended on this machine does not count, and any other expires after ${WRITER_TTL_MS / 60_000} minutes.`

/** Without a login, which must not be shown, and in one spelling. */
function plainAddress(url: string): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname.replace(/\/+$/, '')}`
}
