import { listGenerations, openBackup, readGeneration as readStored } from '../archive/catalog.ts'
import type { Manifest } from '../archive/manifest.ts'
import { findAsOf, type GenerationChoice } from '../archive/select-generation.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { MetadataResponse } from '../kafka/api/metadata.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { Storage } from '../storage/storage.ts'
import { deriveRestoreId, describeRequest, fingerprintOf, planRestore, type RestorePlan } from './plan.ts'
import { type RestoreProgress, readProgress } from './progress.ts'
import { findRegistryStores } from './registry-topics.ts'
import type { RestoreOptions } from './restore-options.ts'

/** A restore as the backup and the target know it. */
export interface FoundRestore {
  /** Of the generation that is restored. */
  manifest: Manifest
  /** Without the schema IDs of the target, which `planWithIds` adds when they are known. */
  plan: RestorePlan
  restoreId: string
  /** All topics and brokers of the target. */
  target: MetadataResponse
  progress: RestoreProgress | undefined
}

interface FindParts {
  cluster: Cluster
  storage: Storage
  /** The newest generation of the backup, where it was read before. */
  newest?: Manifest
  readNotes?: typeof readProgress
}

/** A restore that has begun continues with its generation, although the backup may have newer ones by now. */
export async function findRestore(
  options: RestoreOptions,
  { cluster, storage, readNotes = readProgress, ...read }: FindParts,
  signal: AbortSignal,
): Promise<FoundRestore> {
  const newest = read.newest ?? (await openBackup(storage, options.backupId, signal))
  const target = await cluster.metadata({ topics: null }, signal)
  const named = { backupId: newest.backup_id, request: describeRequest(options) }
  const restoreId = options.restoreId ?? deriveRestoreId(named, target.clusterId)
  const progress = withoutDeleted(await readNotes(cluster, restoreId, signal), target.topics)
  // Nothing is asked of newer generations: what they hold, and whether they fit the job, must not stop what has begun.
  const generation =
    options.generation ?? progress?.generation ?? (await findGeneration(storage, newest, options, signal))
  const manifest = await readGeneration(storage, newest, generation, signal, progress !== undefined)
  const plan = planRestore(manifest, options, await findRegistryStores(manifest, options, storage, signal))
  if (progress && (await isOutdated(storage, newest, options, generation, signal))) {
    plan.notice = `it continues with generation ${generation}, with which it began; there are newer ones`
    plan.warnings.push(plan.notice)
  }
  return { manifest, plan, restoreId, target, progress }
}

/** Whether the job would select a newer generation if it began now. */
async function isOutdated(
  storage: Storage,
  newest: Manifest,
  options: RestoreOptions,
  generation: number,
  signal: AbortSignal,
): Promise<boolean> {
  if (newest.generation <= generation) return false
  try {
    return (await findGeneration(storage, newest, options, signal)) > generation
  } catch (error) {
    if (hasCode(error, 'GENERATION_NOT_FOUND', 'ARCHIVE_DAMAGED')) return false
    throw error
  }
}

/** Pure. The plan with the schema IDs that records are given. What has begun with other IDs cannot be continued. */
export function planWithIds(
  { plan, restoreId, progress }: Pick<FoundRestore, 'plan' | 'restoreId' | 'progress'>,
  { rewrite }: RestoreOptions,
): RestorePlan {
  const planned = rewrite?.writes ? { ...plan, idMapDigest: rewrite.idMap.digest } : plan
  if (!progress || progress.fingerprint === fingerprintOf(planned)) return planned
  const message = `the restore ${restoreId} has begun with other topics, ranges, mappings or schema IDs, of generation ${progress.generation}`
  throw new KafkaBackupError('RESTORE_REFUSED', message, {
    help: 'Run the job as it was, or set another restore.restore_id and restore into other topics.',
  })
}

/** Progress without that on deleted topics; undefined where nothing is left. */
function withoutDeleted(
  noted: RestoreProgress | undefined,
  topics: readonly { name: string }[],
): RestoreProgress | undefined {
  const existing = new Set(topics.map(({ name }) => name))
  const streams = new Map([...(noted?.streams ?? [])].filter(([, { topic }]) => existing.has(topic)))
  return noted && streams.size > 0 ? { ...noted, streams } : undefined
}

/** Progress as far as the user may read it: a missing permission is reported with the other findings. */
export const readIfAllowed: typeof readProgress = (...args) =>
  readProgress(...args).catch(error => {
    if (hasCode(error, 'KAFKA_DENIED')) return undefined
    throw error
  })

/** The state that a job asks for. */
export async function readSelected(
  storage: Storage,
  newest: Manifest,
  choice: GenerationChoice,
  signal: AbortSignal,
): Promise<Manifest> {
  return readGeneration(storage, newest, await findGeneration(storage, newest, choice, signal), signal)
}

async function findGeneration(
  storage: Storage,
  newest: Manifest,
  { generation, asOfMs }: GenerationChoice,
  signal: AbortSignal,
): Promise<number> {
  if (generation !== undefined) return generation
  return asOfMs === undefined ? newest.generation : findAsOf(storage, newest.backup_id, asOfMs, signal)
}

/** A generation of a backup whose newest is known; the error for a missing one names those that exist. */
async function readGeneration(
  storage: Storage,
  newest: Manifest,
  generation: number,
  signal: AbortSignal,
  hasBegun = false,
): Promise<Manifest> {
  if (generation === newest.generation) return newest
  try {
    return await readStored(storage, newest.backup_id, generation, signal)
  } catch (cause) {
    if (!hasCode(cause, 'STORAGE_NOT_FOUND')) throw cause
    const message = `the backup ${newest.backup_id} has no generation ${generation}; its newest is ${newest.generation}`
    const there = await listGenerations(storage, newest.backup_id, signal)
    const which = there.length === 1 ? `generation ${there[0]} only` : `generations from ${there[0]} to ${there.at(-1)}`
    const correct = hasBegun
      ? 'the restore began with the missing one; to begin again with another, delete its topics on the target'
      : 'correct `restore.generation` of the job, or `--generation`'
    const help = `It has ${which}; ${correct}.`
    throw new KafkaBackupError('RESTORE_REFUSED', message, { cause, help })
  }
}
