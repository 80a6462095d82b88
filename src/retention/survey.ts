import {
  hasMarker,
  readManifest,
  refuseBackupFolder,
  type ScannedManifests,
  scanManifests,
} from '../archive/catalog.ts'
import { listHolds } from '../archive/holds.ts'
import { type FoundLease, isBelieved, readLiveLeases } from '../archive/lease.ts'
import type { Manifest } from '../archive/manifest.ts'
import { KafkaBackupError } from '../errors.ts'
import { compileGlobs } from '../lib/glob.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import { type NewestGenerations, newestOfLog } from './newest-of-log.ts'

/** A folder at the location that is, or was to be, a backup. */
export interface SurveyedBackup extends ScannedManifests {
  backupId: string
  newest?: Manifest
  newestComplete?: Manifest
  /** Its generations that are held. */
  held: ReadonlySet<number>
  /** Those that live, without this process's own. */
  leases: FoundLease[]
  error?: KafkaBackupError
}

interface SurveyFacts {
  nowMs: number
  /** Leases of this process. */
  ownRuns: ReadonlySet<string>
  writerTtlMs?: number | undefined
}

const CONCURRENCY = 8

/** What is at the location, of the ids that match. Each folder costs a few small requests. */
export async function surveyLocation(
  storage: Storage,
  match: readonly string[],
  facts: SurveyFacts,
  signal: AbortSignal,
): Promise<SurveyedBackup[]> {
  const isMatch = compileGlobs(match)
  const folders: string[] = []
  for await (const folder of storage.listFolders('', signal)) {
    if (isMatch(folder) && folder !== 'offset-snapshots') folders.push(folder)
  }
  if (folders.includes('manifests')) await refuseBackupFolder(storage, signal)
  const found = await runPool(folders.sort(), CONCURRENCY, backupId => surveyBackup(storage, backupId, facts, signal))
  return found.filter(backup => backup !== undefined)
}

/** Undefined for a foreign folder. */
async function surveyBackup(
  storage: Storage,
  backupId: string,
  { nowMs, ownRuns, writerTtlMs }: SurveyFacts,
  signal: AbortSignal,
): Promise<SurveyedBackup | undefined> {
  const scanned = await scanManifests(storage, backupId, signal)
  const isCommitted = scanned.manifests.size > 0 || scanned.mark
  if (!isCommitted && !(await hasBegun(storage, backupId, signal))) return undefined
  // Without a lease, the time of the store is unknown. A prune reads them again when it has one.
  const times = { storeMs: nowMs, machineMs: nowMs }
  const live = await readLiveLeases(storage, backupId, times, signal)
  const leases = live.filter(lease => !ownRuns.has(lease.run) && isBelieved(lease, times, writerTtlMs))
  const surveyed = { backupId, ...scanned, held: await listHolds(storage, backupId, signal), leases }
  try {
    return { ...surveyed, ...(await readNewest(storage, backupId, scanned, signal)) }
  } catch (error) {
    if (!(error instanceof KafkaBackupError) || signal.aborted) throw error
    return { ...surveyed, error }
  }
}

async function hasBegun(storage: Storage, backupId: string, signal: AbortSignal): Promise<boolean> {
  for await (const folder of storage.listFolders(backupId, signal)) {
    if (['kafka', 'schema-registry', 'shards', 'packs', 'checkpoints', 'commits'].includes(folder)) return true
  }
  return false
}

/**
 * Pure. By the clock of its writer, and not later than the store has it: one that ran ahead would count as the newest for as
 * long as it was wrong. A copy of a backup is stored later than it was made.
 */
export function commitTimeMs(createdAt: string, modifiedMs?: number): number {
  const createdMs = Date.parse(createdAt) || 0
  return Math.min(createdMs, modifiedMs ?? createdMs)
}

/** The newest generation, and the newest that is complete: mostly one and the same. */
export async function readNewest(
  storage: Storage,
  backupId: string,
  { manifests }: Pick<ScannedManifests, 'manifests'>,
  signal: AbortSignal,
): Promise<NewestGenerations> {
  const isLog = await hasMarker(storage, backupId, manifests, signal)
  const state = isLog ? await newestOfLog(storage, backupId, manifests, signal) : undefined
  if (state) return state
  const found: NewestGenerations = isLog ? { isPending: true } : {}
  for (const generation of [...manifests.keys()].reverse().slice(isLog ? 1 : 0)) {
    const manifest = await readManifest(storage, backupId, generation, signal)
    found.newest ??= manifest
    if (!manifest.complete) continue
    found.newestComplete = manifest
    break
  }
  return found
}
