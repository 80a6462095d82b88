import {
  type JsonObject,
  type RegistrySettings,
  type RegistrySnapshot,
  splitSubject,
  unset,
} from '../../../archive/registry-model.ts'
import { findRefusal } from './lessons.ts'
import {
  contextScope,
  EVERY_CONTEXT,
  globalScope,
  outerScopes,
  type PlannedSettings,
  subjectScope,
} from './planned-settings.ts'
import type { RegistryRestoreOptions } from './restore-options.ts'
import type { Conflict, RefusedSetting, RestoreStep, Scope } from './restore-step.ts'
import { isSame } from './same-schema.ts'
import type { TargetTraits } from './target-traits.ts'

export interface Work {
  /** Subjects of the target that the backup has and the strategy does not leave alone. */
  subjects: readonly string[]
  /** Of these, with versions to register. */
  registering: ReadonlySet<string>
  /** Of these, with versions to remove, and those that lose all they have. */
  deleting: ReadonlySet<string>
  emptied: ReadonlySet<string>
  /** Of these, with fillers, which fit nothing. */
  filled: ReadonlySet<string>
  /** Of these, with more than one version for a subject that has none: a history, to be taken as it was. */
  histories: ReadonlySet<string>
  /** The settings of the backup, by subject of the target. */
  wanted: ReadonlyMap<string, RegistrySettings>
  /** Subjects, and contexts, that have nothing on the target yet. */
  isNewSubject(subject: string): boolean
  isEmptyContext(context: string): boolean
  /** The target has no version at all. */
  isEmpty: boolean
}

const blocking = ['READONLY', 'READONLY_OVERRIDE', 'FORWARD']

/** Takes away what would keep schemas from being written: aliases, which redirect, and modes of single subjects. */
export function openSubjects(work: Work, book: PlannedSettings, options: RegistryRestoreOptions): RestoreStep[] {
  const touched = work.subjects.filter(subject => work.registering.has(subject) || work.deleting.has(subject))
  const isLifted = (subject: string) => work.deleting.has(subject) || !options.forceIds
  return [
    ...liftModes(touched.filter(isLifted), book),
    ...touched.flatMap(subject => {
      const { compatibility, config } = book.present(subjectScope(subject))
      if (config?.alias === undefined) return []
      const { alias: _, ...rest } = config
      return setOpened(subjectScope(subject), { ...unset, compatibility, config: nullIfEmpty(rest) }, book)
    }),
  ]
}

/** A subject that has lost all its versions has lost its mode with them. */
export function reopenSubjects({ emptied, registering }: Work, book: PlannedSettings): RestoreStep[] {
  return liftModes([...emptied].filter(subject => registering.has(subject)).sort(), book)
}

function liftModes(subjects: readonly string[], book: PlannedSettings): RestoreStep[] {
  return subjects.flatMap(subject => {
    if (book.effectiveMode(subject).mode === 'READWRITE') return []
    return book.setMode(subjectScope(subject), 'READWRITE', false)
  })
}

/** Modes of the whole registry, or of a context, are not lifted: an administrator has closed it on purpose. */
export function checkModes(work: Work, book: PlannedSettings): Conflict[] {
  const closed = new Map<string, Conflict>()
  for (const subject of [...work.registering, ...work.deleting]) {
    const outer = outerScopes(subject).find(scope => book.original(scope).mode !== null) ?? globalScope
    const mode = book.original(outer).mode
    const own = book.original(subjectScope(subject)).mode
    if (mode === null || !blocking.includes(mode) || (own === 'READWRITE' && mode === 'READONLY')) continue
    const what = outer.kind === 'context' ? `context ${outer.context} of the target registry` : 'target registry'
    const message = `the ${what} is in mode ${mode}, and takes no schemas; set its mode to READWRITE first`
    closed.set(what, { kind: 'read-only', subject: null, version: null, message })
  }
  return [...closed.values()]
}

