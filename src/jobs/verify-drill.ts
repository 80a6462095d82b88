import { readPublicKey } from '../drill/sign-evidence.ts'
import { type VerifiedEvidence, verifyEvidence } from '../drill/verify-evidence.ts'
import { parseLocation } from '../storage/location.ts'
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
