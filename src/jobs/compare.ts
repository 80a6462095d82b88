import { warningOfAvoided } from '../archive/record-warnings.ts'
import type { RestoreJob } from '../config/load-job.ts'
import type { CompareReport } from '../restore/compare.ts'
import type { FoundRestore } from '../restore/find-restore.ts'
import type { LocatedRestore } from '../restore/locate-restore.ts'
import type { OffsetMapFilter, OffsetMapRun, OffsetPlace } from '../restore/offset-map.ts'
import type { PlannedTopic } from '../restore/plan.ts'
import type { RestoreOptions } from '../restore/restore-options.ts'
import { parseLocation } from '../storage/location.ts'
import { type GivenKeys, keysOf } from './encryption.ts'
import { withLeaseAt } from './leases.ts'
import { type Hooks, openExistingStorage, type Parts, readOnly, type Watch, withMetrics, withParts } from './parts.ts'
import { restoreOptions } from './restore.ts'
import { type LocatedRestoreJob, withSchemaTarget } from './schema-target.ts'

/** Reads the target of a restore back and compares it with the backup. */
export function compareJob(job: LocatedRestoreJob, hooks: Hooks, signal: AbortSignal): Promise<CompareReport> {
  const compare = (watched: Hooks) =>
    withRestored(job, watched, signal, async (located, parts) => {
      const { compareRestore } = await import('../restore/compare.ts')
      return compareRestore(located, { ...parts, onProgress: watched.onProgress }, signal)
    })
  return withMetrics({ ...job, name: 'compare', isSecondary: true }, hooks, compare)
}

/** Where the records of the source are on the target. */
export function offsetMapJob(
  job: RestoreJob,
  filter: OffsetMapFilter,
  watch: Watch,
  signal: AbortSignal,
): Promise<OffsetMapRun[]> {
  return withOffsetMap(job, watch, signal, async (located, parts) => {
    const { readOffsetMap } = await import('../restore/offset-map.ts')
    const runs: OffsetMapRun[] = []
    for await (const run of readOffsetMap(located, parts, filter, signal)) runs.push(run)
    return runs
  })
}

/** The topics that the restore creates, by the backup alone: no cluster is contacted. */
export async function planTopicsJob(
  job: LocatedRestoreJob,
  { onProgress }: Watch,
  signal: AbortSignal,
): Promise<PlannedTopic[]> {
  const [{ readSelected }, { keepInherited }, { planRestore }, { findRegistryStores }] = await Promise.all([
    import('../restore/find-restore.ts'),
    import('../restore/inherited-settings.ts'),
    import('../restore/plan.ts'),
    import('../restore/registry-topics.ts'),
  ])
  const options = restoreOptions(job)
  const storage = await openExistingStorage(job, signal)
  try {
    const manifest = await readSelected(storage, job.backupId, options, signal)
    return await warningOfAvoided(manifest, onProgress, async () => {
      // The defaults of the target are not known here: settings that differ from Kafka's own are written out.
      const stores = await findRegistryStores(manifest, options, storage, signal)
      return planRestore(manifest, options, stores).topics.map(topic => keepInherited(topic, options, new Map()).topic)
    })
  } finally {
    await storage.close()
  }
}

export interface OffsetAt {
  topic: string
  partition: number
  offset: bigint
}

export function findOffsetJob(
  job: RestoreJob,
  at: OffsetAt,
  watch: Watch,
  signal: AbortSignal,
): Promise<OffsetPlace | undefined> {
  return withOffsetMap(job, watch, signal, async (located, parts) => {
    const [{ openOffsetMaps }, { findOffset }] = await Promise.all([
      import('../restore/offset-map.ts'),
      import('../restore/offset-map.ts'),
    ])
    return findOffset(openOffsetMaps(located, parts, at, signal), at.offset)
  })
}

/** As `withRestored`, and warns of damage that was read around: the result has no room for it. */
function withOffsetMap<T>(
  job: RestoreJob,
  { onProgress }: Watch,
  signal: AbortSignal,
  work: (located: LocatedRestore, parts: Parts) => Promise<T>,
): Promise<T> {
  return withRestored(job, { ...readOnly, onProgress }, signal, (located, parts) =>
    warningOfAvoided(located.plan, onProgress, () => work(located, parts)),
  )
}

export interface PlainRestore extends GivenKeys {
  path: string
  backupId: string
  /** `host:port`, several with commas. */
  target: string
}

/** The job of a restore of everything to a cluster without security. */
export async function plainRestoreJob({ path, backupId, target, ...keys }: PlainRestore): Promise<LocatedRestoreJob> {
  const { readJob } = await import('../config/load-job.ts')
  const document = {
    mode: 'restore',
    backup_id: backupId,
    target: { bootstrap_servers: target.split(',') },
    storage: { backend: 'filesystem', path: '.' },
  }
  const job = readJob(document, { source: 'the command line', mode: 'restore' })
  return { ...job, storage: parseLocation(path), ...keysOf(keys) }
}

/** Opens a backup and the target that it was restored to, with the schema IDs that the target has. Both are only read. */
function withRestored<T>(
  job: LocatedRestoreJob,
  hooks: Hooks,
  signal: AbortSignal,
  work: (located: LocatedRestore, parts: Parts) => Promise<T>,
): Promise<T> {
  const claim = { backupId: job.backupId, role: 'reader', kind: 'compare' } as const
  return withParts({ ...job, source: job.target }, hooks, signal, parts =>
    withLeaseAt(parts.storage, claim, hooks, signal, async () => {
      const [{ findRestore }, { locateFound }] = await Promise.all([
        import('../restore/find-restore.ts'),
        import('../restore/locate-restore.ts'),
      ])
      const options = comparedOptions(job)
      const found = await findRestore(options, parts, signal)
      const known = options.rewrite ? await withKnownIds(job, options, found, parts, signal) : options
      return work(await locateFound(found, known, parts, signal), parts)
    }),
  )
}

/** Records are compared with other IDs only where the restore has written them. */
function comparedOptions(job: LocatedRestoreJob): RestoreOptions {
  const { rewrite, restoresSchemas: _, ...options } = restoreOptions(job)
  return rewrite?.writes ? { ...options, rewrite } : options
}

async function withKnownIds(
  job: LocatedRestoreJob,
  options: RestoreOptions,
  found: FoundRestore,
  { storage }: Parts,
  signal: AbortSignal,
): Promise<RestoreOptions> {
  const { withRestoredIds } = await import('../restore/schema-step.ts')
  return withSchemaTarget(job, storage, readOnly, signal, registry =>
    withRestoredIds(options, found, registry, storage, signal),
  )
}
