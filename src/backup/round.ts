import type { AccessReading, AccessSection } from '../archive/access-section.ts'
import type { NewestState } from '../archive/catalog.ts'
import type { GroupsFile, GroupsSection } from '../archive/groups-section.ts'
import type { Lease } from '../archive/held-lease.ts'
import type { ArchiveEncryption, Manifest } from '../archive/manifest.ts'
import type { RegistrySnapshot } from '../archive/registry-model.ts'
import type { RegistrySection, SectionName } from '../archive/registry-section.ts'
import { hasCode, KafkaBackupError, toKafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { PartitionEnds } from '../kafka/offsets.ts'
import { type Clock, formatUtc } from '../lib/clock.ts'
import { RateLimiter } from '../lib/rate-limiter.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import type { BackupOptions } from './backup-options.ts'
import type { BackupPlan, KnownState, RereadRules } from './backup-plan.ts'
import { prepareConfirmation } from './confirm-source.ts'
import { CopyScheduler, LaneBuffers } from './copy-scheduler.ts'
import type { Copies } from './draft-topics.ts'
import { leaderlessError, leaderlessIn, observeRound, type Reading } from './observe-round.ts'
import type { ObservedSource } from './observed-source.ts'
import { planBackup } from './plan.ts'
import { planLanes } from './plan-lanes.ts'
import type { RereadNotice } from './reread-notices.ts'
import { BackupSession, type Publisher } from './session.ts'
import { type NewGap, Tally } from './tally.ts'

export { LaneBuffers }

export interface BackupParts {
  cluster: Cluster
  storage: Storage
  clock: Clock
  /** A short random name, another one at each call. */
  newRun: () => string
  /** Reads the schema registry that belongs to the topics; absent where there is none. */
  readRegistry?: (signal: AbortSignal) => Promise<RegistrySnapshot>
  /** Reads the groups that have positions on these partitions; absent where the job does not want them. */
  readGroups?: (ends: PartitionEnds, signal: AbortSignal) => Promise<GroupsReading>
  /** The newest committed state, where it was read since the run has its lease. */
  newest?: NewestState
  /** How what is written is encrypted; absent where it is not. */
  encryption?: ArchiveEncryption | undefined
  /** Reads the access rules that the job wants; absent where it wants none. */
  readAccess?: (signal: AbortSignal) => Promise<AccessReading>
  toolVersion: string
  onProgress: OnProgress
  /** Keeps other writers and prunes away; absent in a run that writes nothing. */
  lease?: Pick<Lease, 'confirm' | 'others' | 'storeNow'> | undefined
  /** Of a continuous run; another one has its own for each run. */
  buffers?: LaneBuffers
  /** How long the round before took, in a continuous run. */
  lastRoundMs?: number
  /** What a continuous run does between two rounds; answers with the newest generation, which may be another then. */
  afterRound?: (newest: Manifest, signal: AbortSignal) => Promise<Manifest>
}

export interface GroupsReading extends Pick<GroupsFile, 'groups' | 'left_out'> {
  warnings: string[]
}

export interface Prepared {
  observed: ObservedSource
  plan: BackupPlan
  previous: Manifest | undefined
  /** The registry section of the manifest, if the registry was read again. */
  registry?: RegistrySection
  /** And of consumer groups. */
  groups?: GroupsSection
  /** And of access rules. */
  access?: AccessSection
  /** Resolves when the objects of these sections are durable; absent where they are. */
  stored?: () => Promise<void>
  /** Sections of the generation before, if this round has not read them. */
  carried?: readonly SectionName[]
  /** When the settings of the topics were read, if not by this round. */
  settingsAt?: string
}

export interface RoundReport {
  durationMs: number
  /** What this run added, not what the backup holds. */
  copied: { records: number; bytes: number; partitions: number }
  newGaps: NewGap[]
  warnings: string[]
  /** What was read again of compacted partitions, not included in `copied`; absent if nothing was read again. */
  reread?: { records: number; bytes: number }
  rereads?: RereadNotice[]
  /** The round has ended and is committed, without partitions that have no leader. */
  missed?: KafkaBackupError
}

/** Everything before the first byte: what to copy since `previous`, or since what is `known` beyond it. */
export async function prepareRound(
  options: BackupOptions,
  parts: Pick<BackupParts, 'cluster' | 'clock'> & Reading,
  previous: Manifest | undefined,
  signal: AbortSignal,
  known: KnownState | undefined = previous,
  rules: RereadRules | null = rereadRules(options),
): Promise<Prepared> {
  const observed = await observeRound(options, parts, known, rules, signal)
  const now = formatUtc(parts.clock.now())
  return { observed, previous, plan: planBackup(observed, known, now, { ...options, rereads: rules }) }
}

/**
 * Copies what is planned and publishes it. When it is interrupted or fails, what is durable is published as incomplete
 * before the error is thrown; the next round continues from there. The caller has to report what the round has `missed`.
 */
export async function runRound(
  options: BackupOptions,
  prepared: Prepared,
  parts: BackupParts,
  publisher: Publisher,
  signal: AbortSignal,
): Promise<RoundReport> {
  const startedAt = parts.clock.monotonic()
  const tally = new Tally(prepared.plan, parts.onProgress)
  const tallied = { ...parts, onProgress: tally.onProgress }
  const session = new BackupSession(
    options,
    prepared,
    { ...tallied, storeSignal: new AbortController().signal, ...confirmation(parts.cluster) },
    publisher,
  )
  tally.announce(session, prepared.previous)
  const leaderless = leaderlessIn(prepared.observed)
  const beginRereads = () => session.beginRereads(leaderless.length === 0, tally.warnings)
  try {
    await copyAll({ session, beginRereads }, prepared, options, tallied, signal)
  } catch (error) {
    const saved = await saveWhatIsDurable(session, tally, error)
    throw saved && !signal.aborted ? partialError(saved, error) : error
  }
  tally.tellBounds(session)
  tally.tellConverted(session, prepared.previous)
  const made = await session.commit(leaderless.length === 0, tally.warnings)
  if (tally.gaps.length > 0 && options.onGap === 'fail') throw gapError(tally.gaps)
  const { copied, reread, rereads, gaps, warnings } = tally
  const durationMs = parts.clock.monotonic() - startedAt
  const missed = leaderless.length > 0 && { missed: partialError(made, leaderlessError(leaderless)) }
  return { durationMs, copied, newGaps: gaps, warnings, ...(rereads.length > 0 && { reread, rereads }), ...missed }
}

/** Not interrupted: what was copied before a stop counts only if it is confirmed. */
function confirmation(cluster: Cluster) {
  const { signal } = new AbortController()
  return { prepareConfirmation: (copies: Copies) => prepareConfirmation(cluster, copies, signal) }
}

async function copyAll(
  { session, beginRereads }: { session: BackupSession; beginRereads: () => Promise<void> },
  { observed, stored }: Pick<Prepared, 'observed' | 'stored'>,
  options: BackupOptions,
  { cluster, storage, clock, onProgress, buffers, lastRoundMs }: BackupParts,
  signal: AbortSignal,
): Promise<void> {
  const { clientRack: rack = '', bytesPerSecond } = options
  const hasTiered = session.copies.some(copy => copy.isTiered && !copy.isDone)
  const lanes = planLanes(observed.brokers, { ...options, writerBytes: storage.writerBytes, hasTiered })
  const limiter = bytesPerSecond === undefined ? {} : { limiter: new RateLimiter(bytesPerSecond, clock) }
  const scheduler = new CopyScheduler({ cluster, lanes, buffers, onProgress, rack, ...limiter })
  const stop = new AbortController()
  const scoped = AbortSignal.any([signal, stop.signal])
  const storing = stored && stopAtFailure(stored(), stop)
  const withCommits = async (work: () => Promise<void>) => {
    const ended = new AbortController()
    const committingSignal = AbortSignal.any([scoped, ended.signal])
    const periodMs = commitPeriodMs(options, lastRoundMs)
    const committing = stopAtFailure(session.commitPeriodically(periodMs, committingSignal), stop)
    // None is under way when the last segments are settled, whose indexes are written meanwhile.
    await work().finally(() => {
      ended.abort()
      return committing
    })
  }
  try {
    await withCommits(() => scheduler.run(session.copies, scoped))
    await session.settle(session.copies)
    if (session.rereads.length > 0) {
      await beginRereads()
      await withCommits(() => rereadLists(session, scheduler, { clock, ...rereadLimit(options) }, scoped))
      await session.settle(session.rereads)
    }
  } catch (error) {
    stop.abort(error)
    throw error
  } finally {
    await storing?.catch(error => {
      // An interruption is not a failure of what it interrupted, and what fails after something else is not the reason.
      if (!signal.aborted && stop.signal.reason === error) throw error
    })
  }
}

/** The caller awaits it when the lanes have stopped, and meets its failure then; until then the failure must not end the process as unhandled. */
function stopAtFailure(work: Promise<void>, stop: AbortController): Promise<void> {
  const watched = work.catch(error => {
    stop.abort(error)
    throw error
  })
  watched.catch(() => undefined)
  return watched
}

/** Of rounds that take longer than the interval. */
const MAX_PERIOD_MS = 10_000

/**
 * Pure. How often a round commits before its end. One that takes about as long as the round before does not: with many partitions
 * each commit takes a good part of a second, and would make the round, and so the lag, only longer.
 */
export function commitPeriodMs({ commitIntervalMs }: Pick<BackupOptions, 'commitIntervalMs'>, lastRoundMs = 0): number {
  return Math.max(commitIntervalMs, Math.min(2 * lastRoundMs, MAX_PERIOD_MS))
}

/** In a continuous run only for a while: what is new at the source comes first, and the next round continues. */
async function rereadLists(
  session: BackupSession,
  scheduler: CopyScheduler,
  { clock, limitMs }: { clock: Clock; limitMs?: number },
  signal: AbortSignal,
): Promise<void> {
  const pause = new AbortController()
  const timer = new AbortController()
  if (limitMs !== undefined) {
    clock.sleep(limitMs, timer.signal).then(
      () => pause.abort(),
      () => undefined,
    )
  }
  try {
    await scheduler.run(session.rereads, AbortSignal.any([signal, pause.signal]))
  } catch (error) {
    if (signal.aborted || !pause.signal.aborted) throw error
  } finally {
    timer.abort()
  }
}

function rereadLimit({ continuous, commitIntervalMs }: BackupOptions): { limitMs?: number } {
  return continuous ? { limitMs: commitIntervalMs } : {}
}

/** Single runs are far apart by themselves. */
function rereadRules({
  compactedReread = 'auto',
  compactedRereadIntervalMs = 0,
  continuous,
}: BackupOptions): RereadRules {
  return { mode: compactedReread, intervalMs: continuous ? compactedRereadIntervalMs : 0 }
}

/** Best effort, because something has gone wrong already: partitions that cannot be finished stay at their last segment. */
async function saveWhatIsDurable(session: BackupSession, tally: Tally, cause: unknown): Promise<string | undefined> {
  await session.settleSome()
  if (hasCode(cause, 'WRITER_CONFLICT')) return undefined
  if (!session.hasFresh) return session.made
  try {
    return await session.commit(false, tally.warnings)
  } catch (error) {
    const { message } = toKafkaBackupError(error)
    tally.onProgress({ type: 'warning', message: `what was copied since the last commit is not kept: ${message}` })
    return undefined
  }
}

function partialError(saved: string, cause: unknown): KafkaBackupError {
  const { message, help } = toKafkaBackupError(cause)
  return new KafkaBackupError('BACKUP_PARTIAL', `${message}; what was copied until then is kept as ${saved}`, {
    cause,
    help: `${help} Then run the same command to continue.`,
  })
}

export function gapError(gaps: readonly NewGap[]): KafkaBackupError {
  const list = gaps
    .slice(0, 10)
    .map(({ topic, partition, from, to }) => `${topic}/${partition} ${from} to ${to ?? 'unknown'}`)
  return new KafkaBackupError('GAP_FOUND', `the source lost records before they were read: ${list.join(', ')}`, {
    details: { topic: gaps[0]?.topic, partition: gaps[0]?.partition, offset: gaps[0]?.from },
  })
}
