import { mappedId } from '../../../archive/registry-files.ts'
import {
  type JsonObject,
  joinSubject,
  type RegistrySnapshot,
  type SchemaVersion,
  splitSubject,
  versionKey,
} from '../../../archive/registry-model.ts'
import { largest } from '../../../lib/largest.ts'
import { type Decision, type Decisions, isMade } from './decide-versions.ts'
import { RESERVE_SUBJECT } from './plan-ids.ts'
import { isForced, nullIfEmpty, passingLevel, type Work } from './plan-settings.ts'
import { globalScope, outerScopes, type PlannedSettings, subjectScope } from './planned-settings.ts'
import type { RegistryRestoreOptions } from './restore-options.ts'
import type { Lift, RegisterStep, RestoreStep } from './restore-step.ts'
import { FILLER_NAME, keptParts, type TargetIndex } from './target-index.ts'

type Deletion = Extract<RestoreStep, { type: 'delete-version' }>

/** Pure. One registration a version, with fillers where its number would not be the next. */
export function planRegistrations(
  { all, deleted }: Decisions,
  target: RegistrySnapshot,
  options: RegistryRestoreOptions,
): Map<Decision, RegisterStep[]> {
  const highest = highestNumbers(target, deleted, options)
  const sourceIds = idsByPlace(all)
  const steps = new Map<Decision, RegisterStep[]>()
  for (const decision of all) {
    const { wanted, version } = decision
    if (!isMade(decision) || version === null) continue
    const fillers: RegisterStep[] = []
    if (!options.forceIds) {
      for (let number = (highest.get(wanted.subject) ?? 0) + 1; number < version; number++) {
        fillers.push(fillerOf(wanted.subject, number, options))
      }
      highest.set(wanted.subject, version)
    }
    const ids = sourceIds.get(versionKey(wanted.subject, version)) ?? []
    steps.set(decision, [...fillers, registrationOf(decision, version, ids, options)])
  }
  return steps
}

/** Of what stays; where numbers start again with the subject alone, also of what goes from a subject that stays. */
function highestNumbers(
  target: RegistrySnapshot,
  deleted: readonly SchemaVersion[],
  { traits }: Pick<RegistryRestoreOptions, 'traits'>,
): Map<string, number> {
  const gone = new Set(deleted)
  const staying = new Set(target.versions.filter(one => !gone.has(one)).map(({ subject }) => subject))
  const highest = new Map<string, number>()
  for (const one of target.versions) {
    const isGivenAgain = gone.has(one) && (traits.numbersRestart === 'versions' || !staying.has(one.subject))
    if (!isGivenAgain) highest.set(one.subject, Math.max(one.version, highest.get(one.subject) ?? 0))
  }
  return highest
}

/** The source IDs that map to each version of the target, those of merged versions included. */
function idsByPlace(all: readonly Decision[]): Map<string, string[]> {
  const ids = new Map<string, string[]>()
  for (const { wanted, version } of all) {
    if (version === null) continue
    const place = versionKey(wanted.subject, version)
    const id = mappedId(wanted.source.subject, wanted.source.id)
    const known = ids.get(place)
    if (!known) ids.set(place, [id])
    else if (!known.includes(id)) known.push(id)
  }
  return ids
}

function registrationOf(
  { wanted, references }: Decision,
  version: number,
  sourceIds: readonly string[],
  options: RegistryRestoreOptions,
): RegisterStep {
  const { id, schemaType, schema, metadata, ruleSet } = wanted.source
  const kept = keptParts(options)
  return {
    type: 'register',
    purpose: 'schema',
    subject: wanted.subject,
    key: wanted.key,
    version,
    id: options.forceIds ? id : null,
    schemaType,
    schema,
    references,
    metadata: kept.metadata ? metadata : null,
    ruleSet: kept.ruleSet ? ruleSet : null,
    force: isForced(options),
    lift: null,
    sourceIds,
  }
}

function fillerOf(subject: string, version: number, options: RegistryRestoreOptions): RegisterStep {
  return { ...placeholder(subject, version, 'filler'), force: isForced(options) }
}

function placeholder(subject: string, version: number, purpose: 'filler' | 'reserve', id?: number): RegisterStep {
  const name = purpose === 'filler' ? `${FILLER_NAME}_${version}` : `kafka_backup_reserve_${id}`
  const schema = `{"type":"fixed","name":"${name}","size":1}`
  const content = { schemaType: 'AVRO', schema, references: [], metadata: null, ruleSet: null } as const
  return {
    type: 'register',
    purpose,
    subject,
    key: null,
    version,
    id: id ?? null,
    ...content,
    force: false,
    lift: null,
    sourceIds: [],
  }
}

