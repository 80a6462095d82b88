import type { RestoreJob } from '../config/load-job.ts'
import type { EncryptedStorage } from '../encryption/encrypted-storage.ts'
import { parseHeaderCondition } from '../inspect/conditions.ts'
import { parsePathCondition } from '../inspect/json-path.ts'
import { type FilterConditions, restoreFilter } from '../inspect/restore-filter.ts'
import type { CheckReport } from '../observe/finding.ts'
import type { BackupRestoreDryRun } from '../restore/dry-run.ts'
import type { ProbeRequest } from '../restore/estimate-survey.ts'
import type { ChosenState } from '../restore/find-restore.ts'
import type { PreparedRestore } from '../restore/prepare-restore.ts'
import type { BackupRestoreReport, RestoreParts } from '../restore/restore-backup.ts'
import { contextOf, type RestoreOptions } from '../restore/restore-options.ts'
import type { RestoreShardReport } from '../restore/restore-shard.ts'
import type { RestoreShard } from '../restore/shard-plan.ts'
import type { RestoreRequest } from '../restore/survey-restore.ts'
import type { Storage } from '../storage/storage.ts'
import { version } from '../version.ts'
import { withLeaseAt } from './leases.ts'
import { assertExists, type Hooks, type Parts, readOnly, withMetrics, withParts } from './parts.ts'
import { checkRegistry } from './registry.ts'
import { type LocatedRestoreJob, rewriteRequest, withSchemaTarget } from './schema-target.ts'

/** Restores the backup of a job. The store is only read, except for leases and the journal of the schemas. */
export function runRestoreJob(
  job: RestoreJob,
  hooks: Hooks,
  signal: AbortSignal,
  probe?: Probe,
): Promise<BackupRestoreReport> {
  return runLocatedRestore(job, hooks, signal, probing(job, probe))
}

/** The same from any location. */
export function runLocatedRestore(
  job: LocatedRestoreJob,
  hooks: Hooks,
  signal: AbortSignal,
  watching: Pick<RestoreParts, 'probe' | 'onTopicsCreated'> = {},
): Promise<BackupRestoreReport> {
  const load = () => import('../restore/restore-backup.ts')
  return withRestore(job, hooks, signal, load, ({ restoreBackup }, request, parts) =>
    restoreBackup(request, { ...parts, ...watching }, signal),
  )
}

/** What is measured for an estimate; `onStep` is called with each step before it is done. */
export type Probe = Pick<ProbeRequest, 'scope' | 'onStep'>

function probing({ target }: RestoreJob, probe: Probe | undefined): { probe?: ProbeRequest } {
  return probe ? { probe: { ...probe, requestTimeoutMs: target.requestTimeoutMs } } : {}
}

/** Does once what shards need: schemas, topics, and on the target what is restored and which shard fills what. */
export function prepareRestoreJob(
  job: RestoreJob,
  count: number,
  hooks: Hooks,
  signal: AbortSignal,
): Promise<PreparedRestore> {
  const load = () => import('../restore/prepare-restore.ts')
  return withRestore(job, hooks, signal, load, ({ prepareRestore }, request, parts) =>
    prepareRestore(request, { count, version }, parts, signal),
  )
}

type FilterFields = NonNullable<RestoreJob['restore']['filter']>

export interface ShardRequest {
  shard: RestoreShard
  /** Shard 0 prepares the restore, and the others wait for it. */
  prepares?: boolean
}

/** Restores the records of one of several processes; `finishRestoreJob` completes the restore. */
export function restoreShardJob(
  job: RestoreJob,
  { shard, prepares = false }: ShardRequest,
  hooks: Hooks,
  signal: AbortSignal,
): Promise<RestoreShardReport> {
  const { metrics: _, ...unwatched } = job
  return withMetrics(job, hooks, async watched => {
    if (prepares && shard.index === 0) await prepareRestoreJob(unwatched, shard.count, watched, signal)
    const run = { shard, version, waits: prepares && shard.index > 0 }
    const load = () => import('../restore/restore-shard.ts')
    const ofShard = { ...unwatched, readsRegistry: true }
    return withRestore(ofShard, watched, signal, load, ({ restoreShard }, request, parts) =>
      restoreShard(request, run, parts, signal),
    )
  })
}

/** Completes a restore whose shards are done: comparison, settings, consumer groups and access rules. */
export function finishRestoreJob(job: RestoreJob, hooks: Hooks, signal: AbortSignal): Promise<BackupRestoreReport> {
  const load = () => import('../restore/finish-restore.ts')
  return withRestore(job, hooks, signal, load, ({ finishRestore }, request, parts) =>
    finishRestore(request, parts, signal),
  )
}

/**
 * What a restore would do, with everything that blocks it, and how long it would take. Neither the store nor the target is changed,
 * unless the probe is asked to write to a topic that it creates and deletes.
 */
export function dryRunRestoreJob(job: RestoreJob, signal: AbortSignal, probe?: Probe): Promise<BackupRestoreDryRun> {
  const load = () => import('../restore/dry-run.ts')
  return withRestore(job, readOnly, signal, load, ({ dryRunRestore }, request, parts) =>
    dryRunRestore(request, { ...parts, ...probing(job, probe) }, signal),
  )
}

/** A registry that cannot be reached is a failed check; the rest is checked without it. */
export async function checkRestoreJob(job: RestoreJob, signal: AbortSignal): Promise<CheckReport> {
  const otherChecks = await checkRegistry(job, signal)
  const { enterprise: _, ...plain } = job
  const checked = otherChecks.every(({ allowed }) => allowed) ? job : plain
  const load = () => import('../restore/check.ts')
  return withRestore(checked, readOnly, signal, load, ({ checkRestore }, request, parts) =>
    checkRestore(request, { ...parts, otherChecks }, signal),
  )
}

