import { newestState } from '../archive/catalog.ts'
import { hasCarriedSchemas } from '../archive/registry-section.ts'
import { KafkaBackupError, toKafkaBackupError } from '../errors.ts'
import { backupSchemas } from '../registry/backup-schemas.ts'
import type { BackupParts } from './round.ts'
import { confirmLease } from './session.ts'

/** A run that was asked to stop waits no longer than this for the registry. */
const LIMIT_MS = 30_000

/**
 * When a continuous run ends: reads the registry once more if its last generation carries schemas that are older than its records. The run
 * is ending for another reason, so a failure is a warning.
 */
export async function takeFinalSnapshot(backupId: string, parts: BackupParts): Promise<void> {
  const { readRegistry, storage, clock, onProgress } = parts
  if (!readRegistry) return
  const limit = new AbortController()
  const cancel = clock.after(LIMIT_MS, () =>
    limit.abort(new KafkaBackupError('REGISTRY_UNREACHABLE', `the registry has not answered within ${LIMIT_MS} ms`)),
  )
  try {
    const { manifest: newest } = await newestState(storage, backupId, limit.signal)
    if (!newest || !hasCarriedSchemas(newest)) return
    const assertHeld = () => confirmLease(parts, { backupId, previous: newest, keys: [] }, limit.signal)
    await backupSchemas(backupId, { ...parts, readRegistry, assertHeld }, limit.signal)
  } catch (error) {
    const { message } = toKafkaBackupError(error)
    const missing = 'schemas that were registered since the registry was read last are missing in the newest generation'
    onProgress({ type: 'warning', message: `${missing}: ${message}` })
  } finally {
    cancel()
  }
}
