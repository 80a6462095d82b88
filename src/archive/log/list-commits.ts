import { KafkaBackupError } from '../../errors.ts'
import type { Storage } from '../../storage/storage.ts'
import { commitKey, commitsPrefix, keptKey, keptPrefix, parseCommitKey, parseKeptKey } from './keys.ts'

/** The newest generation that was committed, or is kept; undefined without one. Three listings, however many generations there are. */
export async function findNewestCommit(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  // At the same time: a store may be far away, and no prune moves the newest commit to `kept/`.
  const [commits, kept] = await Promise.all([
    newestCommits(storage, backupId, 1, signal),
    keptGenerations(storage, backupId, signal),
  ])
  return inOrder(commits, kept).at(-1)
}

/**
 * The generations that are committed, oldest first: at least the newest `count` of them, from as few listings as that takes. A generation that
 * is kept is the newest one if its commit and all behind it are lost: none with its number, or a lower one, may follow it.
 */
export async function listCommits(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
  count = Number.POSITIVE_INFINITY,
): Promise<number[]> {
  const commits = await newestCommits(storage, backupId, count, signal)
  // Afterwards: a prune creates the one in `kept/` before it removes the commit, so a generation that it moves meanwhile is in one of the listings.
  return inOrder(commits, await keptGenerations(storage, backupId, signal))
}

function inOrder(commits: readonly number[], kept: readonly number[]): number[] {
  return [...new Set([...kept, ...commits])].sort((a, b) => a - b)
}

/** Without those in `kept/`. */
async function newestCommits(
  storage: Storage,
  backupId: string,
  count: number,
  signal: AbortSignal,
): Promise<number[]> {
  let generations: number[] = []
  for (const folder of (await commitFolders(storage, backupId, signal)).reverse()) {
    if (generations.length >= count) break
    generations = (await commitsIn(storage, backupId, folder, signal)).concat(generations)
  }
  return generations
}

async function keptGenerations(storage: Storage, backupId: string, signal: AbortSignal): Promise<number[]> {
  const generations: number[] = []
  for await (const { key } of storage.list(keptPrefix(backupId), signal)) {
    const generation = parseKeptKey(backupId, key)
    if (generation !== undefined) generations.push(generation)
  }
  return generations
}

async function commitFolders(storage: Storage, backupId: string, signal: AbortSignal): Promise<string[]> {
  const folders: string[] = []
  for await (const folder of storage.listFolders(commitsPrefix(backupId), signal)) {
    if (/^[0-9]{9}$/.test(folder)) folders.push(folder)
  }
  return folders.sort()
}

async function commitsIn(storage: Storage, backupId: string, folder: string, signal: AbortSignal): Promise<number[]> {
  const generations: number[] = []
  for await (const { key } of storage.list(`${commitsPrefix(backupId)}${folder}/`, signal)) {
    const generation = parseCommitKey(key)
    if (generation !== undefined && key === commitKey(backupId, generation)) generations.push(generation)
  }
  return generations.sort((a, b) => a - b)
}

/** Whether there is a commit of the generation, or what takes its place. */
export async function hasCommit(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<boolean> {
  for (const key of [commitKey(backupId, generation), keptKey(backupId, generation)]) {
    if (await storage.stat(key, signal)) return true
  }
  return false
}

export function commitNotFound({ location }: Storage, backupId: string, generation: number): KafkaBackupError {
  const key = commitKey(backupId, generation)
  return new KafkaBackupError('STORAGE_NOT_FOUND', `${key} does not exist at ${location}`)
}
