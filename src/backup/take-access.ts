import { writeAccess } from '../archive/access.ts'
import { type AccessKind, type AccessSection, accessKinds } from '../archive/access-section.ts'
import { formatUtc } from '../lib/clock.ts'
import type { BackupParts, Prepared } from './round.ts'

/**
 * Reads ACLs, quotas and users, as far as the job wants them, and stores them for the generation to come. What cannot be
 * read does not hold the data up; the manifest then says so.
 */
export async function takeAccess(
  prepared: Prepared,
  backupId: string,
  parts: Pick<BackupParts, 'storage' | 'clock' | 'newRun' | 'readAccess'>,
  signal: AbortSignal,
): Promise<Prepared> {
  const { previous, plan } = prepared
  const access = await take(prepared, backupId, parts, signal)
  const warnings = accessKinds.flatMap(kind => warn(kind, access?.[kind], previous?.access?.[kind]))
  return { ...prepared, ...(access && { access }), plan: { ...plan, warnings: [...plan.warnings, ...warnings] } }
}

async function take(
  { previous }: Prepared,
  backupId: string,
  { storage, clock, newRun, readAccess }: Parameters<typeof takeAccess>[2],
  signal: AbortSignal,
): Promise<AccessSection | undefined> {
  if (!readAccess) return undefined
  const takenAt = formatUtc(clock.now())
  const generation = (previous?.generation ?? 0) + 1
  const place = { backupId, generation, run: newRun(), takenAt, previous: previous?.access }
  return writeAccess(storage, await readAccess(signal), place, signal)
}

const words: Record<AccessKind, string> = { acls: 'ACLs', quotas: 'client quotas', users: 'SCRAM users' }

/** Fewer than before may be right, but none at all is more often a mistake. */
function warn(
  kind: AccessKind,
  now: AccessSection[AccessKind] = { state: 'off' },
  before: AccessSection[AccessKind] = { state: 'off' },
): string[] {
  if (now.state === 'failed') {
    return [`${words[kind]} could not be read, so that this generation has none: ${now.error}`]
  }
  if (before.state !== 'taken' || before.count === 0) return []
  const had = `the generation before had ${before.count}`
  if (now.state === 'off') return [`${words[kind]} are no longer taken (backup.${kind}); ${had}`]
  return now.count === 0 ? [`the source has no ${words[kind]} any more; ${had}, which stay in it`] : []
}
