import { mkdtemp, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Manifest } from '../archive/manifest.ts'
import type { DrillOutcome } from '../drill/evidence.ts'
import {
  createJournal,
  type DrillJournal,
  type FoundJournal,
  listJournals,
  removeJournal,
  replaceJournal,
} from '../drill/journal.ts'
import type { DrillPlan } from '../drill/plan-drill.ts'
import { type CleanUp, removeScratch } from '../drill/scratch-topics.ts'
import { KafkaBackupError, reasonOf, toKafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { systemClock } from '../lib/clock.ts'
import type { OnTopicsCreated } from '../restore/prepare-topics.ts'
import type { Storage } from '../storage/storage.ts'
import { version } from '../version.ts'
import { type Hooks, withParts } from './parts.ts'
import { type RegistryJob, registryOf } from './registry.ts'
import { runLocatedRestore } from './restore.ts'
import type { LocatedRestoreJob } from './schema-target.ts'
import { openRegistry } from './serve-registry.ts'

export interface DrillRun {
  job: LocatedRestoreJob
  plan: DrillPlan
  manifest: Manifest
  run: string
  /** Of this drill, in the location of the evidence. */
  folder: string
  clusterId: string | null
  startedAt: string
  evidenceAt: Storage
  hooks: Hooks
}

/**
 * Restores to topics that it creates, and removes them again, also where the restore fails or is interrupted. What it creates is in a
 * journal before it is created: the next drill removes what a killed one leaves.
 */
export async function restoreScratch(
  drill: DrillRun,
  { schemas }: { schemas: boolean },
  signal: AbortSignal,
): Promise<{ outcome: Omit<DrillOutcome, 'plan'>; cleanUp: CleanUp }> {
  const { job, plan, run, folder, evidenceAt, hooks } = drill
  const journal = journalOf(drill)
  await createJournal(evidenceAt, folder, journal, signal)
  const ids = new Map<string, string>()
  const onTopicsCreated: OnTopicsCreated = async (created, existing) => {
    for (const { name, id } of created) if (id !== undefined) ids.set(name, id)
    // Whatever else has a planned name belongs to another client: nothing may remove it.
    journal.topics = created.map(({ name, id }) => ({ name, id: id ?? null }))
    await replaceJournal(evidenceAt, folder, journal, new AbortController().signal)
    if (existing.length > 0) throw foreignTopics(existing)
  }
  const outcome: Omit<DrillOutcome, 'plan'> = { ids }
  try {
    outcome.report = await withScratchRegistry(drill, schemas, signal, scratch =>
      runLocatedRestore(scratchJob(scratch, plan, run), hooks, signal, { onTopicsCreated }),
    )
  } catch (error) {
    outcome.error = toKafkaBackupError(reasonOf(error, signal))
  }
  const cleanUp = await cleanUpOwn(job, journal, hooks)
  if (cleanUp.left.length === 0) await removeJournal(evidenceAt, folder, new AbortController().signal)
  reportLeft(cleanUp, hooks)
  signal.throwIfAborted()
  return { outcome, cleanUp }
}

function journalOf({ job, plan, run, clusterId, startedAt }: DrillRun): DrillJournal {
  return {
    ...({ format: 'kafka-backup-drill-journal', format_version: 1 } as const),
    ...{ run, backup_id: job.backupId, cluster_id: clusterId, started_at: startedAt },
    ...{ host: hostname(), tool_version: version },
    topics: plan.topics.map(({ scratch }) => ({ name: scratch, id: null })),
  }
}

function foreignTopics(existing: readonly string[]): KafkaBackupError {
  return new KafkaBackupError(
    'RESTORE_CONFLICT',
    `another client has just created topic ${existing.join(', topic ')}`,
    {
      help: 'No record was written. Run the drill again, or pass another --scratch-prefix.',
      details: { topic: existing[0] },
    },
  )
}

/** Pure. The restore of a drill: nothing but topics under scratch names, each record compared. */
export function scratchJob(job: LocatedRestoreJob, plan: DrillPlan, run: string): LocatedRestoreJob {
  const { asOfMs: _, timeWindowStartMs: __, ...own } = job.restore
  const { timeWindow, ...selection } = plan.options
  return {
    ...job,
    restore: {
      ...own,
      ...{ topics: mutable(selection.topics), topicMapping: selection.topicMapping },
      offsetRanges: selection.offsetRanges,
      ...(timeWindow.start !== undefined && { timeWindowStartMs: timeWindow.start }),
      ...{ generation: plan.generation, restoreId: `drill-${run}`, verify: true, createTopics: true },
      ...{ existingTopics: 'fail', retention: 'hold', acls: false, quotas: false, users: false },
      consumerGroups: { ...own.consumerGroups, include: [] },
    },
  }
}

function mutable({ include, exclude }: DrillPlan['options']['topics']): { include: string[]; exclude: string[] } {
  return { include: [...include], exclude: [...exclude] }
}

/** Schemas go to a registry in memory that ends with the drill; the job has none where the backup has no schemas. */
async function withScratchRegistry<T>(
  { job, manifest }: Pick<DrillRun, 'job' | 'manifest'>,
  wantsSchemas: boolean,
  signal: AbortSignal,
  work: (job: LocatedRestoreJob) => Promise<T>,
): Promise<T> {
  const { enterprise, ...plain } = job
  if (!manifest.schema_registry || !wantsSchemas) return work(plain)
  const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-drill-'))
  try {
    const server = await openRegistry({ host: '127.0.0.1', port: 0, firstId: 1 }, signal)
    try {
      const registry = await scratchRegistry(registryOf(job), server.url, folder)
      return await work({ ...plain, enterprise: { ...enterprise, schemaRegistry: registry } })
    } finally {
      await server.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The settings of the job for the restore of schemas, with another registry and journal. */
async function scratchRegistry(own: RegistryJob | undefined, url: string, folder: string): Promise<RegistryJob> {
  const { readJob } = await import('../config/load-job.ts')
  const document = {
    ...{ mode: 'restore', backup_id: 'drill', target: { bootstrap_servers: ['localhost:9092'] } },
    storage: { backend: 'filesystem', path: '.' },
    enterprise: { schema_registry: { enabled: true, url, restore: { enabled: true, journal: folder } } },
  }
  const scratch = registryOf(readJob(document, { source: 'the drill', mode: 'restore' }))
  if (!scratch) throw new KafkaBackupError('INTERNAL', 'the drill has no registry')
  if (!own) return scratch
  const { auth: _, tls: __, ...rest } = own
  return { ...rest, urls: scratch.urls ?? [], restore: { ...own.restore, enabled: true, journal: folder } }
}

/** Over new connections: those of the drill may have ended meanwhile. Not interrupted, and never fails. */
async function cleanUpOwn(job: LocatedRestoreJob, journal: DrillJournal, hooks: Hooks): Promise<CleanUp> {
  const { signal } = new AbortController()
  try {
    return await withParts({ ...job, source: job.target }, hooks, signal, ({ cluster }) =>
      removeScratch({ cluster, clock: systemClock }, journal),
    )
  } catch (error) {
    const reason = toKafkaBackupError(error).message
    return { removed: [], left: journal.topics.map(topic => ({ ...topic, reason })) }
  }
}

function reportLeft({ left }: CleanUp, { onProgress }: Hooks): void {
  for (const { name, id, reason } of left) {
    const message = `topic ${name} (${id ?? 'ID unknown'}) is left on the target: ${reason}. The next drill of the backup with the same evidence location removes it`
    onProgress({ type: 'warning', message })
  }
}

interface LeftoverParts {
  job: LocatedRestoreJob
  evidenceAt: Storage
  hooks: Hooks
  cluster: Cluster
}

/** Removes the topics of drills that were killed. Under the lease of this drill, no other one of the backup runs with this location. */
export async function removeLeftovers(
  { job, evidenceAt, hooks, cluster }: LeftoverParts,
  signal: AbortSignal,
): Promise<void> {
  const { clusterId } = await cluster.metadata({ topics: [] }, signal)
  for (const found of await listJournals(evidenceAt, job.backupId, signal)) {
    const { removes, message } = judgeLeftover(found, clusterId)
    if (!removes || !('journal' in found)) {
      hooks.onProgress({ type: 'warning', message })
      continue
    }
    hooks.onProgress({ type: 'warning', message })
    const cleanUp = await removeScratch({ cluster, clock: systemClock }, found.journal)
    for (const { name, id } of cleanUp.removed) {
      hooks.onProgress({ type: 'warning', message: `removed topic ${name} (${id}) of drill ${found.journal.run}` })
    }
    reportLeft(cleanUp, hooks)
    if (cleanUp.left.length === 0) await removeJournal(evidenceAt, found.folder, signal)
  }
}

/** Pure. */
export function judgeLeftover(found: FoundJournal, clusterId: string | null): { removes: boolean; message: string } {
  if ('problem' in found) return { removes: false, message: `${found.folder}: ${found.problem}` }
  const { run, started_at, host, cluster_id, topics } = found.journal
  const what = `the drill ${run} of ${started_at} on ${host} did not end`
  const names = topics.map(({ name }) => name).join(', ')
  if (cluster_id === clusterId) return { removes: true, message: `${what}; removing what it created: ${names}` }
  const where = `another cluster (${cluster_id ?? 'unnamed'})`
  return { removes: false, message: `${what}; it may have left ${names} on ${where}: run a drill against that cluster` }
}
