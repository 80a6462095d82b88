import { readRegistryOfRestore } from '../archive/registry-at.ts'
import { mappedId } from '../archive/registry-files.ts'
import type { RegistryHold } from '../archive/registry-lease.ts'
import { type LeftOutVersion, type RegistrySnapshot, splitSubject } from '../archive/registry-model.ts'
import { KafkaBackupError } from '../errors.ts'
import { describeFinding, type Finding } from '../observe/finding.ts'
import type { IdMap } from '../registry/ids/id-map.ts'
import { indexSchemas } from '../registry/ids/known-schemas.ts'
import type { SchemaParts } from '../registry/restore/carry-out.ts'
import { idMapOf, provisionalIdMap } from '../registry/restore/id-map-of.ts'
import { mustWrite, restoreSchemas, surveyRestored, surveyWhileReading } from '../registry/restore/restore-schemas.ts'
import { findingsOf, isOfWrite, type SchemaReport } from '../registry/restore/schema-report.ts'
import type { SchemaOptions, Survey } from '../registry/restore/survey-target.ts'
import type { Storage } from '../storage/storage.ts'
import type { FoundRestore } from './find-restore.ts'
import type { RestoreOptions } from './restore-options.ts'

/** The registry of the target, and what the job asks of it. */
export interface SchemaTarget extends Pick<SchemaParts, 'client' | 'journal'> {
  options: SchemaOptions
  hold: RegistryHold
}

/** The schemas of a backup on their way to the registry of the target. */
export interface SchemaSurvey {
  backup: RegistrySnapshot
  survey: Survey
  findings: Finding[]
  /** The IDs that are known, with a placeholder for those that schemas get when they are registered. */
  foreseenIds: IdMap
}

export interface SchemaResult {
  report: SchemaReport
  idMap: IdMap
  warnings: string[]
  /** Schemas were registered or replaced, so that the registry has changed. */
  hasWritten: boolean
}

/** Where the schemas of a restore are: of its generation, and for one that has begun, or has a filter, of the snapshots that were read then. */
type SchemaSource = Pick<FoundRestore, 'manifest' | 'progress' | 'plan'>

/** Reads the schemas of a generation and the registry of the target, and writes nothing. */
export async function surveyBackupSchemas(
  from: SchemaSource,
  { options, client, journal }: SchemaTarget,
  storage: Storage,
  signal: AbortSignal,
): Promise<SchemaSurvey> {
  const readBackup = () => readSchemas(from, storage, signal)
  const { backup, survey } = await surveyWhileReading(readBackup, options, { client, journal }, signal)
  const { plan, target } = survey
  const idsOf = plan.steps.length === 0 ? idMapOf : provisionalIdMap
  return {
    backup,
    survey,
    findings: [...findingsOf(plan), ...olderSchemas(backup)],
    foreseenIds: idsOf(plan, backup, target),
  }
}

/** Pure. A warning where schemas of the records may be missing in the backup. */
export function olderSchemas({ notice }: RegistrySnapshot): Finding[] {
  if (notice === undefined) return []
  const remedy =
    'a generation after it, or `schemas backup` while the source is there, has them; records whose schemas are missing ' +
    'are found with enterprise.schema_registry.restore.check_ids: all'
  return [{ severity: 'warning', subject: 'schema registry', problem: notice, remedy }]
}

async function readSchemas(
  { manifest, progress, plan }: SchemaSource,
  storage: Storage,
  signal: AbortSignal,
): Promise<RegistrySnapshot> {
  const began = progress?.schemasAddedAt ?? plan.schemasAddedAt
  const backup = await readRegistryOfRestore(storage, manifest, began, signal)
  if (backup) return backup
  const what = `generation ${manifest.generation} of the backup ${manifest.backup_id} holds no schemas`
  throw new KafkaBackupError('RESTORE_REFUSED', what, {
    help: 'Set enterprise.schema_registry.enabled to false, or restore a generation that was made with the registry.',
  })
}

