import { KafkaBackupError } from '../../errors.ts'
import type { Storage } from '../../storage/storage.ts'
import { commitKey, commitsPrefix, keptKey, keptPrefix, parseCommitKey, parseKeptKey } from './keys.ts'

/** The newest generation that was committed; undefined without one. Two listings, however many generations there are. */
export async function findNewestCommit(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  for (const folder of (await commitFolders(storage, backupId, signal)).reverse()) {
    const newest = (await commitsIn(storage, backupId, folder, signal)).at(-1)
    if (newest !== undefined) return newest
  }
  return undefined
}

/** The generations that are committed, oldest first: at least the newest `count` of them, from as few listings as that takes. */
export async function listCommits(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
  count = Number.POSITIVE_INFINITY,
): Promise<number[]> {
  let generations: number[] = []
  for (const folder of (await commitFolders(storage, backupId, signal)).reverse()) {
    if (generations.length >= count) break
    generations = (await commitsIn(storage, backupId, folder, signal)).concat(generations)
  }
  if (generations.length >= count) return generations
  const kept = new Set(generations)
  for await (const { key } of storage.list(keptPrefix(backupId), signal)) {
    const generation = parseKeptKey(backupId, key)
    if (generation !== undefined) kept.add(generation)
  }
  return [...kept].sort((a, b) => a - b)
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
