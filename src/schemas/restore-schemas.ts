import { KafkaBackupError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { RegistryClient } from '../registry/client/client.ts'
import { identityOf } from '../registry/client/flavour.ts'
import type { IdMap } from '../registry/ids/id-map.ts'
import type { RegistrySnapshot } from '../registry/model.ts'
import type { RegistryPlan, RestoreJournal, RestoreStep, Scope } from '../registry/plan/restore-step.ts'
import { isRefusedByMode } from '../registry/write/registration.ts'
import { RegistryWriter } from '../registry/write/requests.ts'
import { IdsIgnored, ModeRefused, runSteps } from '../registry/write/run-steps.ts'
import { idMapOf } from './id-map-of.ts'
import type { JournalBook } from './journal.ts'
import type { SettingsReading } from './read-target.ts'
import { reportSchemas, type SchemaReport } from './schema-report.ts'
import { nothingJournaled, type SchemaOptions, type Survey, surveyTarget } from './survey-target.ts'

export interface SchemaParts {
  client: RegistryClient
  journal: JournalBook
  clock: Clock
  onProgress: OnProgress
}

export interface RestoredSchemas {
  report: SchemaReport
  idMap: IdMap
}

/** What a restore of schemas would do, or what stands in its way. Nothing is written. */
export async function surveySchemas(
  backup: RegistrySnapshot,
  options: SchemaOptions,
  { client, journal }: Pick<SchemaParts, 'client' | 'journal'>,
  signal: AbortSignal,
): Promise<Survey> {
  // Whoever writes nothing puts nothing back: what a run that died has left stays open for the next that does.
  const journaled = options.strategy === 'lookup' ? nothingJournaled : await journal.read(signal)
  return surveyTarget(backup, client, options, journaled, signal)
}

/**
 * Carries out what a survey has planned, and proves it: the registry is read anew and must have nothing left to be done.
 * The map of IDs comes from that reading, so that a later run finds the same one. A run that dies is gone on with by the next.
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
  const after = plan.steps.length === 0 ? survey : await carryOutAll(backup, survey, parts, signal)
  await parts.journal.close(signal)
  const idMap = idMapOf(after.plan, backup, after.target)
  const durationMs = parts.clock.monotonic() - startedAt
  return { idMap, report: reportSchemas(plan, after, { requests: parts.client.requests, durationMs }) }
}

/** A subject without versions may have a mode that was not asked for: all are, where one refuses a registration. */
async function carryOutAll(
  backup: RegistrySnapshot,
  survey: Survey,
  parts: SchemaParts,
  signal: AbortSignal,
): Promise<Survey> {
  try {
    return await carryOut(backup, survey, parts, true, signal)
  } catch (error) {
    if (!(error instanceof RefusedByMode)) throw error
    const reading = { ...(await parts.journal.read(signal)), asksAllModes: true }
    const whole = await surveyTarget(backup, parts.client, survey.options, reading, signal)
    if (whole.plan.conflicts.length > 0) throw error.cause
    return carryOut(backup, whole, parts, false, signal)
  }
}

/** A registration was refused by a mode, perhaps one that this run has not read. */
class RefusedByMode extends Error {}

async function carryOut(
  backup: RegistrySnapshot,
  survey: Survey,
  parts: SchemaParts,
  mayLookAgain: boolean,
  signal: AbortSignal,
): Promise<Survey> {
  const { client, journal, clock, onProgress } = parts
  const { steps } = survey.plan
  const touched = new Set<string>()
  const writer = new RegistryWriter(client, identityOf(survey.target), survey.options.traits)
  const total = steps.filter(({ type }) => type === 'register').length
  let [kept, proven]: [RestoreJournal | undefined, Survey | undefined] = [undefined, undefined]
  let [done, isTouched] = [0, false]
  onProgress({ type: 'schemas', done, total })
  const inspect = (reading: SettingsReading = { before: { target: survey.target, touched } }) => {
    const imported = new Set([...survey.options.imported, ...(kept?.imported ?? [])])
    return surveyTarget(backup, client, survey.options, { unfinished: kept, imported, ...reading }, signal)
  }
  const stepParts = {
    ...{ writer, clock, concurrency: client.concurrency },
    keepJournal: async (written: RestoreJournal) => {
      await journal.write(written, signal)
      kept = written
    },
    verify: async (rest: readonly RestoreStep[]) => {
      const found = await inspect()
      refuseRest(found.plan, rest, client.name)
      if (rest.length === 0) proven = found
    },
    onRegistered: () => onProgress({ type: 'schemas', done: ++done, total }),
    onWritten: (scope: Scope | null) => {
      isTouched = true
      if (scope?.kind === 'subject') touched.add(scope.subject)
    },
  }
  await runSteps(steps, stepParts, signal).catch(async error => {
    if (mayLookAgain && isRefusedByMode(error)) throw new RefusedByMode('', { cause: error })
    if (error instanceof IdsIgnored && done === 0) {
      await takeBack(error.step.subject, survey.target, writer, kept, signal)
      await journal.close(signal)
    } else tellUnsettled(listUnsettled(kept, touched, survey.options.unfinished), onProgress)
    if (error instanceof ModeRefused && !isTouched) await journal.close(signal)
    throw error
  })
  if (proven) return proven
  const after = await inspect()
  refuseRest(after.plan, [], client.name)
  return after
}

/** The registry has what the plan says when planning anew finds nothing to do but what is to come. */
function refuseRest({ steps, conflicts }: RegistryPlan, expected: readonly RestoreStep[], name: string): void {
  const shown = (some: readonly RestoreStep[]) =>
    some.filter(({ type }) => type !== 'journal' && type !== 'verify').map(step => JSON.stringify(step))
  const awaited = new Set(shown(expected))
  const found = [...conflicts.map(({ message }) => message), ...shown(steps).filter(step => !awaited.has(step))]
  const [first, ...more] = found
  if (first === undefined) return
  const others = more.length === 0 ? '' : `, and ${more.length} more`
  throw new KafkaBackupError(
    'REGISTRY_UNFAITHFUL',
    `${name} took the schemas, and does not hold what it was given: still to be done is ${first.slice(0, 500)}${others}`,
  )
}

/** The journal has also settings that this run might have changed, and has not. */
function listUnsettled(
  kept: RestoreJournal | undefined,
  touched: ReadonlySet<string>,
  earlier: RestoreJournal | undefined,
): RestoreJournal['settings'] {
  const before = new Set(earlier?.settings.map(({ scope }) => JSON.stringify(scope)))
  const mayDiffer = ({ scope }: RestoreJournal['settings'][number]) =>
    scope.kind !== 'subject' || touched.has(scope.subject) || before.has(JSON.stringify(scope))
  return kept?.settings.filter(mayDiffer) ?? []
}

/** They are not put back here: whoever may register while IDs are half restored could be given one of them. */
function tellUnsettled(settings: RestoreJournal['settings'], onProgress: OnProgress): void {
  if (settings.length === 0) return
  const names = settings.map(({ scope }) =>
    scope.kind === 'global'
      ? 'the whole registry'
      : scope.kind === 'context'
        ? `the context ${scope.context}`
        : `subject ${scope.subject}`,
  )
  const more = names.length > 5 ? ` and ${names.length - 5} more` : ''
  const message =
    `the restore of schemas did not end: levels or modes of ${names.slice(0, 5).join(', ')}${more} may still be those of ` +
    'the restore; run the same command again, which continues and restores them'
  onProgress({ type: 'warning', message })
}

/** Removes the one version that was registered, and gives the settings back as they were. */
async function takeBack(
  subject: string,
  before: RegistrySnapshot,
  writer: RegistryWriter,
  kept: RestoreJournal | undefined,
  signal: AbortSignal,
): Promise<void> {
  const there = new Set(before.versions.filter(one => one.subject === subject).map(({ version }) => version))
  const made = (await writer.versionsOf(subject, signal)).filter(version => !there.has(version))
  for (const version of made) await writer.deleteVersion(subject, version, true, signal)
  for (const { scope, compatibility, mode, config } of kept?.settings ?? []) {
    if (mode === null) await writer.deleteMode(scope, signal)
    else await writer.setMode(scope, mode, mode === 'IMPORT', signal)
    if (compatibility === null && config === null) await writer.deleteConfig(scope, signal)
    else await writer.setConfig(scope, { compatibility, config, clears: true }, signal)
  }
}
