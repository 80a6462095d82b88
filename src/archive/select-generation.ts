import { hasCode, KafkaBackupError } from '../errors.ts'
import { formatUtc } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import {
  backupNotFound,
  expiredBackup,
  listGenerations,
  newestNumber,
  openBackup,
  readGeneration,
  readManifest,
  scanGenerations,
  scanManifests,
} from './catalog.ts'
import { CommitTimes, countUntil } from './commit-times.ts'
import { LOG_VERSION } from './log/document.ts'
import { readOwnCommit } from './log/read-commit.ts'
import type { Manifest } from './manifest.ts'

/** Which state of a backup is meant; without either, the newest. */
export interface GenerationChoice {
  generation?: number | undefined
  /** The newest complete generation that was committed by then, in milliseconds since 1970. */
  asOfMs?: bigint | undefined
}

/** The chosen state of a backup, for a reader. GENERATION_NOT_FOUND names the generations that can be chosen. */
export async function openSelected(
  storage: Storage,
  backupId: string,
  { generation, asOfMs }: GenerationChoice,
  signal: AbortSignal,
): Promise<Manifest> {
  if (generation === undefined && asOfMs === undefined) return openBackup(storage, backupId, signal)
  const { manifests, mark } = await scanManifests(storage, backupId, signal)
  if (mark) throw expiredBackup(storage, backupId)
  const newest = await newestNumber(storage, backupId, { manifests }, signal)
  if (newest === undefined) throw await backupNotFound(storage, backupId, signal)
  const chosen = generation ?? (await findAsOf(storage, backupId, asOfMs ?? 0n, signal))
  try {
    return await readGeneration(storage, backupId, chosen, signal)
  } catch (cause) {
    if (!hasCode(cause, 'STORAGE_NOT_FOUND')) throw cause
    const message = `backup \`${backupId}\` at ${storage.location} has no generation ${chosen}`
    throw await notFound(storage, backupId, message, signal, cause)
  }
}

/**
 * Whether a generation that was read before is still there, as it was read. A removal takes generations away before it looks for leases, but of a
 * whole backup of version 2 only the newest one and the marker; and a commit in `kept/` names other documents than the one that it replaces.
 */
export async function isStillThere(
  storage: Storage,
  { backup_id, run, ...read }: Pick<Manifest, 'backup_id' | 'generation' | 'format_version' | 'run'>,
  signal: AbortSignal,
): Promise<boolean> {
  const [{ manifests, mark }, found] = await Promise.all([
    scanManifests(storage, backup_id, signal),
    findRun(storage, backup_id, read, signal),
  ])
  return !mark && manifests.size > 0 && found === run
}

/** The run that has committed a generation: another one after the backup was deleted and created again. */
async function findRun(
  storage: Storage,
  backupId: string,
  { generation, format_version }: Pick<Manifest, 'generation' | 'format_version'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    if (format_version !== LOG_VERSION) return (await readManifest(storage, backupId, generation, signal)).run
    return (await readOwnCommit(storage, backupId, generation, signal)).commit.run
  } catch (error) {
    if (!hasCode(error, 'STORAGE_NOT_FOUND', 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW')) throw error
    return undefined
  }
}

async function notFound(storage: Storage, backupId: string, message: string, signal: AbortSignal, cause: unknown) {
  const there = await listGenerations(storage, backupId, signal)
  const which = there.length === 1 ? `generation ${there[0]} only` : `generations from ${there[0]} to ${there.at(-1)}`
  return new KafkaBackupError('GENERATION_NOT_FOUND', message, {
    cause,
    help: `It has ${which}; \`kafka-backup list --generations\` lists them.`,
    details: { backup_id: backupId, location: storage.location },
  })
}

/** The newest complete generation that was committed by the time. A damaged one is an error only if it may be the one. */
export async function findAsOf(
  storage: Storage,
  backupId: string,
  asOfMs: bigint,
  signal: AbortSignal,
): Promise<number> {
  const times = new CommitTimes(storage, backupId, await scanGenerations(storage, backupId, signal), signal)
  for (let at = (await countUntil(times, Number(asOfMs))) - 1; at >= 0; at--) {
    if ((await times.readCandidate(at)).complete) return times.generationAt(at)
  }
  throw await noneBy(times, storage, backupId, asOfMs)
}

const MAX_INCOMPLETE = 100

async function noneBy(times: CommitTimes, { location }: Storage, backupId: string, asOfMs: bigint) {
  const by = formatUtc(Number(asOfMs))
  const message = `backup \`${backupId}\` at ${location} has no complete generation that was committed by ${by}`
  let earliest = 'None of its oldest generations is complete.'
  for (let at = 0; at < Math.min(times.count, MAX_INCOMPLETE); at++) {
    const facts = await times.readIfWhole(at)
    if (!facts?.complete) continue
    earliest = `The earliest one is generation ${times.generationAt(at)}, committed at ${formatUtc(facts.timeMs)}.`
    break
  }
  return new KafkaBackupError('GENERATION_NOT_FOUND', message, {
    help: `${earliest} \`kafka-backup list --generations\` lists them.`,
    details: { backup_id: backupId, location },
  })
}
