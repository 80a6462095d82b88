import type { RestoreJob } from '../config/load-job.ts'
import type { CompareReport } from '../restore/compare.ts'
import type { OffsetPlace } from '../restore/find-offset.ts'
import type { OffsetMapFilter, OffsetMapRun } from '../restore/offset-map.ts'
import type { RestoreOptions } from '../restore/options.ts'
import type { PlannedTopic } from '../restore/plan.ts'
import { parseLocation } from '../storage/location.ts'
import { type GivenKeys, keysOf, type StoragePlace } from './encryption.ts'
import { withLeaseAt } from './leases.ts'
import { type Hooks, openExistingStorage, type Parts, quiet, withMetrics, withParts } from './parts.ts'
import { withKnownIds } from './schema-session.ts'

/** A restore from any location, not only from one that a job file describes. */
export type LocatedRestoreJob = Omit<RestoreJob, 'storage'> & StoragePlace & { backupId: string }

/** Reads the target of a restore back and compares it with the backup. */
export function compareJob(job: LocatedRestoreJob, hooks: Hooks, signal: AbortSignal): Promise<CompareReport> {
  const compare = (watched: Hooks) =>
    withRestored(job, watched, signal, async (options, parts) => {
      const { compareRestore } = await import('../restore/compare.ts')
      return compareRestore(options, { ...parts, onProgress: watched.onProgress }, signal)
    })
  return withMetrics({ ...job, name: 'compare', isBeside: true }, hooks, compare)
}

/** Where the records of the source are on the target. */
export function offsetMapJob(job: RestoreJob, filter: OffsetMapFilter, signal: AbortSignal): Promise<OffsetMapRun[]> {
  return withRestored(job, quiet, signal, async (options, parts) => {
    const { readOffsetMap } = await import('../restore/offset-map.ts')
    const runs: OffsetMapRun[] = []
    for await (const run of readOffsetMap(options, parts, filter, signal)) runs.push(run)
    return runs
  })
}

/** The topics that the restore makes, by the backup alone: no cluster is asked. */
export async function planTopicsJob(job: LocatedRestoreJob, signal: AbortSignal): Promise<PlannedTopic[]> {
  const [{ openBackup }, { readGeneration }, { keepInherited }, { planRestore }, { findRegistryStores }] =
    await Promise.all([
      import('../archive/catalog.ts'),
      import('../restore/find-plan.ts'),
      import('../restore/inherited-settings.ts'),
      import('../restore/plan.ts'),
      import('../restore/registry-topics.ts'),
    ])
  const options = restoreOptions(job)
  const storage = await openExistingStorage(job, signal)
  try {
    const newest = await openBackup(storage, job.backupId, signal)
    const manifest = await readGeneration(storage, newest, options.generation ?? newest.generation, signal)
    // The target's defaults are not known here: what differs from Kafka's own is written down.
    const stores = await findRegistryStores(manifest, options, storage, signal)
    return planRestore(manifest, options, stores).topics.map(topic => keepInherited(topic, options, new Map()).topic)
  } finally {
    await storage.close()
  }
}

export interface OffsetAt {
  topic: string
  partition: number
  offset: bigint
}

export function findOffsetJob(job: RestoreJob, at: OffsetAt, signal: AbortSignal): Promise<OffsetPlace | undefined> {
  return withRestored(job, quiet, signal, async (options, parts) => {
    const [{ openOffsetMaps }, { findOffset }] = await Promise.all([
      import('../restore/offset-map.ts'),
      import('../restore/find-offset.ts'),
    ])
    return findOffset(openOffsetMaps(options, parts, at, signal), at.offset)
  })
}

export interface PlainRestore extends GivenKeys {
  path: string
  backupId: string
  /** `host:port`, several with commas. */
  target: string
}

/** The job of a restore of everything to a cluster without security. */
export async function plainRestoreJob({ path, backupId, target, ...keys }: PlainRestore): Promise<LocatedRestoreJob> {
  const { parseJob } = await import('../config/load-job.ts')
  const document = {
    mode: 'restore',
    backup_id: backupId,
    target: { bootstrap_servers: target.split(',') },
    storage: { backend: 'filesystem', path: '.' },
  }
  const job = parseJob(JSON.stringify(document), { source: 'the command line', env: {}, mode: 'restore' })
  return { ...job, storage: parseLocation(path), ...keysOf(keys) }
}

export function restoreOptions({ backupId, restore }: Pick<RestoreJob, 'backupId' | 'restore'>): RestoreOptions {
  const { timeWindowStartMs, timeWindowEndMs, consumerGroups, acls, quotas, users, ...options } = restore
  const timeWindow = {
    ...(timeWindowStartMs !== undefined && { start: timeWindowStartMs }),
    ...(timeWindowEndMs !== undefined && { end: timeWindowEndMs }),
  }
  return { backupId, ...options, timeWindow }
}

function withRestored<T>(
  job: LocatedRestoreJob,
  hooks: Hooks,
  signal: AbortSignal,
  work: (options: RestoreOptions, parts: Parts) => Promise<T>,
): Promise<T> {
  const claim = { backupId: job.backupId, role: 'reader', kind: 'compare' } as const
  return withParts({ ...job, source: job.target }, hooks, signal, parts =>
    withLeaseAt(parts.storage, claim, hooks, signal, () =>
      withKnownIds(job, restoreOptions(job), parts, signal, options => work(options, parts)),
    ),
  )
}
