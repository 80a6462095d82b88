import { type RegistrySnapshot, versionKey } from '../../archive/registry-model.ts'
import { KafkaBackupError } from '../../errors.ts'
import { type Holdings, readHoldings } from '../client/read-snapshot.ts'
import type { IdMap } from '../ids/id-map.ts'
import { carryOut, type SchemaParts } from './carry-out.ts'
import { idMapOf } from './id-map-of.ts'
import { reportSchemas, type SchemaReport } from './schema-report.ts'
import { nothingJournaled, type SchemaOptions, type Survey, surveyTarget } from './survey-target.ts'

export interface RestoredSchemas {
  report: SchemaReport
  idMap: IdMap
}

type SurveyParts = Pick<SchemaParts, 'client' | 'journal'> & {
  /** A reading of the registry that was begun before. */
  holdings?: Promise<Holdings>
}

/** What a restore of schemas would do, or the conflicts that block it. Writes nothing. */
export async function surveySchemas(
  backup: RegistrySnapshot,
  options: SchemaOptions,
  { client, journal, holdings }: SurveyParts,
  signal: AbortSignal,
): Promise<Survey> {
  // A run that only reads restores no settings: what a killed run has left stays open for the next one that writes.
  const journaled = options.strategy === 'lookup' ? nothingJournaled : await journal.read(signal)
  return surveyTarget(backup, client, options, { ...journaled, holdings }, signal)
}

/** Reads the target while the backup is being read. What is wrong with the backup is reported first. */
export async function surveyWhileReading(
  readBackup: () => Promise<RegistrySnapshot>,
  options: SchemaOptions,
  { client, journal }: Pick<SchemaParts, 'client' | 'journal'>,
  signal: AbortSignal,
): Promise<{ backup: RegistrySnapshot; survey: Survey }> {
  const ending = new AbortController()
  const holdings = readHoldings(client, AbortSignal.any([signal, ending.signal]))
  // Its failure is thrown where it is waited for, which it is not where the backup cannot be read.
  holdings.catch(() => undefined)
  try {
    const backup = await readBackup()
    return { backup, survey: await surveySchemas(backup, options, { client, journal, holdings }, signal) }
  } finally {
    ending.abort()
  }
}

/**
 * What the target holds of a backup that was restored to it: the map of IDs as the restore has made it.
 * What it has learned of the registry counts, and what it has left unfinished does not.
 */
export async function surveyRestored(
  backup: RegistrySnapshot,
  options: SchemaOptions,
  { client, journal }: Pick<SchemaParts, 'client' | 'journal'>,
  signal: AbortSignal,
): Promise<Survey> {
  const { learned = [] } = await journal.read(signal)
  return surveyTarget(backup, client, options, { ...nothingJournaled, learned }, signal)
}

/**
 * Carries out the plan of a survey and verifies it: the registry is read again, and nothing may be left to do.
 * The map of IDs comes from that reading, so a later run finds the same one. The next run continues one that was killed.
 */
export async function restoreSchemas(
  backup: RegistrySnapshot,
  survey: Survey,
  parts: SchemaParts,
  signal: AbortSignal,
): Promise<RestoredSchemas> {
  const startedAt = parts.clock.monotonic()
  const { plan } = survey
  if (plan.conflicts.length > 0) throw new KafkaBackupError('INTERNAL', 'a plan with conflicts cannot be carried out')
  const after = plan.steps.length === 0 ? survey : await carryOut(backup, survey, parts, signal)
  await parts.journal.close(signal)
  const idMap = idMapOf(after.plan, backup, after.target)
  const durationMs = parts.clock.monotonic() - startedAt
  return { idMap, report: reportSchemas(plan, after, { requests: parts.client.requests, durationMs }) }
}

/**
 * Whether a registry that is in use by now still has to be written: an unfinished restore has to be finished, and missing
 * schemas have to be registered where no version of the target has to be removed for them.
 */
export function mustWrite({ plan, target, options }: Survey): boolean {
  const existing = new Set(target.versions.map(({ subject, version }) => versionKey(subject, version)))
  const removes = plan.steps.some(
    step => step.type === 'delete-version' && step.permanent && existing.has(versionKey(step.subject, step.version)),
  )
  return options.unfinished !== undefined || (!removes && plan.steps.some(({ type }) => type === 'register'))
}
