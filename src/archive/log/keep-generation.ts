import { hasCode } from '../../errors.ts'
import type { Storage } from '../../storage/storage.ts'
import { manifestOf } from './as-manifest.ts'
import { writeState } from './copy-state.ts'
import { LOG_VERSION, packDocument, unpackDocument, withStableName } from './document.ts'
import { type Commit, commitSchema, MAX_ORIGINALS } from './documents.ts'
import { changeKey, keptKey } from './keys.ts'
import { hashesOf, openGeneration, readCheckpoint, readParts } from './open-generation.ts'
import { readPage } from './segment-lists.ts'
import { writeOverflow } from './write-change.ts'

/**
 * Writes a commit that takes the place of that of a generation, and a checkpoint of its state: from then on the generation can be opened
 * without any other commit. One that an earlier attempt has written stays, unless it is damaged.
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
  const bytes = await packDocument({ ...document, ...written }, key)
  try {
    await storage.create(key, bytes, signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_EXISTS')) throw error
    if (!(await isKept(storage, backupId, generation, signal))) await storage.replace(key, bytes, signal)
  }
}

/** Whether the commit of a generation may go, because the one in its place can be read, with all documents that it names. */
export async function isKept(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<boolean> {
  const key = keptKey(backupId, generation)
  try {
    const { checkpoint, parts } = await unpackDocument(commitSchema, await storage.read(key, signal), key)
    await readParts(storage, backupId, parts, signal)
    if (!checkpoint) return true
    const { pages } = (await readCheckpoint(storage, backupId, checkpoint, signal)).checkpoint
    for (const page of pages) await readPage(storage, backupId, page, signal)
    return true
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW', 'STORAGE_NOT_FOUND')) throw error
    return false
  }
}
