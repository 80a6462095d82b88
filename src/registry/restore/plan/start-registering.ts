import type { JsonObject } from '../../../archive/registry-model.ts'
import { isForced, nullIfEmpty, passingLevel, type Work } from './plan-settings.ts'
import type { RegistryRestoreOptions } from './restore-options.ts'
import type { Lift, RestoreStep } from './restore-step.ts'
import { globalScope, outerScopes, type SettingsBook, subjectScope } from './settings-book.ts'

export interface Opening {
  steps: RestoreStep[]
  /** By subject: the level that it gets where the one in force refuses its history. */
  lifts: ReadonlyMap<string, Lift>
}

/** Levels for the time of the registrations, with all that changes schemas on their way in turned off. */
export function startRegistering(work: Work, book: SettingsBook, options: RegistryRestoreOptions): Opening {
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
function mayBreak(subject: string, work: Work, book: SettingsBook, options: RegistryRestoreOptions): boolean {
  if (!work.histories.has(subject) || !options.traits.hasEarlyLevels || isForced(options)) return false
  return book.effectiveLevel(subject) !== 'NONE'
}

function changesOf(subject: string, book: SettingsBook): JsonObject {
  const scopes = [subjectScope(subject), ...outerScopes(subject)]
  const effective: JsonObject = Object.assign({}, ...scopes.map(scope => book.present(scope).config).reverse())
  const switches = ['normalize', 'validateFields', 'validateRules'].filter(name => effective[name] === true)
  return Object.fromEntries(switches.map(name => [name, false]))
}
