import { hasCode, KafkaBackupError } from '../../errors.ts'
import type { Storage } from '../../storage/storage.ts'
import type { NamedObject } from '../manifest.ts'
import { assertNewest } from './assert-newest.ts'
import { LOG_VERSION, nameDocument, packDocument } from './document.ts'
import type { Commit } from './documents.ts'
import { commitKey } from './keys.ts'
import { type ReadCommit, readCommit } from './read-commit.ts'

interface CreatedCommit {
  ref: NamedObject
  /** Of an earlier attempt of the same run with another change, which took effect without a reply. */
  earlier?: ReadCommit
}

/**
 * Creates the commit of a generation behind `previous`, which has to be as its writer knows it; undefined where no reader needs that one. Fails with
 * WRITER_CONFLICT where another run has made the generation.
 */
export async function createCommit(
  storage: Storage,
  facts: Omit<Commit, 'format' | 'format_version' | 'change'> & { change: object },
  previous: Pick<NamedObject, 'size' | 'blake3'> | undefined,
  signal: AbortSignal,
): Promise<CreatedCommit> {
  const { backup_id: backupId, generation, run } = facts
  const key = commitKey(backupId, generation)
  const bytes = await packDocument({ format: 'kafka-backup-commit', format_version: LOG_VERSION, ...facts }, key)
  const ref = nameDocument(key, bytes)
  if (previous) await assertNewest(storage, backupId, { ...previous, generation: generation - 1 }, signal)
  try {
    await storage.create(key, bytes, signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_EXISTS')) throw error
    const existing = await readCommit(storage, backupId, generation, signal)
    if (existing.commit.run !== run) throw conflict(storage, facts, error)
    if (existing.ref.blake3 !== ref.blake3) return { ref: existing.ref, earlier: existing }
  }
  return { ref }
}

function conflict(
  { location }: Storage,
  { backup_id, generation }: Pick<Commit, 'backup_id' | 'generation'>,
  cause: unknown,
): KafkaBackupError {
  const message = `another process committed generation ${generation} of backup \`${backup_id}\` at ${location}`
  return new KafkaBackupError('WRITER_CONFLICT', message, { cause })
}