/** Lets the registry take IDs and numbers of the source. */
export function startImport(work: Work, book: PlannedSettings, { traits }: RegistryRestoreOptions): RestoreStep[] {
  const registering = [...work.registering].sort()
  if (work.isEmpty || !traits.canDeleteModes) {
    const contexts = [...new Set(registering.map(subject => splitSubject(subject).context))]
    const force = !work.isEmpty
    return contexts.flatMap(context => book.setMode(contextScope(context), 'IMPORT', force))
  }
  return registering.flatMap(subject => book.setMode(subjectScope(subject), 'IMPORT', true))
}

/** The level under which schemas are registered where the job asks for one; undefined: that which is there. */
export function passingLevel(options: RegistryRestoreOptions): string | undefined {
  if (options.setCompatibility !== undefined) return options.setCompatibility
  return options.forceRegister && !options.traits.canForceRegister ? 'NONE' : undefined
}

/**
 * The level that counts for a subject while it is filled; null if it is the default of the registry. No client reads yet
 * what a subject is to hold that has nothing: it takes its history as it was, also where one version breaks another.
 */
export function levelDuring(
  subject: string,
  isFresh: boolean,
  book: PlannedSettings,
  options: RegistryRestoreOptions,
): string | null {
  const asked = passingLevel(options)
  if (asked !== undefined) return asked
  return isFresh && options.traits.hasEarlyLevels ? 'NONE' : book.effectiveLevel(subject)
}

/** The registry is asked, with each schema, not to compare it with earlier ones. */
export function isForced({ forceIds, forceRegister, traits }: RegistryRestoreOptions): boolean {
  return !forceIds && forceRegister && traits.canForceRegister
}

export interface Closing {
  /** What every scope is to have in the end, but for what it refuses. */
  wanted: { scope: Scope; settings: RegistrySettings }[]
  configs: RestoreStep[]
  aliases: RestoreStep[]
  modes: RestoreStep[]
}

/** Brings every setting to what it is to be in the end. Aliases redirect and modes refuse, so these come last. */
export function closeSettings(
  work: Work,
  backup: RegistrySnapshot,
  book: PlannedSettings,
  options: RegistryRestoreOptions,
): Closing {
  const scopes: { scope: Scope; settings: RegistrySettings }[] = [
    ...work.subjects.map(subject => ({
      scope: subjectScope(subject),
      settings: wantedOfSubject(subject, work, book, options),
    })),
    ...byContext(options.traits.hasContexts ? backup.contextSettings : new Map()).map(([context, settings]) => ({
      scope: contextScope(context),
      settings: work.isEmptyContext(context) ? settings : wantedOuter(contextScope(context), settings, book, options),
    })),
    {
      scope: globalScope,
      settings: wantedGlobal(backup.global, work.isEmptyContext('.'), book, options),
    },
  ]
  const listed = new Set(scopes.map(({ scope }) => JSON.stringify(scope)))
  const others = book.touched.filter(scope => !listed.has(JSON.stringify(scope)))
  const originals = others.map(scope => ({ scope, settings: book.original(scope) }))
  const wanted = [...originals, ...scopes].map(({ scope, settings }) => ({
    scope,
    settings: asKept(settings, scope, book, options),
  }))
  const rows = wanted.map(({ scope, settings }) => ({
    scope,
    settings: withoutRefused(settings, scope, book, options),
  }))
  const isAlias = ({ settings }: { settings: RegistrySettings }) => settings.config?.alias !== undefined
  const setConfigs = (some: typeof rows) => some.flatMap(({ scope, settings }) => setOpened(scope, settings, book))
  return {
    wanted,
    configs: setConfigs(rows.filter(row => !isAlias(row))),
    aliases: setConfigs(rows.filter(isAlias)),
    modes: rows.flatMap(({ scope, settings }) => book.setMode(scope, settings.mode, settings.mode === 'IMPORT')),
  }
}

/** The scope of all contexts comes after the contexts. */
function byContext(settings: RegistrySnapshot['contextSettings']): [string, RegistrySettings][] {
  return [...settings].sort(([a], [b]) => Number(a === EVERY_CONTEXT) - Number(b === EVERY_CONTEXT))
}

