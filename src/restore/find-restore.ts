import { listGenerations } from '../archive/catalog.ts'
import type { Manifest } from '../archive/manifest.ts'
import { type GenerationChoice, isStillThere, openSelected } from '../archive/select-generation.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { MetadataResponse } from '../kafka/api/metadata.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { Storage } from '../storage/storage.ts'
import { deriveRestoreId, describeRequest, fingerprintOf, planRestore, type RestorePlan } from './plan.ts'
import { joinNotes, type RestoreProgress, readNotes } from './progress.ts'
import { warnOfFilter } from './record-filter.ts'
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
  /** In the topics that the target has. */
  progress: RestoreProgress | undefined
  /** All runs that have stored progress, also for topics that were deleted since: this run may replace what they stored. */
  earlierRuns: ReadonlySet<string>
}

interface FindParts {
  cluster: Cluster
  storage: Storage
  /** The state that the job asks for, where it was read before. */
  chosen?: ChosenState
  /** Why the run has no lease; absent where it has one, and where it writes nothing. */
  unleased?: string
  readNotes?: typeof readNotes
}

/** The state that a job asks for, or why there is none: a restore that has begun does not need it. */
export type ChosenState = ReadState | { problem: KafkaBackupError }

interface ReadState {
  manifest: Manifest
  /** Of a state that was read before the run had its lease: whether it was there afterwards. */
  isThere?: Promise<boolean>
}

/** Only the chosen generation is read: a damaged later one does not matter. */
export async function readChosen(storage: Storage, options: RestoreOptions, signal: AbortSignal): Promise<ChosenState> {
  try {
    return { manifest: await readSelected(storage, options.backupId, options, signal) }
  } catch (error) {
    if (hasCode(error, 'ARCHIVE_DAMAGED', 'GENERATION_NOT_FOUND')) return { problem: error }
    throw error
  }
}

/**
 * For a run that has its lease: what was read before it had it, with the question whether that is still there; read again where there is nothing to
 * ask about. A prune removes a generation before it looks for leases, so the objects of one that is there after the lease was written stay.
 */
export async function confirmChosen(
  storage: Storage,
  options: RestoreOptions,
  early: Promise<ChosenState>,
  signal: AbortSignal,
): Promise<ChosenState> {
  const found = await early.catch(() => undefined)
  if (!found || 'problem' in found) return readChosen(storage, options, signal)
  const isThere = isStillThere(storage, found.manifest, signal)
  // `relyOnChosen` and the survey await it.
  isThere.catch(() => undefined)
  return { manifest: found.manifest, isThere }
}

/** A state that the caller may rely on: the chosen one, where it is still there, or the one that a job asks for now. */
export async function relyOnChosen(
  chosen: ChosenState | undefined,
  storage: Storage,
  options: RestoreOptions,
  signal: AbortSignal,
): Promise<ChosenState> {
  if (!chosen || ('isThere' in chosen && !(await chosen.isThere))) return readChosen(storage, options, signal)
  return chosen
}

