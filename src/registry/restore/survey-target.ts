import {
  DEFAULT_CONTEXT,
  type RegistrySettings,
  type RegistrySnapshot,
  resolveReference,
  splitSubject,
  versionKey,
} from '../../archive/registry-model.ts'
import type { RegistryClient } from '../client/client.ts'
import { identityOf } from '../client/flavour.ts'
import { readContextSettings, readSubjectSettings } from '../client/read-settings.ts'
import { type Holdings, readSnapshot } from '../client/read-snapshot.ts'
import { lessonsFor, mergeLessons, noLessons } from './plan/lessons.ts'
import { RESERVE_SUBJECT } from './plan/plan-ids.ts'
import { planRegistryRestore } from './plan/plan-restore.ts'
import type { RegistryRestoreOptions } from './plan/restore-options.ts'
import type { Conflict, JournaledLessons, Note, RegistryPlan } from './plan/restore-step.ts'
import { traitsOf } from './plan/target-traits.ts'
import { heldReferences, meansTheSame } from './registry-writer.ts'
import { type SubjectFilter, selectSubjects } from './select-subjects.ts'

/** What a job asks for; the rest of the plan's options is seen on the target. */
export type SchemaOptions = Omit<
  RegistryRestoreOptions,
  'traits' | 'sameTexts' | 'modesNotRead' | 'leftOutIds' | keyof Journaled
> & {
  /** Which subjects of the backup are restored; all where it is not given. */
  filter?: SubjectFilter
}

/** What the journals of this restore say of the target. */
export type Journaled = Pick<RegistryRestoreOptions, 'unfinished' | 'imported' | 'lessons'> & {
  /** Lessons of earlier runs; those of the same server count. */
  learned?: readonly JournaledLessons[]
}

export const nothingJournaled: Journaled = { unfinished: undefined, imported: new Set(), lessons: noLessons }

export interface Survey {
  plan: RegistryPlan
  target: RegistrySnapshot
  options: RegistryRestoreOptions & Pick<SchemaOptions, 'filter'>
}

/** Reads the target and plans against it. Nothing is written. */
export async function surveyTarget(
  backup: RegistrySnapshot,
  client: RegistryClient,
  request: SchemaOptions,
  { before, asksAllModes, holdings, learned = [], ...journaled }: Journaled & TargetReading,
  signal: AbortSignal,
): Promise<Survey> {
  const { snapshot } = selectSubjects(backup, request.filter)
  const reading = { before, holdings, ...(asksAllModes !== undefined && { asksAllModes }) }
  const { target, modesNotRead } = await readTarget(client, snapshot, { ...request, ...journaled }, reading, signal)
  const server = { flavour: target.flavour, version: target.registryVersion }
  const lessons = mergeLessons(journaled.lessons, lessonsFor(server, learned))
  return planForTarget(backup, client, { ...request, ...journaled, lessons, modesNotRead }, target, signal)
}

/** Plans against what a reading has found. The registry is asked about texts that may be one schema. */
export async function planForTarget(
  backup: RegistrySnapshot,
  client: RegistryClient,
  request: Omit<Survey['options'], 'traits' | 'sameTexts'>,
  target: RegistrySnapshot,
  signal: AbortSignal,
): Promise<Survey> {
  const { snapshot, conflicts, notes } = selectSubjects(backup, request.filter)
  const kept = new Set(snapshot.versions)
  const leftOutIds = new Set(backup.versions.filter(one => !kept.has(one)).map(({ id }) => id))
  const traits = traitsOf(target.flavour, target.registryVersion)
  const asked = new Set<string>()
  const sameTexts = new Set<string>()
  for (;;) {
    const options = { ...request, leftOutIds, traits, sameTexts }
    const plan = planRegistryRestore(snapshot, target, options)
    const open = plan.textsToCompare.filter(({ subject, version }) => !asked.has(versionKey(subject, version)))
    if (open.length === 0) return { plan: withFound(plan, conflicts, notes), target, options }
    for (const one of open) {
      const key = versionKey(one.subject, one.version)
      asked.add(key)
      if (await meansTheSame(client, target, one, signal)) sameTexts.add(key)
    }
  }
}

/** What the filter has found comes first: it may be why other things do not fit. */
function withFound(plan: RegistryPlan, conflicts: readonly Conflict[], notes: readonly Note[]): RegistryPlan {
  const steps = conflicts.length > 0 ? [] : plan.steps
  return { ...plan, steps, conflicts: [...conflicts, ...plan.conflicts], notes: [...notes, ...plan.notes] }
}

type TargetRequest = Pick<RegistryRestoreOptions, 'strategy' | 'forceIds' | 'subjectMapping' | 'unfinished'>

/** What of the settings of subjects is read, and what is known already. */
interface TargetReading {
  /** A reading of the registry that was begun before. */
  holdings?: Promise<Holdings> | undefined
  /** What this run has read before it wrote anything, and the subjects whose settings it may have changed since. */
  before?: { target: RegistrySnapshot; touched: ReadonlySet<string> } | undefined
  /** Also modes that a refused registration would reveal. */
  asksAllModes?: boolean
}

