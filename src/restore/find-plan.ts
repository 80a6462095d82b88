import { listGenerations, openBackup, readManifest } from '../archive/catalog.ts'
import type { Manifest } from '../archive/manifest.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { Storage } from '../storage/storage.ts'
import type { RestoreOptions } from './options.ts'
import { deriveRestoreId, fingerprintOf, planRestore, type RestorePlan } from './plan.ts'
import { type RestoreProgress, readProgress } from './progress.ts'
import { findRegistryStores } from './registry-topics.ts'

export interface FoundPlan {
  plan: RestorePlan
  restoreId: string
  /** The id of the target. */
  targetCluster: string | null
  progress: RestoreProgress | undefined
}

/** A restore that has begun goes on with its generation, though the backup may have got newer ones since. */
export async function findPlan(
  options: RestoreOptions,
  {
    cluster,
    storage,
    readNotes = readProgress,
  }: { cluster: Cluster; storage: Storage; readNotes?: typeof readProgress },
  signal: AbortSignal,
): Promise<FoundPlan> {
  const newest = await openBackup(storage, options.backupId, signal)
  const read = (generation: number) => readGeneration(storage, newest, generation, signal)
  const { clusterId, topics } = await cluster.metadata({ topics: null }, signal)
  const planOf = async (generation: number) => {
    const manifest = await read(generation)
    return planRestore(manifest, options, await findRegistryStores(manifest, options, storage, signal))
  }
  const wished = await planOf(options.generation ?? newest.generation)
  const restoreId = options.restoreId ?? deriveRestoreId(wished, clusterId)
  const noted = standing(await readNotes(cluster, restoreId, signal), topics)
  if (!noted) return { plan: wished, restoreId, targetCluster: clusterId, progress: undefined }
  const generation = options.generation ?? noted.generation
  const plan = generation === wished.generation ? wished : await planOf(generation)
  if (noted.fingerprint !== fingerprintOf(plan)) throw otherPlan(restoreId, noted.generation)
  if (newest.generation > generation && options.generation === undefined) {
    plan.notice = `it continues with generation ${generation}, with which it began; there are newer ones`
    plan.warnings.push(plan.notice)
  }
  return { plan, restoreId, targetCluster: clusterId, progress: noted }
}

/** What a restore is of: the generation that it began with, that which is asked for, or the newest. */
export async function findGeneration(
  options: RestoreOptions,
  {
    cluster,
    storage,
    readNotes = readProgress,
  }: { cluster: Cluster; storage: Storage; readNotes?: typeof readProgress },
  signal: AbortSignal,
): Promise<Manifest> {
  const newest = await openBackup(storage, options.backupId, signal)
  const wished = await readGeneration(storage, newest, options.generation ?? newest.generation, signal)
  if (options.generation !== undefined) return wished
  const { clusterId, topics } = await cluster.metadata({ topics: null }, signal)
  const restoreId = options.restoreId ?? deriveRestoreId(planRestore(wished, options), clusterId)
  const noted = standing(await readNotes(cluster, restoreId, signal), topics)
  return noted ? readGeneration(storage, newest, noted.generation, signal) : wished
}

/** What was noted of a topic that is deleted counts no more; undefined where that is all. */
function standing(
  noted: RestoreProgress | undefined,
  topics: readonly { name: string }[],
): RestoreProgress | undefined {
  const there = new Set(topics.map(({ name }) => name))
  const streams = new Map([...(noted?.streams ?? [])].filter(([, { topic }]) => there.has(topic)))
  return noted && streams.size > 0 ? { ...noted, streams } : undefined
}

/** A generation of a backup whose newest is known; one that is not there is told with those that are. */
export async function readGeneration(
  storage: Storage,
  newest: Manifest,
  generation: number,
  signal: AbortSignal,
): Promise<Manifest> {
  if (generation === newest.generation) return newest
  try {
    return await readManifest(storage, newest.backup_id, generation, signal)
  } catch (cause) {
    if (!hasCode(cause, 'STORAGE_NOT_FOUND')) throw cause
    const message = `the backup ${newest.backup_id} has no generation ${generation}; its newest is ${newest.generation}`
    const there = await listGenerations(storage, newest.backup_id, signal)
    const help = `It has ${there.length}, from ${there[0]} to ${there.at(-1)}; correct restore.generation.`
    throw new KafkaBackupError('RESTORE_REFUSED', message, { cause, help })
  }
}

function otherPlan(restoreId: string, generation: number): KafkaBackupError {
  const message = `the restore ${restoreId} has begun with other topics, ranges, mappings or schema IDs, of generation ${generation}`
  return new KafkaBackupError('RESTORE_REFUSED', message, {
    help: 'Run the job as it was, or set another restore.restore_id and restore into other topics.',
  })
}
