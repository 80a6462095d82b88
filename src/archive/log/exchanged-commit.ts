import type { KafkaBackupError } from '../../errors.ts'
import type { Storage } from '../../storage/storage.ts'
import { damaged, unlessDamaged } from '../damage.ts'
import { hashesOf, type ReadCommit, readOwnCommit } from './read-commit.ts'

const help = 'One of the two belongs to another log: `kafka-backup verify --deep` names the generations that it hides.'

/** An intact commit of another log in the place of one: the next commit follows another one. Undefined where nothing shows this. */
export async function findExchange(
  storage: Storage,
  read: ReadCommit,
  signal: AbortSignal,
): Promise<KafkaBackupError | undefined> {
  if (!(await isExchanged(storage, read, signal))) return undefined
  return damaged(read.ref.key, 'is not the commit that the next one follows', { help })
}

/** Only a commit that is the right one can say what comes before it. */
async function isExchanged(storage: Storage, read: ReadCommit, signal: AbortSignal): Promise<boolean> {
  const { backup_id, generation } = read.commit
  const next = await readIntact(storage, backup_id, generation + 1, signal)
  if (!next?.commit.previous || hashesOf(read).includes(next.commit.previous.blake3)) return false
  return !(await isExchanged(storage, next, signal))
}

/** Nothing vouches for the newest commit. If it lies behind a checkpoint, opening it does not compare it with the one before it. */
export async function assertFollows(storage: Storage, { commit, ref }: ReadCommit, signal: AbortSignal): Promise<void> {
  const { backup_id, generation, previous } = commit
  if (!previous) return
  const before = await readIntact(storage, backup_id, generation - 1, signal)
  if (!before || before.ref.blake3 === previous.blake3) return
  throw damaged(ref.key, `does not follow ${before.ref.key}`, { help })
}

/** The hash that the commit of a generation has, or had; undefined where neither it nor the next one says so. */
export async function hashOfOwn(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const own = await readIntact(storage, backupId, generation, signal)
  if (own && !(await isExchanged(storage, own, signal))) return own.ref.blake3
  return (await readIntact(storage, backupId, generation + 1, signal))?.commit.previous?.blake3
}

function readIntact(storage: Storage, backupId: string, generation: number, signal: AbortSignal) {
  return unlessDamaged(readOwnCommit(storage, backupId, generation, signal))
}
