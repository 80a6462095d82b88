import {
  isUnset,
  type RegistrySettings,
  type RegistrySnapshot,
  splitSubject,
  versionKey,
} from '../../../archive/registry-model.ts'
import { type Decisions, isMade } from './decide-versions.ts'
import { listLostSettings } from './lost-settings.ts'
import {
  describeUndeletable,
  interleaveForced,
  isUndeletable,
  keepSettings,
  planRemovals,
  planSoftDeletes,
} from './plan-deletions.ts'
import { RESERVE_SUBJECT } from './plan-ids.ts'
import {
  deletionOf,
  listSoftDeletes,
  type Opening,
  planRegistrations,
  planReserves,
  startRegistering,
} from './plan-registrations.ts'
import { checkModes, closeSettings, openSubjects, reopenSubjects, startImport, type Work } from './plan-settings.ts'
import { EVERY_CONTEXT, globalScope, type PlannedSettings, subjectScope } from './planned-settings.ts'
import type { RegistryRestoreOptions } from './restore-options.ts'
import { type Conflict, importKey, type Lift, type Note, type RegisterStep, type RestoreStep } from './restore-step.ts'
import type { TargetIndex } from './target-index.ts'

interface Grounds {
  backup: RegistrySnapshot
  target: RegistrySnapshot
  decisions: Decisions
  index: TargetIndex
  book: PlannedSettings
}

interface PlannedSteps {
  steps: RestoreStep[]
  conflicts: Conflict[]
  notes: Note[]
}

/** Pure but for `book`, which goes along. All writes in their order; none where nothing is to be done. */
export function planSteps(grounds: Grounds, options: RegistryRestoreOptions): PlannedSteps {
  const { backup, target, decisions, index, book } = grounds
  const registrations = planRegistrations(decisions, target, options)
  const reserves = planReserves(decisions.all, backup, target, options)
  const work = outlineWork(grounds, [...registrations.values()].flat(), reserves, options)
  const softDeletes = listSoftDeletes(decisions.all, index, options).filter(one => !isUndeletable(one, options))
  const conflicts = checkModes(work, book)
  const trial = tryModes(decisions, book, options)
  const opening = openSubjects(work, book, options)
  for (const subject of work.emptied) book.drop(subject)
  const { steps: start, lifts } = options.forceIds
    ? { steps: startImport(work, book, options), lifts: new Map() }
    : openForRegistering(work, book, options)
  const made = [...registrations.values()].flat().map(step => withLift(step, lifts))
  const plain =
    options.forceIds && options.traits.importsDeletedReferences
      ? { steps: interleaveForced(decisions.all, registrations, softDeletes), notes: [] }
      : withDeletes(made, planSoftDeletes(decisions.all, softDeletes, target, decisions.deleted, options))
  const gone = new Set(decisions.deleted)
  const kept = target.versions.filter(one => !gone.has(one))
  const others = [...removeFillers(made, grounds), ...reserves, ...closeReserves(reserves, grounds)]
  const schemas = keepSettings([...plain.steps, ...others], kept, book)
  const { wanted, configs, aliases, modes } = closeSettings(work, backup, book, options)
  const removals = planRemovals(decisions.deleted, work.emptied, options.traits)
  const verify: RestoreStep[] = removals.length + schemas.length > 0 ? [{ type: 'verify' }] : []
  const steps = [...trial, ...opening, ...removals, ...start, ...schemas, ...configs, ...verify, ...aliases, ...modes]
  const notes = [
    ...plain.notes,
    ...describeUndeletable(decisions.all, options),
    ...listLostSettings({ work, wanted }, backup, book, options),
  ]
  if (steps.length === 0) return { steps, conflicts, notes }
  return { steps: [journalOf(grounds, work, [...made, ...reserves], options), ...steps], conflicts, notes }
}

/** Finds out whether modes can be changed before anything is removed: sets the mode that the registry already has. */
function tryModes({ deleted }: Decisions, book: PlannedSettings, { forceIds }: RegistryRestoreOptions): RestoreStep[] {
  if (!forceIds || deleted.length === 0) return []
  return [{ type: 'set-mode', scope: globalScope, mode: book.present(globalScope).mode ?? 'READWRITE', force: true }]
}

function openForRegistering(work: Work, book: PlannedSettings, options: RegistryRestoreOptions): Opening {
  const reopened = reopenSubjects(work, book)
  const { steps, lifts } = startRegistering(work, book, options)
  return { steps: [...reopened, ...steps], lifts }
}

function withLift(step: RegisterStep, lifts: ReadonlyMap<string, Lift>): RegisterStep {
  const lift = lifts.get(step.subject)
  return lift ? { ...step, lift } : step
}

function withDeletes(made: readonly RegisterStep[], { steps, notes }: { steps: RestoreStep[]; notes: Note[] }) {
  return { steps: [...made, ...steps], notes }
}

