import { hasCode } from '../../errors.ts'
import type { Storage } from '../../storage/storage.ts'
import { manifestOf } from './as-manifest.ts'
import { writeState } from './copy-state.ts'
import { LOG_VERSION, packDocument, withStableName } from './document.ts'
import { type Commit, MAX_ORIGINALS } from './documents.ts'
import { changeKey, keptKey } from './keys.ts'
import { hashesOf, openGeneration } from './open-generation.ts'
import { writeOverflow } from './write-change.ts'

/**
 * Writes a commit that takes the place of that of a generation, and a checkpoint of its state: from then on the generation can be opened
 * without any other commit. One that an earlier attempt has written stays.
 */
export async function keepGeneration(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<void> {
  const opened = await openGeneration(storage, backupId, generation, signal)
  const manifest = manifestOf(storage, opened)
  const { tool_version, run, complete, created_at, started_at } = opened.commit
  const { start, written } = await withStableName(`kept ${opened.ref.blake3}`, async writer => {
    const { start, change } = await writeState(storage, manifest, writer, signal)
    const keyOf = (number: number) => changeKey(backupId, generation, writer, number)
    return { start, written: await writeOverflow({ storage, backupId, keyOf }, change, signal) }
  })
  const document: Omit<Commit, 'change' | 'parts'> = {
    format: 'kafka-backup-commit',
    format_version: LOG_VERSION,
    ...{ tool_version, run, complete, created_at, started_at },
    backup_id: backupId,
    generation,
    previous: null,
    originals: hashesOf(opened).slice(-MAX_ORIGINALS),
    ...start.chain,
  }
  const key = keptKey(backupId, generation)
  try {
    await storage.create(key, await packDocument({ ...document, ...written }, key), signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_EXISTS')) throw error
  }
}