/**
 * What a registry holds, with the settings of what a restore is about to make there: a registry does not list subjects and
 * contexts without versions, though they may have a level or a mode, set by a user or by a run that was killed. Settings
 * cost requests for each subject, so those are read alone that the restore has to do with, and read again where it has
 * written.
 */
async function readTarget(
  client: RegistryClient,
  backup: RegistrySnapshot,
  request: TargetRequest,
  { before, holdings, asksAllModes = false }: TargetReading,
  signal: AbortSignal,
): Promise<{ target: RegistrySnapshot; modesNotRead: ReadonlySet<string> }> {
  const modesNotRead = new Set<string>()
  const named = request.strategy === 'lookup' ? new Set<string>() : namesOf(backup, request)
  const isKnown = (subject: string) => before !== undefined && !before.touched.has(subject)
  const isNamed = (subject: string) => named.has(subject) || splitSubject(subject).name === RESERVE_SUBJECT
  const isSettingsAsked = (subject: string) => isNamed(subject) && !isKnown(subject)
  const isContextNeeded = contextsOf(backup, request)
  const read = await readSnapshot(client, { isSettingsAsked, isContextNeeded, holdings }, signal)
  const known = [...(before?.target.subjects ?? [])].filter(([subject]) => isKnown(subject))
  const traits = traitsOf(read.flavour, read.registryVersion)
  const target: RegistrySnapshot = {
    ...read,
    versions: read.versions.map(one => heldReferences(one, traits)),
    subjects: new Map([...known, ...read.subjects]),
  }
  if (!traits.hasEarlyLevels) return { target, modesNotRead }
  const subjects = [...named].filter(subject => !read.subjects.has(subject) && !isKnown(subject))
  const contexts = [...new Set([...[...named].map(subject => splitSubject(subject).context), ...backup.contexts])]
  const unlisted = contexts.filter(context => !target.contexts.includes(context))
  if (subjects.length === 0 && unlisted.length === 0) return { target, modesNotRead }
  const { global } = target
  const identity = { ...identityOf(target), contexts: [DEFAULT_CONTEXT, ...unlisted] }
  const found = await readContextSettings(client, identity, { contexts: unlisted, global }, signal)
  const [hidden] = found.hidden
  if (hidden) throw hidden.error
  const contextSettings = new Map([...target.contextSettings, ...found.contextSettings])
  const isAsked = asksAllModes ? () => true : modesToAsk(backup, request, { ...target, contextSettings })
  const isModeAsked = (subject: string) => {
    const asks = isAsked(subject)
    if (!asks) modesNotRead.add(subject)
    return asks
  }
  const own = await readSubjectSettings(client, identity, { subjects, global, isModeAsked }, signal)
  const set = [...own.subjects].filter(([, settings]) => isSet(settings))
  return { target: { ...target, subjects: new Map([...target.subjects, ...set]), contextSettings }, modesNotRead }
}

/** The subjects of the backup under the names of the target, and those of an unfinished run. */
function namesOf(backup: RegistrySnapshot, { subjectMapping, unfinished }: TargetRequest): Set<string> {
  const wanted = [...backup.subjects.keys()].map(subject => subjectMapping.get(subject) ?? subject)
  return new Set([...wanted, ...journaledSubjects(unfinished)])
}

/** Whether the restore writes to a context, or refers to it. */
function contextsOf(backup: RegistrySnapshot, request: TargetRequest): (context: string | null) => boolean {
  const referred = backup.versions
    .flatMap(({ subject, references }) => references.map(one => resolveReference(one.subject, subject)))
    .map(subject => request.subjectMapping.get(subject) ?? subject)
  const contexts = new Set([...namesOf(backup, request), ...referred].map(subject => splitSubject(subject).context))
  contexts.delete(DEFAULT_CONTEXT)
  return context => (context === null ? contexts.size > 0 : contexts.has(context))
}

function journaledSubjects(unfinished: TargetRequest['unfinished']): string[] {
  const touched = unfinished?.settings.flatMap(({ scope }) => (scope.kind === 'subject' ? [scope.subject] : [])) ?? []
  return [...touched, ...(unfinished?.createdSubjects ?? [])]
}

/**
 * The mode of a subject without versions is rarely set, and Confluent reveals it: it registers in mode READWRITE alone, or
 * with an ID in mode IMPORT alone. So it is asked for only where the restore may write one, or could not notice.
 */
function modesToAsk(backup: RegistrySnapshot, request: TargetRequest, target: RegistrySnapshot) {
  const { strategy, forceIds, subjectMapping, unfinished } = request
  const isEach = target.flavour !== 'confluent' || strategy === 'overwrite' || (forceIds && target.versions.length > 0)
  const moded = [...backup.subjects].filter(([, { mode }]) => mode !== null)
  const some = new Set([
    ...moded.map(([subject]) => subjectMapping.get(subject) ?? subject),
    ...journaledSubjects(unfinished),
  ])
  const outer = [target.global, ...target.contextSettings.values()]
  const isRestricted = outer.some(({ mode }) => mode !== null && mode !== 'READWRITE')
  return (subject: string) => isEach || isRestricted || some.has(subject)
}

function isSet({ compatibility, mode, config }: RegistrySettings): boolean {
  return compatibility !== null || mode !== null || config !== null
}
