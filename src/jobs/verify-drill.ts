import { drillFolder, drillName } from '../drill/journal.ts'
import { readPublicKey } from '../drill/sign-evidence.ts'
import { type VerifiedEvidence, verifyEvidence } from '../drill/verify-evidence.ts'
import { parseLocation } from '../storage/location.ts'
import type { Storage } from '../storage/storage.ts'
import { evidenceInBackup, newestEvidence } from './drill-place.ts'
import { openBareStorage } from './parts.ts'

/** Checks the evidence of one drill: `location` is its folder. */
export async function verifyEvidenceAt(
  { location, publicKey }: { location: string; publicKey: string },
  signal: AbortSignal,
): Promise<VerifiedEvidence> {
  const key = await readPublicKey(publicKey)
  const storage = await openBareStorage(parseLocation(location), signal)
  try {
    return await verifyEvidence(storage, key, signal)
  } finally {
    await storage.close()
  }
}

/**
 * Checks the newest evidence in the folder of a backup. A signature says nothing about the folder: evidence of another backup or an older drill,
 * copied to a newer folder, has one too.
 */
export async function verifyNewestEvidence(
  storage: Storage,
  { backupId, publicKey }: { backupId: string; publicKey: string },
  signal: AbortSignal,
): Promise<VerifiedEvidence> {
  const key = await readPublicKey(publicKey)
  const { folder, files } = await newestEvidence(evidenceInBackup(storage, backupId), backupId, signal)
  const verified = await verifyEvidence(files, key, signal)
  const { backup, started_at, run } = verified.evidence
  const own = drillFolder(backup.id, drillName(started_at, run))
  if (folder === own) return verified
  const problem = `the evidence was copied here: it is that of ${own}, and its folder is ${folder}`
  return { ...verified, ok: false, problems: [...verified.problems, problem] }
}
