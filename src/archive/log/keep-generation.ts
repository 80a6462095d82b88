import { hasCode } from '../../errors.ts'
import type { Storage } from '../../storage/storage.ts'
import { damaged } from '../damage.ts'
import { manifestOf } from './as-manifest.ts'
import { writeState } from './copy-state.ts'
import { LOG_VERSION, packDocument, withStableName } from './document.ts'
import type { Commit } from './documents.ts'
import { findExchange, hashOfOwn } from './exchanged-commit.ts'
import { changeKey, keptKey } from './keys.ts'
import { openCommit, openGeneration } from './open-generation.ts'
import { hashesOf, originalsOf, readKeptCommit } from './read-commit.ts'
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
  const damage = opened.damage ?? (await findExchange(storage, opened, signal))
  // The object in its place is the only one that can be read, and nothing better can be written.
  if (damage && (await isKept(storage, backupId, generation, signal))) return
  if (damage) throw damage
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
    originals: originalsOf(opened),
    ...start.chain,
  }
  const key = keptKey(backupId, generation)
  const bytes = await packDocument({ ...document, ...written }, key)
  try {
    await storage.create(key, bytes, signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_EXISTS')) throw error
    if (!(await isKept(storage, backupId, generation, signal))) await replaceKept(storage, key, bytes, signal)
  }
}

/** The right to create objects may lack the right to replace them, and a store may protect the damaged one: both concern this backup alone. */
async function replaceKept(storage: Storage, key: string, bytes: Buffer, signal: AbortSignal): Promise<void> {
  try {
    await storage.replace(key, bytes, signal)
  } catch (cause) {
    if (!hasCode(cause, 'STORAGE_DENIED', 'STORAGE_RETAINED', 'STORAGE_EXISTS')) throw cause
    const help = 'allow the process to replace it, or remove it; the next prune then writes it again'
    throw damaged(key, `is damaged, and cannot be replaced: ${help} (${cause.message})`, { cause, help: `${help}.` })
  }
}

/**
 * Whether the commit of a generation may go, because the one in its place can be read as a reader does, with all documents and lists. It has to be
 * one of the same generation of the same log: an object of another one may be intact, and would take its place for good.
 */
export async function isKept(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const kept = await readKeptCommit(storage, backupId, generation, signal)
    if (!kept || kept.commit.previous) return false
    const original = await hashOfOwn(storage, backupId, generation, signal)
    if (original !== undefined && !hashesOf(kept).includes(original)) return false
    const { topics } = manifestOf(storage, await openCommit(storage, kept, signal))
    for (const { list, reread } of topics.flatMap(({ partitions }) => partitions)) {
      await list?.read(signal)
      await reread?.list?.read(signal)
    }
    return true
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW')) throw error
    return false
  }
}