const LEFT_AS_IT_IS =
  'the records are restored, and the registry has changed since: it is left as it is (`schemas restore` would restore it again)'

/**
 * Registers the schemas. Where the records are complete, the registry is in use by now, and only what is unfinished or
 * missing is written.
 */
export async function writeSchemas(
  { backup, survey, findings }: SchemaSurvey,
  hasRecords: boolean,
  { hold, ...parts }: SchemaParts & { hold: RegistryHold },
  signal: AbortSignal,
): Promise<SchemaResult> {
  const { plan } = survey
  const isLeft = hasRecords && plan.steps.length > 0 && !mustWrite(survey)
  const notes = plan.notes.filter(note => !isOfWrite(note))
  const wanted = isLeft ? { ...survey, plan: { ...plan, steps: [], notes } } : survey
  const { report, idMap } = await restoreSchemas(backup, wanted, { ...parts, hold }, signal)
  // Writing records takes hours: other restores may use the registry from now on.
  await hold.release()
  // A loss is reported also where nothing had to be written, or an earlier run has reported it.
  const warnings = isLeft ? [LEFT_AS_IT_IS] : findings.map(describeFinding)
  return { report, idMap, warnings, hasWritten: wanted.plan.steps.length > 0 }
}

/** Pure. The options that write these IDs into the records, or check them; the job says which. */
export function withIds(
  options: RestoreOptions,
  { backup, survey }: { backup: RegistrySnapshot; survey: Pick<Survey, 'plan'> },
  idMap: IdMap,
): RestoreOptions {
  if (!options.rewrite) return options
  const schemas = indexSchemas(backup.versions, backup.maxIds)
  const leftOut = (backup.leftOut ?? []).filter(one => isUnmapped(one, idMap))
  const absent = leftOut.map(
    ({ subject, version, id }) =>
      [mappedId(subject, id), `version ${version} of subject ${subject} ${LEFT_OUT}`] as const,
  )
  const reasons = new Map([...absent, ...notRestored(backup, idMap), ...survey.plan.unmappedIds])
  return { ...options, rewrite: { ...options.rewrite, idMap, schemas, reasons, leftOut } }
}

/** The same with the IDs that the schemas have in the registry of the target, once they are restored. It is only read. */
export async function withRestoredIds(
  options: RestoreOptions,
  from: SchemaSource,
  registry: SchemaTarget | undefined,
  storage: Storage,
  signal: AbortSignal,
): Promise<RestoreOptions> {
  if (!registry || !options.rewrite) return options
  const backup = await readSchemas(from, storage, signal)
  const survey = await surveyRestored(backup, registry.options, registry, signal)
  return withIds(options, { backup, survey }, idMapOf(survey.plan, backup, survey.target))
}

const LEFT_OUT =
  'was left out of the backup (include_versions, include_soft_deleted and schema_types of the backup job select versions)'

function isUnmapped({ subject, id }: LeftOutVersion, idMap: IdMap): boolean {
  return idMap.get(splitSubject(subject).context, id) === undefined
}

/** Schemas that the filters of the job leave out. */
function notRestored({ versions }: RegistrySnapshot, idMap: IdMap): [string, string][] {
  return versions
    .filter(one => isUnmapped(one, idMap))
    .map(({ subject, version, id }) => [
      mappedId(subject, id),
      `version ${version} of subject ${subject} is not restored`,
    ])
}

/** Pure. A job that neither keeps nor rewrites IDs gets a warning that they differ. */
export function otherIdWarnings({ rewrite }: RestoreOptions, { ids }: SchemaReport): string[] {
  const others = ids.filter(({ source, target }) => source !== target)
  if (!rewrite || rewrite.writes || others.length === 0) return []
  return [
    `${others.length} schema IDs differ on the target, and messages keep those of the source ` +
      '(enterprise.schema_registry.restore.rewrite_ids: false)',
  ]
}
