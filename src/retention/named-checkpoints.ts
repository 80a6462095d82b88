import { unpackDocument } from '../archive/log/document.ts'
import { checkpointSchema } from '../archive/log/documents.ts'
import { parseLogKey } from '../archive/log/keys.ts'
import { readOwnCommit } from '../archive/log/read-commit.ts'
import type { NamedObject } from '../archive/manifest.ts'
import { hasCode } from '../errors.ts'
import type { Storage, StoredObject } from '../storage/storage.ts'

/** What a checkpoint names. Undefined for a damaged one that no generation needs: a writer died before a commit named it. */
export async function readUnlessOrphan(
  storage: Storage,
  backupId: string,
  key: string,
  left: { objects: readonly StoredObject[]; from: number; named: ReadonlySet<string> },
  signal: AbortSignal,
): Promise<readonly NamedObject[] | undefined> {
  try {
    const { pages, parts } = await unpackDocument(checkpointSchema, await storage.read(key, signal), key)
    return [...pages, ...parts]
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
    if (left.named.has(key) || (await isCheckpointNamed(storage, backupId, key, left, signal))) throw error
    return undefined
  }
}

/** Whether a commit that stays names a checkpoint. Commits name one of an earlier generation, and later ones none that is older. */
async function isCheckpointNamed(
  storage: Storage,
  backupId: string,
  key: string,
  { objects, from }: { objects: readonly StoredObject[]; from: number },
  signal: AbortSignal,
): Promise<boolean> {
  const generation = parseLogKey(backupId, key)?.to ?? 0
  const commits = objects.flatMap(object => {
    const { kind, to } = parseLogKey(backupId, object.key) ?? { kind: undefined, to: 0 }
    return kind === 'commit' && to > generation && to >= from ? [to] : []
  })
  for (const one of commits.sort((a, b) => a - b)) {
    const { checkpoint } = (await readOwnCommit(storage, backupId, one, signal)).commit
    if (checkpoint?.key === key) return true
    if (checkpoint && checkpoint.generation > generation) return false
  }
  return false
}