/** Pure. Keeps the highest ID of each context, which no schema of the backup may have any more, from being given again. */
export function planReserves(
  all: readonly Decision[],
  backup: RegistrySnapshot,
  target: RegistrySnapshot,
  { forceIds, leftOutIds = new Set() }: Pick<RegistryRestoreOptions, 'forceIds' | 'leftOutIds'>,
): RegisterStep[] {
  if (!forceIds) return []
  const highest = new Map(target.maxIds)
  const raise = (subject: string, id: number) => {
    const { context } = splitSubject(subject)
    highest.set(context, Math.max(id, highest.get(context) ?? 0))
  }
  for (const { subject, id } of target.versions) raise(subject, id)
  for (const { wanted } of all) raise(wanted.subject, wanted.source.id)
  // The ID of a schema that this run, or the backup, leaves out stays free for it: the one after is taken.
  const leftOut = new Set([...leftOutIds, ...[...backup.versions, ...(backup.leftOut ?? [])].map(({ id }) => id)])
  return followContexts(all, backup.maxIds)
    .filter(([context, id]) => id > (highest.get(context) ?? 0))
    .map(([context, id]) => {
      const subject = joinSubject({ context, name: RESERVE_SUBJECT })
      const last = largest(target.versions.filter(one => one.subject === subject).map(({ version }) => version))
      return placeholder(subject, last + 1, 'reserve', leftOut.has(id) ? id + 1 : id)
    })
}

/** The highest IDs by the contexts that the schemas of each context go to. */
function followContexts(all: readonly Decision[], maxIds: ReadonlyMap<string, number>): [string, number][] {
  const followed = new Map<string, number>()
  for (const [context, id] of maxIds) {
    const own = all.filter(({ wanted }) => splitSubject(wanted.source.subject).context === context)
    const targets = own.length === 0 ? [context] : own.map(({ wanted }) => splitSubject(wanted.subject).context)
    for (const target of targets) followed.set(target, Math.max(id, followed.get(target) ?? 0))
  }
  return [...followed]
}

/** Versions that end up as deleted, in the order of registrations. `own` is what an unfinished run has made. */
export function listSoftDeletes(
  all: readonly Decision[],
  index: TargetIndex,
  { strategy }: RegistryRestoreOptions,
): Decision[] {
  return all.filter(decision => {
    const { wanted, action, version, theirs } = decision
    if (!wanted.source.isDeleted || version === null) return false
    if (isMade(decision)) return true
    const mayChange = strategy === 'overwrite' || index.isOwn(wanted.subject, version)
    return action === 'keep' && theirs?.isDeleted === false && mayChange
  })
}

export function deletionOf(subject: string, version: number, permanent: boolean): Deletion {
  return { type: 'delete-version', subject, version, permanent }
}

export interface Opening {
  steps: RestoreStep[]
  /** By subject: the level that it gets where the one in force refuses its history. */
  lifts: ReadonlyMap<string, Lift>
}

/** Temporary levels during the registrations, with everything turned off that changes schemas on registration. */
export function startRegistering(work: Work, book: PlannedSettings, options: RegistryRestoreOptions): Opening {
  const level = passingLevel(options)
  const { traits } = options
  const lifts = new Map<string, Lift>()
  if (work.registering.size === 0) return { steps: [], lifts }
  if (level !== undefined && !traits.hasEarlyLevels) {
    const own = [...work.registering].sort().map(subjectScope)
    const scopes = [globalScope, ...own.filter(scope => book.present(scope).compatibility !== null)]
    const steps = scopes.flatMap(scope =>
      book.setConfig(scope, { compatibility: level, config: book.present(scope).config }),
    )
    return { steps, lifts }
  }
  const steps = [...work.registering].sort().flatMap(subject => {
    const scope = subjectScope(subject)
    const present = book.present(scope)
    const config = nullIfEmpty({ ...present.config, ...changesOf(subject, book) })
    const isBarred = level === undefined && mayBreak(subject, work, book, options)
    const opened = isBarred && work.filled.has(subject) ? 'NONE' : (level ?? present.compatibility)
    const set = book.setConfig(scope, { compatibility: opened, config })
    if (isBarred && opened !== 'NONE') {
      lifts.set(subject, { during: { compatibility: 'NONE', config }, after: { compatibility: opened, config } })
      book.mark(scope)
    }
    return set
  })
  return { steps, lifts }
}

/** Under the level in force a history may be refused that the source has. */
function mayBreak(subject: string, work: Work, book: PlannedSettings, options: RegistryRestoreOptions): boolean {
  if (!work.histories.has(subject) || !options.traits.hasEarlyLevels || isForced(options)) return false
  return book.effectiveLevel(subject) !== 'NONE'
}

function changesOf(subject: string, book: PlannedSettings): JsonObject {
  const scopes = [subjectScope(subject), ...outerScopes(subject)]
  const effective: JsonObject = Object.assign({}, ...scopes.map(scope => book.present(scope).config).reverse())
  const switches = ['normalize', 'validateFields', 'validateRules'].filter(name => effective[name] === true)
  return Object.fromEntries(switches.map(name => [name, false]))
}