/** A restore that has begun continues with its generation, although the backup may have newer ones by now. */
export async function findRestore(
  options: RestoreOptions,
  { cluster, storage, readNotes: read = readNotes, ...given }: FindParts,
  signal: AbortSignal,
): Promise<FoundRestore> {
  const chosen = await relyOnChosen(given.chosen, storage, options, signal)
  const target = await cluster.metadata({ topics: null }, signal)
  const { backupId } = options
  const restoreId =
    options.restoreId ?? deriveRestoreId({ backupId, request: describeRequest(options) }, target.clusterId)
  const notes = await read(cluster, restoreId, signal)
  const progress = joinNotes(notes, new Set(target.topics.map(({ name }) => name)))
  // Nothing is asked of newer generations: what they hold, and whether they fit the job, must not stop what has begun.
  const manifest = await manifestOf(chosen, options.generation ?? progress?.generation, backupId, storage, signal)
  const planned = planRestore(manifest, options, await findRegistryStores(manifest, options, storage, signal))
  const filter = await options.filter?.open(storage, manifest, progress?.schemasAddedAt, signal)
  const { addedAt: schemasAddedAt, notice } = filter?.schemas ?? {}
  const older = notice === undefined ? [] : [`restore.filter: ${notice}`]
  const warnings = [...planned.warnings, ...warnOfFilter(planned.topics, options.filter), ...older]
  const pinned = { ...(filter && { filter }), ...(schemasAddedAt !== undefined && { schemasAddedAt }) }
  const plan: RestorePlan = { ...planned, warnings, ...pinned }
  const newer = progress && describeNewer(chosen, manifest)
  if (newer !== undefined) {
    plan.notice = `it continues with generation ${manifest.generation}, with which it began; ${newer}`
    plan.warnings.push(plan.notice)
  }
  if (given.unleased !== undefined) plan.warnings.push(describeUnleased(given.unleased, manifest))
  const earlierRuns = new Set(notes.map(({ run }) => run))
  return { manifest, plan, restoreId, target, progress, earlierRuns }
}

/** Pure. A prune waits for readers that have a lease, and does not know of this one. */
function describeUnleased(reason: string, { backup_id, generation }: Manifest): string {
  const risk = `\`prune\` does not know of this restore, and may remove what it reads \`retention.grace\` (24h by default) after a newer generation was committed`
  const remedy = `If the restore may take longer, pin the generation with credentials that may write: \`kafka-backup hold --backup-id ${backup_id} --generation ${generation}\``
  return `${reason}. ${risk}. ${remedy}`
}

/** The generation that a restore began with, or the chosen one. */
async function manifestOf(
  chosen: ChosenState,
  begun: number | undefined,
  backupId: string,
  storage: Storage,
  signal: AbortSignal,
): Promise<Manifest> {
  if (begun === undefined && 'problem' in chosen) throw chosen.problem
  if ('manifest' in chosen && (begun ?? chosen.manifest.generation) === chosen.manifest.generation)
    return chosen.manifest
  return readSelected(storage, backupId, { generation: begun }, signal, true)
}

/** Pure. What a restore that continues with a generation leaves out; undefined where that is nothing. */
function describeNewer(chosen: ChosenState, { generation }: Manifest): string | undefined {
  if ('problem' in chosen) {
    const { problem } = chosen
    const isDamaged = problem.code === 'ARCHIVE_DAMAGED'
    return isDamaged ? `the one that it would select now cannot be read: ${problem.message}` : undefined
  }
  return chosen.manifest.generation > generation ? 'there are newer ones' : undefined
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

/** Progress as far as the user may read it: a missing permission is reported with the other findings. */
export const readIfAllowed: typeof readNotes = (...args) =>
  readNotes(...args).catch(error => {
    if (hasCode(error, 'KAFKA_DENIED')) return []
    throw error
  })

/** The state that a job asks for; the error for a missing generation names those that exist. */
export async function readSelected(
  storage: Storage,
  backupId: string,
  choice: GenerationChoice,
  signal: AbortSignal,
  hasBegun = false,
): Promise<Manifest> {
  try {
    return await openSelected(storage, backupId, choice, signal)
  } catch (cause) {
    if (choice.generation === undefined || !hasCode(cause, 'GENERATION_NOT_FOUND')) throw cause
    const there = await listGenerations(storage, backupId, signal)
    const message = `the backup ${backupId} has no generation ${choice.generation}; its newest is ${there.at(-1)}`
    const which = there.length === 1 ? `generation ${there[0]} only` : `generations from ${there[0]} to ${there.at(-1)}`
    const correct = hasBegun
      ? 'the restore began with the missing one; to begin again with another, delete its topics on the target'
      : 'correct `restore.generation` of the job, or `--generation`'
    const help = `It has ${which}; ${correct}.`
    throw new KafkaBackupError('RESTORE_REFUSED', message, { cause, help })
  }
}