/**
 * Opens what reads a backup and works on a target; the options are validated before anything is connected to. The engine is loaded while the
 * store answers.
 */
async function withRestore<T, Engine>(
  job: LocatedRestoreJob & {
    /** The registry is only read, and not held: shards do so at the same time. */
    readsRegistry?: boolean
  },
  hooks: Hooks,
  signal: AbortSignal,
  load: () => Promise<Engine>,
  work: (engine: Engine, request: RestoreRequest, parts: RestoreParts) => Promise<T>,
): Promise<T> {
  const { acls, quotas, users } = job.restore
  const request = { records: restoreOptions(job), groups: groupsOf(job.restore), access: { acls, quotas, users } }
  const { backupId, target } = job
  const first = new FirstReadings(job, request.records, hooks)
  return withMetrics(job, hooks, watched => {
    const restore = async (parts: Parts) => {
      const loading = load()
      loading.catch(() => undefined)
      // Before a lease is written to a location that may be a mistyped one.
      await first.there
      let unleased: string | undefined
      const onUnleased = (reason: string) => {
        unleased = reason
      }
      const claim = { backupId, role: 'reader', kind: 'restore', onUnleased } as const
      return withLeaseAt(parts.storage, claim, watched, signal, async () => {
        // Before a run waits for another restore into the same registry: a missing backup is reported at once.
        const chosen = await first.chosen(parts.storage, signal)
        const ofRegistry = job.readsRegistry ? { ...watched, isReadOnly: true } : watched
        return withSchemaTarget(job, parts.storage, ofRegistry, signal, async schemas => {
          const { requestTimeoutMs } = target
          const { onProgress } = watched
          const opened = {
            ...parts,
            requestTimeoutMs,
            onProgress,
            version,
            ...(chosen && { chosen }),
            ...(unleased !== undefined && { unleased }),
            ...(schemas && { schemas }),
          }
          return work(await loading, request, opened)
        })
      })
    }
    return withParts({ ...job, source: target }, watched, signal, restore, first.begin)
  })
}

/** What is read of the store while the target is connected to and the lease is written, because a store may be far away. */
class FirstReadings {
  /** Rejects where there is nothing at the location. */
  there: Promise<void> = Promise.resolve()
  #early: Promise<ChosenState> | undefined
  readonly #job: Pick<LocatedRestoreJob, 'storage'>
  readonly #options: RestoreOptions
  readonly #hooks: Hooks

  constructor(job: Pick<LocatedRestoreJob, 'storage'>, options: RestoreOptions, hooks: Hooks) {
    this.#job = job
    this.#options = options
    this.#hooks = hooks
  }

  readonly begin = async (storage: EncryptedStorage, signal: AbortSignal): Promise<void> => {
    // As it is stored: whether something is encrypted does not matter here, and takes one more request.
    const stored = { location: storage.location, list: storage.listStored }
    this.there = assertExists({ options: this.#job.storage, storage: stored }, signal)
    if (!this.#hooks.isReadOnly) this.#early = this.#readChosen(storage, signal)
    await Promise.allSettled([this.there, this.#early])
  }

  /** Of a run that writes, when it has its lease. */
  async chosen(storage: Storage, signal: AbortSignal): Promise<ChosenState | undefined> {
    if (!this.#early) return undefined
    const { confirmChosen } = await import('../restore/find-restore.ts')
    return confirmChosen(storage, this.#options, this.#early, signal)
  }

  async #readChosen(storage: Storage, signal: AbortSignal): Promise<ChosenState> {
    const { readChosen } = await import('../restore/find-restore.ts')
    return readChosen(storage, this.#options, signal)
  }
}

/** What a job asks of topics and records. */
export function restoreOptions(job: Pick<RestoreJob, 'backupId' | 'restore' | 'enterprise'>): RestoreOptions {
  const { backupId, restore } = job
  const { timeWindowStartMs, timeWindowEndMs, consumerGroups, acls, quotas, users, filter: asked, ...options } = restore
  const timeWindow = {
    ...(timeWindowStartMs !== undefined && { start: timeWindowStartMs }),
    ...(timeWindowEndMs !== undefined && { end: timeWindowEndMs }),
  }
  const ids = rewriteRequest(job)
  const { rewrite } = ids
  const parts = {
    contextOf: rewrite && ((topic: string) => contextOf(rewrite, topic)),
    // Where IDs are rewritten, they are a part of the request already.
    contexts: rewrite && !rewrite.writes ? [...rewrite.topicContexts] : [],
    warnings: consumerGroups.include === undefined ? [GROUPS_LEFT] : [],
  }
  const filter = asked && restoreFilter(readFilter(asked), parts)
  return { backupId, ...options, timeWindow, ...(filter && { filter }), ...ids }
}

const GROUPS_LEFT =
  'consumer groups are not carried over with restore.filter; name those that should continue at the next selected record in restore.consumer_groups.include'

/** The schema of the job file has checked the conditions. */
function readFilter({ headers, where, ...asked }: FilterFields): FilterConditions {
  return {
    ...asked,
    headers: headers.map(parseHeaderCondition),
    paths: where.map(text => parsePathCondition(text, 'restore.filter.where')),
  }
}

/** With a filter, groups are carried over only by their names: their offsets are those of other records. */
function groupsOf({ consumerGroups, filter }: RestoreJob['restore']): RestoreJob['restore']['consumerGroups'] {
  if (!filter || consumerGroups.include !== undefined) return consumerGroups
  return { ...consumerGroups, include: [] }
}
