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

/** Checks the newest evidence in the folder of a backup. */
export async function verifyNewestEvidence(
  storage: Storage,
  { backupId, publicKey }: { backupId: string; publicKey: string },
  signal: AbortSignal,
): Promise<VerifiedEvidence> {
  const key = await readPublicKey(publicKey)
  return verifyEvidence(await newestEvidence(evidenceInBackup(storage, backupId), backupId, signal), key, signal)
}