function outlineWork(
  grounds: Grounds,
  steps: readonly RegisterStep[],
  reserves: readonly RegisterStep[],
  options: RegistryRestoreOptions,
): Work {
  const { backup, target, decisions, index, book } = grounds
  const { unfinished } = options
  const wanted = wantedSettings(backup, options)
  const made = decisions.all.filter(isMade)
  const names = new Set([...wanted.keys(), ...decisions.all.map(one => one.wanted.subject)])
  const inTarget = new Set(target.versions.map(({ subject }) => subject))
  const created = new Set(unfinished?.createdSubjects)
  const full = new Set(target.versions.map(({ subject }) => splitSubject(subject).context))
  const empty = new Set(unfinished?.emptyContexts)
  const deleting = new Set(decisions.deleted.map(({ subject }) => subject))
  const gone = new Set(decisions.deleted)
  const surviving = new Set(target.versions.filter(one => !gone.has(one)).map(({ subject }) => subject))
  const emptied = new Set([...deleting].filter(subject => !surviving.has(subject)))
  return {
    subjects: [
      ...new Set([
        ...[...names].filter(subject => !index.subject(subject).isLeft),
        ...reserves.map(({ subject }) => subject),
      ]),
    ].sort(),
    registering: new Set([...made.map(one => one.wanted.subject), ...reserves.map(({ subject }) => subject)]),
    deleting,
    emptied,
    filled: new Set(steps.filter(({ purpose }) => purpose === 'filler').map(({ subject }) => subject)),
    histories: new Set(
      [...Map.groupBy(steps, ({ subject }) => subject)]
        .filter(([subject, some]) => some.length > 1 || (inTarget.has(subject) && !emptied.has(subject)))
        .filter(([subject]) => index.isFresh(subject) || emptied.has(subject))
        .map(([subject]) => subject),
    ),
    wanted,
    isNewSubject: subject =>
      (created.has(subject) || !inTarget.has(subject)) && isUnset(book.original(subjectScope(subject))),
    // The scope of all contexts has no versions: it applies to those of every context.
    isEmptyContext: context => empty.has(context) || (context === EVERY_CONTEXT ? full.size === 0 : !full.has(context)),
    isEmpty: target.versions.length === 0,
  }
}

/** By subject of the target. Aliases follow the mapping; a subject that a filter of types leaves out has no part in it. */
function wantedSettings(
  backup: RegistrySnapshot,
  { subjectMapping, schemaTypes }: RegistryRestoreOptions,
): Map<string, RegistrySettings> {
  const rename = (subject: string) => subjectMapping.get(subject) ?? subject
  const held = new Set(backup.versions.map(({ subject }) => subject))
  const taken = new Set(
    backup.versions.filter(({ schemaType }) => schemaTypes.includes(schemaType)).map(({ subject }) => subject),
  )
  return new Map(
    [...backup.subjects]
      .filter(([subject]) => taken.has(subject) || !held.has(subject))
      .map(([subject, settings]) => {
        const { config } = settings
        if (typeof config?.alias !== 'string') return [rename(subject), settings]
        return [rename(subject), { ...settings, config: { ...config, alias: rename(config.alias) } }]
      }),
  )
}

/** Those of this run, and those that an unfinished one has left. */
function removeFillers(made: readonly RegisterStep[], { target, decisions, index }: Grounds): RestoreStep[] {
  const gone = new Set(decisions.deleted)
  const left = target.versions.filter(one => index.isFiller(one) && !gone.has(one))
  const own = made.filter(({ purpose }) => purpose === 'filler')
  return [...left, ...own].map(({ subject, version }) => deletionOf(subject, version, true))
}

/** What keeps an ID is marked as deleted: a registry that forgets it would give the ID again. */
function closeReserves(reserves: readonly RegisterStep[], { target, index }: Grounds): RestoreStep[] {
  const left = target.versions.filter(
    ({ subject, version, isDeleted }) =>
      !isDeleted && splitSubject(subject).name === RESERVE_SUBJECT && index.isOwn(subject, version),
  )
  return [...left, ...reserves].map(({ subject, version }) => deletionOf(subject, version, false))
}

function journalOf(
  { book, target }: Grounds,
  work: Work,
  made: readonly RegisterStep[],
  { unfinished, modesNotRead }: RegistryRestoreOptions,
): RestoreStep {
  const keysOf = (some: readonly RegisterStep[]) => some.map(({ subject, version }) => versionKey(subject, version))
  const merge = (before: readonly string[] | undefined, now: readonly string[]) => [
    ...new Set([...(before ?? []), ...now]),
  ]
  const contexts = new Set(
    target.contexts.concat(
      [...work.subjects].map(subject => splitSubject(subject).context),
      '.',
      EVERY_CONTEXT,
    ),
  )
  return {
    type: 'journal',
    journal: {
      settings: book.journal,
      emptyContexts: [...contexts].filter(work.isEmptyContext),
      createdSubjects: work.subjects.filter(work.isNewSubject),
      modesNotRead: work.subjects.filter(subject => modesNotRead.has(subject)),
      registered: merge(unfinished?.registered, keysOf(made)),
      fillers: merge(unfinished?.fillers, keysOf(made.filter(({ purpose }) => purpose === 'filler'))),
      imported: merge(
        unfinished?.imported,
        made.flatMap(({ subject, version, id }) => (id === null ? [] : [importKey({ subject, version, id })])),
      ),
    },
  }
}
