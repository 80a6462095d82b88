import type { RegistryHold } from '../archive/registry-lease.ts'
import type { RegistrySnapshot } from '../archive/registry-model.ts'
import type { SchemaBackupJob, SchemaRestoreJob } from '../config/load-job.ts'
import { KafkaBackupError } from '../errors.ts'
import { systemClock } from '../lib/clock.ts'
import type { Finding } from '../observe/finding.ts'
import type { SchemaBackupReport } from '../registry/backup-schemas.ts'
import type { RegistryClient } from '../registry/client/client.ts'
import type { ProbeOptions, RegistryProbe } from '../registry/probe/probe-registry.ts'
import type { JournalBook } from '../registry/restore/journal.ts'
import type { SchemaDryRun, SchemaReport } from '../registry/restore/schema-report.ts'
import type { Survey } from '../registry/restore/survey-target.ts'
import type { SchemaDiff, SchemaListing } from '../registry/schema-listing.ts'
import { assertWriteOnceLocation } from '../storage/check-location.ts'
import { version } from '../version.ts'
import { withLeaseAt } from './leases.ts'
import { assertExists, type Hooks, newRun, readOnly, type Watch, withMetrics, withStorage } from './parts.ts'
import { schemaOptions, withRegistry, withRegistryReader } from './registry.ts'
import { findBackedUp, readSide, requireRegistry, type SchemaSide } from './schema-sides.ts'
import { openJournal } from './schema-target.ts'

export interface SchemaRestoreHead {
  backupId: string
  generation: number
  location: string
  /** The addresses of the registry. */
  registry: string
}

export type SchemaRestoreReport = SchemaRestoreHead & SchemaReport
export type SchemaRestoreDryRun = SchemaRestoreHead & SchemaDryRun & { findings: Finding[] }

/** Puts the registry of a job into its backup. Kafka is not asked anything. */
export async function backupSchemasJob(
  job: SchemaBackupJob,
  hooks: Hooks,
  signal: AbortSignal,
): Promise<SchemaBackupReport> {
  requireRegistry(job)
  return withMetrics({ ...job, name: 'schemas backup' }, hooks, watched =>
    withRegistryReader(job, readRegistry =>
      withStorage(job, watched, async storage => {
        if (!readRegistry) throw new KafkaBackupError('INTERNAL', 'a registry that is on has no reader')
        await assertWriteOnceLocation({ options: job.storage, storage }, signal)
        const { backupSchemas } = await import('../registry/backup-schemas.ts')
        const { onProgress } = watched
        const term = { ttlMs: job.backup.leaseDurationMs }
        const claim = { backupId: job.backupId, role: 'writer', kind: 'schemas backup', ...term } as const
        return withLeaseAt(storage, claim, watched, signal, async lease => {
          const encryption = await storage.keysFor(job.backupId, signal)
          const assertHeld = () => lease?.assertHeld()
          const run = { newRun, readRegistry, toolVersion: version, onProgress, encryption, assertHeld }
          return backupSchemas(job.backupId, { storage, clock: systemClock, ...run }, signal)
        })
      }),
    ),
  )
}

/** Brings the schemas of a backup to the registry of a job, and nothing else. Kafka is not asked anything. */
export function restoreSchemasJob(
  job: SchemaRestoreJob,
  hooks: Hooks,
  signal: AbortSignal,
): Promise<SchemaRestoreReport> {
  return withSurvey(job, hooks, signal, async ({ head, backup, survey, client, journal, hold, onProgress }) => {
    const [{ findingsOf }, { describeFinding }, { RestoreRefusal }, { restoreSchemas }, older] = await Promise.all([
      import('../registry/restore/schema-report.ts'),
      import('../observe/finding.ts'),
      import('../restore/refusal.ts'),
      import('../registry/restore/restore-schemas.ts'),
      import('../restore/schema-step.ts'),
    ])
    const findings = findingsOf(survey.plan)
    if (survey.plan.conflicts.length > 0) throw new RestoreRefusal(findings)
    for (const finding of [...older.olderSchemas(backup), ...(survey.plan.steps.length > 0 ? findings : [])]) {
      onProgress({ type: 'warning', message: describeFinding(finding) })
    }
    const parts = { client, journal, hold, clock: systemClock, onProgress }
    return { ...head, ...(await restoreSchemas(backup, survey, parts, signal)).report }
  })
}

