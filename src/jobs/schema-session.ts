import { readRegistry } from '../archive/read-registry.ts'
import { joinSubject, type RegistrySnapshot, splitSubject } from '../archive/registry-model.ts'
import { KafkaBackupError } from '../errors.ts'
import type { Finding } from '../observe/finding.ts'
import type { RegistryClient } from '../registry/client/client.ts'
import { createIdMap, type IdMap } from '../registry/ids/id-map.ts'
import { indexSchemas } from '../registry/ids/known-schemas.ts'
import { idMapOf, provisionalIdMap } from '../registry/restore/id-map-of.ts'
import type { RegistryPlan } from '../registry/restore/plan/restore-step.ts'
import type { SchemaReport } from '../registry/restore/schema-report.ts'
import { findingsOf } from '../registry/restore/schema-report.ts'
import type { Survey } from '../registry/restore/survey-target.ts'
import { findGeneration } from '../restore/find-plan.ts'
import type { RestoreOptions } from '../restore/options.ts'
import { readIfAllowed } from '../restore/prepare-restore.ts'
import type { RewriteOptions } from '../restore/rewrite-options.ts'
import { openJournal } from './journal.ts'
import { type Hooks, type Parts, quiet } from './parts.ts'
import { type RegistryJob, registryOf, schemaOptions, withRegistry } from './registry.ts'
import type { LocatedRestoreJob } from './restored-jobs.ts'

/** The schemas of a backup on their way to the registry of a target, and what they mean to the records. */
export interface SchemaSession {
  survey: Survey
  /** What stands in the way, or should be known. */
  findings: Finding[]
  /** Options of the restore with the IDs that are known, and a stand-in for those that are not given yet. */
  foreseen: RestoreOptions
  /** Brings the schemas there, or leaves the registry as it is; with the options that write their IDs into the records. */
  run(isLeft: boolean): Promise<{ report: SchemaReport; options: RestoreOptions; warnings: string[] }>
}

/** `work` gets undefined where the job has no registry, or wants nothing of it. The target is read, nothing is written. */
export async function withSchemas<T>(
  job: LocatedRestoreJob,
  plain: RestoreOptions,
  parts: Parts,
  hooks: Hooks,
  signal: AbortSignal,
  work: (session: SchemaSession | undefined) => Promise<T>,
): Promise<T> {
  const registry = registryOf(job)
  if (!registry || !(registry.restore.enabled || registry.restore.idMapping)) return work(undefined)
  const options = { ...plain, restoresSchemas: registry.restore.enabled }
  const wish = await schemaOptions(registry)
  const backup = await readSchemas(withRewrite(options, registry, undefined, createIdMap([])), parts, signal)
  return withRegistry(registry, client =>
    openJournal(job, registry, { client, beside: parts.storage, hooks }, signal, async (journal, hold) => {
      const { surveySchemas } = await import('../registry/restore/restore-schemas.ts')
      const survey = await surveySchemas(backup, wish, { client, journal }, signal)
      const { plan, target } = survey
      const withIds = (idMap: IdMap) => withRewrite(options, registry, { backup, plan }, idMap)
      return work({
        survey,
        findings: findingsOf(plan),
        foreseen: withIds(provisionalIdMap(plan, backup, target)),
        run: async isLeft => {
          const { restoreSchemas } = await import('../registry/restore/restore-schemas.ts')
          const { onProgress } = hooks
          // What would have gone stays.
          const notes = plan.notes.filter(({ kind }) => kind !== 'undecodable')
          const wanted = isLeft ? { ...survey, plan: { ...plan, steps: [], notes } } : survey
          const schemaParts = { client, journal, hold, clock: parts.clock, onProgress }
          const done = await restoreSchemas(backup, wanted, schemaParts, signal)
          // Records take hours: by now others may restore into the registry.
          await hold.release()
          return { report: done.report, options: withIds(done.idMap), warnings: tellOtherIds(registry, done.report) }
        },
      })
    }),
  )
}

/** The same for what only looks at a target: the IDs are those that it has. */
export async function withKnownIds<T>(
  job: LocatedRestoreJob,
  options: RestoreOptions,
  parts: Parts,
  signal: AbortSignal,
  work: (options: RestoreOptions) => Promise<T>,
): Promise<T> {
  const registry = registryOf(job)
  if (!registry?.restore.rewriteIds) return work(options)
  const wish = await schemaOptions(registry)
  const backup = await readSchemas(withRewrite(options, registry, undefined, createIdMap([])), parts, signal)
  const read = (client: RegistryClient) =>
    openJournal(job, registry, { client, beside: parts.storage, hooks: quiet }, signal, async journal => {
      const { surveyRestored } = await import('../registry/restore/restore-schemas.ts')
      return surveyRestored(backup, wish, { client, journal }, signal)
    })
  return withRegistry(registry, async client => {
    const { plan, target } = await read(client)
    return work(withRewrite(options, registry, { backup, plan }, idMapOf(plan, backup, target)))
  })
}

async function readSchemas(options: RestoreOptions, parts: Parts, signal: AbortSignal): Promise<RegistrySnapshot> {
  const manifest = await findGeneration(options, { ...parts, readNotes: readIfAllowed }, signal)
  const backup = await readRegistry(parts.storage, manifest, signal)
  if (backup) return backup
  const what = `generation ${manifest.generation} of the backup ${manifest.backup_id} holds no schemas`
  throw new KafkaBackupError('RESTORE_REFUSED', what, {
    help: 'Set enterprise.schema_registry.enabled to false, or restore a generation that was made with the registry.',
  })
}

function withRewrite(
  options: RestoreOptions,
  { restore }: RegistryJob,
  known: { backup: RegistrySnapshot; plan: RegistryPlan } | undefined,
  idMap: IdMap,
): RestoreOptions {
  if (!restore.idMapping) return options
  const rewrite: RewriteOptions = {
    writes: restore.rewriteIds,
    checkIds: restore.checkIds,
    idMap,
    schemas: indexSchemas(known?.backup.versions ?? [], known?.backup.maxIds),
    unknownIds: restore.unknownIds,
    reasons: new Map(known ? [...notRestored(known.backup, idMap), ...known.plan.unmappedIds] : []),
    topics: restore.rewriteTopics,
    parts: restore.rewriteParts,
    topicParts: new Map(),
    topicContexts: restore.topicContexts,
  }
  return { ...options, rewrite }
}

/** What the job's own filters leave out. */
function notRestored({ versions }: RegistrySnapshot, idMap: IdMap): [string, string][] {
  return versions
    .filter(({ subject, id }) => idMap.get(splitSubject(subject).context, id) === undefined)
    .map(({ subject, version, id }) => {
      const { context } = splitSubject(subject)
      return [joinSubject({ context, name: String(id) }), `version ${version} of subject ${subject} is not restored`]
    })
}

/** Whoever asks for neither way of keeping IDs right hears that they are not. */
function tellOtherIds({ restore }: RegistryJob, { ids }: SchemaReport): string[] {
  const others = ids.filter(({ source, target }) => source !== target)
  if (restore.rewriteIds || !restore.idMapping || others.length === 0) return []
  return [
    `${others.length} schema IDs differ on the target, and messages keep those of the source ` +
      '(enterprise.schema_registry.restore.rewrite_ids: false)',
  ]
}