/** A subject that takes no schemas takes no configuration either. */
function setOpened(scope: Scope, settings: RegistrySettings, book: PlannedSettings): RestoreStep[] {
  const steps = book.setConfig(scope, settings)
  if (steps.length === 0 || scope.kind !== 'subject') return steps
  const isClosed = blocking.includes(book.effectiveMode(scope.subject).mode)
  return isClosed ? [...book.setMode(scope, 'READWRITE', false), ...steps] : steps
}

function wantedOfSubject(
  subject: string,
  work: Work,
  book: PlannedSettings,
  { strategy }: RegistryRestoreOptions,
): RegistrySettings {
  const isReplaced = strategy === 'overwrite' || work.isNewSubject(subject)
  return isReplaced ? (work.wanted.get(subject) ?? unset) : book.original(subjectScope(subject))
}

function wantedOuter(
  scope: Scope,
  settings: RegistrySettings,
  book: PlannedSettings,
  { strategy }: RegistryRestoreOptions,
): RegistrySettings {
  return strategy === 'overwrite' ? settings : book.original(scope)
}

/** A registry as a whole has always a level and a mode; where the backup does not know them they stay. */
function wantedGlobal(
  global: RegistrySettings,
  isEmpty: boolean,
  book: PlannedSettings,
  { strategy }: RegistryRestoreOptions,
): RegistrySettings {
  const original = book.original(globalScope)
  if (!isEmpty && strategy !== 'overwrite') return original
  if (strategy === 'lookup') return original
  return {
    compatibility: global.compatibility ?? original.compatibility,
    mode: global.mode ?? original.mode,
    config: global.config,
  }
}

/** FORWARD belongs to the links of Confluent's cloud: no registry lets itself be put into it. */
export function takesMode(mode: string | null, { hasModes }: Pick<TargetTraits, 'hasModes'>): boolean {
  return hasModes && mode !== 'FORWARD'
}

/** What the target is not able to keep is not sent. */
export function asKept(
  settings: RegistrySettings,
  scope: Scope,
  book: PlannedSettings,
  { traits }: RegistryRestoreOptions,
): RegistrySettings {
  const original = book.original(scope)
  const isDropped = !traits.keepsLevelNone && scope.kind === 'subject' && settings.compatibility === 'NONE'
  const isBare = traits.needsLevels && settings.compatibility === null && settings.config !== null
  const added = isBare && scope.kind === 'subject' ? (book.effectiveLevel(scope.subject) ?? 'BACKWARD') : null
  return {
    compatibility: isDropped ? null : (added ?? settings.compatibility),
    mode: takesMode(settings.mode, traits) ? settings.mode : original.mode,
    config: traits.keepsConfigs ? settings.config : original.config,
  }
}

/** What the target has refused, or taken and not kept, is not asked for again: the scope gets the nearest that it takes. */
function withoutRefused(
  wanted: RegistrySettings,
  scope: Scope,
  book: PlannedSettings,
  { lessons }: RegistryRestoreOptions,
): RegistrySettings {
  const [original, present] = [book.original(scope), book.present(scope)]
  const isTaken = (setting: RefusedSetting['setting'], own: RefusedSetting['setting'], found: typeof own) => {
    const refusal = findRefusal(lessons, scope, setting)
    if (!refusal || !isSame(setting, own)) return refusal === undefined
    // The previous settings of the scope must be restored: a refusal ends the run, and the next one continues.
    return !refusal.isIgnored || isSame(found, own)
  }
  const found = book.found(scope)
  const configOf = ({ compatibility, config }: RegistrySettings) => ({ config: { compatibility, config } })
  const modeOf = ({ mode }: RegistrySettings) => ({ mode })
  const configs = [wanted, { ...wanted, config: null }, original]
  const { compatibility, config } =
    configs.find(one => isTaken(configOf(one), configOf(original), configOf(found))) ?? present
  const { mode } = [wanted, original].find(one => isTaken(modeOf(one), modeOf(original), modeOf(found))) ?? present
  return { compatibility, config, mode }
}

export function nullIfEmpty(config: JsonObject): JsonObject | null {
  return Object.keys(config).length === 0 ? null : config
}