/** The plan with all blockers. Nothing is written. */
export function dryRunSchemasJob(
  job: SchemaRestoreJob,
  { onProgress }: Watch,
  signal: AbortSignal,
): Promise<SchemaRestoreDryRun> {
  return withSurvey(job, { ...readOnly, onProgress }, signal, async ({ head, backup, survey }) => {
    const [{ findingsOf, describeSchemaPlan }, { olderSchemas }] = await Promise.all([
      import('../registry/restore/schema-report.ts'),
      import('../restore/schema-step.ts'),
    ])
    const findings = [...findingsOf(survey.plan), ...olderSchemas(backup)]
    return { ...head, ...describeSchemaPlan(survey), findings }
  })
}

export async function listSchemasJob(
  side: SchemaSide,
  { onProgress }: Watch,
  signal: AbortSignal,
): Promise<SchemaListing> {
  const { listingOf } = await import('../registry/schema-listing.ts')
  return listingOf(await readSide(side, onProgress, signal))
}

export interface DiffOptions {
  wantsIds: boolean
  /** The left is compared as this job restores it: with its filter and mapping of subjects, and its types of schemas. */
  restoredBy?: SchemaRestoreJob | undefined
}

export async function diffSchemasJob(
  left: SchemaSide,
  right: SchemaSide,
  { wantsIds, restoredBy }: DiffOptions,
  { onProgress }: Watch,
  signal: AbortSignal,
): Promise<SchemaDiff> {
  const [{ diffOf }, { asOnTarget }, { selectSubjects }] = await Promise.all([
    import('../registry/schema-listing.ts'),
    import('../registry/restore/plan/wanted-version.ts'),
    import('../registry/restore/select-subjects.ts'),
  ])
  const ours = await readSide(left, onProgress, signal)
  const theirs = await readSide(right, onProgress, signal)
  if (!restoredBy) return diffOf(ours, theirs, { wantsIds })
  const { restore, schemaTypes } = requireRegistry(restoredBy)
  const { snapshot: selected } = selectSubjects(ours.snapshot, restore)
  const snapshot = asOnTarget(selected, { subjectMapping: restore.subjectMapping, schemaTypes })
  return diffOf({ ...ours, snapshot }, theirs, { wantsIds })
}

/** What a registry can do. Unless it is writing, nothing is changed there. */
export async function probeRegistryJob(
  side: SchemaSide,
  options: ProbeOptions,
  signal: AbortSignal,
): Promise<RegistryProbe> {
  if (side.kind !== 'registry') throw new KafkaBackupError('USAGE', 'a backup cannot be probed, only a registry')
  const [{ openRegistryClient }, { probeRegistry }] = await Promise.all([
    import('../registry/client/client.ts'),
    import('../registry/probe/probe-registry.ts'),
  ])
  const client = await openRegistryClient(side.options)
  try {
    return await probeRegistry(client, options, signal)
  } finally {
    client.close()
  }
}

interface Surveyed {
  head: SchemaRestoreHead
  backup: RegistrySnapshot
  survey: Survey
  client: RegistryClient
  journal: JournalBook
  hold: RegistryHold
  onProgress: Hooks['onProgress']
}

async function withSurvey<T>(
  job: SchemaRestoreJob,
  hooks: Hooks,
  signal: AbortSignal,
  work: (surveyed: Surveyed) => Promise<T>,
): Promise<T> {
  const registry = requireRegistry(job)
  if (!registry.restore.enabled) {
    const what = 'enterprise.schema_registry.restore.enabled is false in this job: it restores no schemas'
    throw new KafkaBackupError('CONFIG_INVALID', what, { help: 'Set it to true, or leave it out.' })
  }
  const options = await schemaOptions(registry)
  return withMetrics({ ...job, name: 'schemas restore' }, hooks, ({ onProgress, ...others }) =>
    withStorage(job, { onProgress, ...others }, async storage => {
      await assertExists({ options: job.storage, storage }, signal)
      const { backupId, restore } = job
      const claim = { backupId, role: 'reader', kind: 'schemas restore' } as const
      return withLeaseAt(storage, claim, hooks, signal, async () => {
        const { generation, read } = await findBackedUp(storage, { backupId, ...restore }, onProgress, signal)
        return withRegistry(registry, client =>
          openJournal(job, registry, { client, backupStorage: storage, hooks }, signal, async (journal, hold) => {
            const { surveyWhileReading } = await import('../registry/restore/restore-schemas.ts')
            const { backup, survey } = await surveyWhileReading(read, options, { client, journal }, signal)
            const head = { backupId, generation, location: storage.location, registry: client.name }
            return work({ head, backup, survey, client, journal, hold, onProgress })
          }),
        )
      })
    }),
  )
}
