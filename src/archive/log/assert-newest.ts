import { KafkaBackupError } from '../../errors.ts'
import type { Storage } from '../../storage/storage.ts'
import { damaged, unlessDamaged, unlessMissing } from '../damage.ts'
import { hashOf } from '../hash.ts'
import { commitKey } from './keys.ts'
import { readOwnCommit } from './read-commit.ts'

/** A larger commit is recognized by its size: reading it would take as much as writing it. */
const MAX_READ_BYTES = 256 << 10

const help =
  'Find out what changed it: a lifecycle rule, a restored bucket, another program. Then run the same command again: it continues from the newest generation that is left.'

/** The newest commit, as its writer knows it. */
export interface KnownCommit {
  generation: number
  size: number
  blake3: string
}

/**
 * Before a commit that names this one as the one before it: a reader could not follow the next one if this one was removed or replaced. One
 * request if it is intact.
 */
export async function assertNewest(
  storage: Storage,
  backupId: string,
  known: KnownCommit,
  signal: AbortSignal,
): Promise<void> {
  const key = commitKey(backupId, known.generation)
  const problem = await findProblem(storage, key, known, signal)
  if (!problem) return
  const nothing = 'Nothing was committed after it'
  if (problem === 'missing')
    throw damaged(key, `was there, and is not at ${storage.location} any more. ${nothing}`, { help })
  const other = await unlessDamaged(readOwnCommit(storage, backupId, known.generation, signal))
  if (!other)
    throw damaged(key, `at ${storage.location} is not the object that this run continues, and is damaged. ${nothing}`, {
      help,
    })
  const message = `${key} at ${storage.location} was replaced by another commit (run ${other.commit.run}). ${nothing}`
  throw new KafkaBackupError('WRITER_CONFLICT', message, { help, details: { key } })
}

async function findProblem(
  storage: Storage,
  key: string,
  { size, blake3 }: KnownCommit,
  signal: AbortSignal,
): Promise<'missing' | 'changed' | undefined> {
  if (size > MAX_READ_BYTES) {
    const found = await storage.stat(key, signal)
    if (!found) return 'missing'
    return found.size === size ? undefined : 'changed'
  }
  const bytes = await unlessMissing(storage.read(key, signal))
  if (!bytes) return 'missing'
  return bytes.length === size && hashOf(bytes) === blake3 ? undefined : 'changed'
}
