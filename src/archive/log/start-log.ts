import { hasCode, KafkaBackupError } from '../../errors.ts'
import type { Storage } from '../../storage/storage.ts'
import { manifestKey } from '../layout.ts'
import type { Manifest } from '../manifest.ts'
import { emptyStart, type LogStart } from './commit-log.ts'
import { isLogMarker, logMarker } from './marker.ts'
import { writeFirstCheckpoint } from './write-checkpoint.ts'

/**
 * Where version 2 begins: behind the newest generation of version 1, or with nothing. From here on an older program refuses
 * the backup. The state does not change before the first commit.
 */
export async function beginLog(
  storage: Storage,
  backupId: string,
  newest: Manifest | undefined,
  writer: string,
  signal: AbortSignal,
): Promise<LogStart> {
  const generation = newest?.generation ?? 0
  const written = newest && (await writeFirstCheckpoint(storage, newest, writer, signal))
  await createMarker(storage, backupId, generation + 1, signal)
  if (!written) return emptyStart
  const { state, ref, bytes, pages } = written
  return { generation, state, chain: { checkpoint: ref, rollups: [] }, previous: null, checkpointBytes: bytes, pages }
}

/** From this generation on an older program refuses the backup. */
export async function createMarker(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<void> {
  const key = manifestKey(backupId, generation)
  try {
    await storage.create(key, logMarker, signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_EXISTS')) throw error
    // A writer that died before its first commit has left it.
    if (isLogMarker(await storage.read(key, signal))) return
    const message = `another process committed generation ${generation} of backup \`${backupId}\` at ${storage.location}`
    throw new KafkaBackupError('WRITER_CONFLICT', message, { cause: error })
  }
}
