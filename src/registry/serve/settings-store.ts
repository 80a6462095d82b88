import { DEFAULT_CONTEXT, type JsonObject, type JsonValue, splitSubject } from '../../archive/registry-model.ts'
import { compatibilityLevels } from '../avro/compatibility.ts'
import { faults } from './registry-fault.ts'
import { qualifySubject } from './subject-name.ts'

export const modes = ['READWRITE', 'READONLY', 'READONLY_OVERRIDE', 'IMPORT'] as const
export type Mode = (typeof modes)[number]

/** As stored and shown: the level is `compatibilityLevel`, whereas it is written as `compatibility`. */
export type Config = JsonObject

/** Of the whole registry, which is that of the default context; `:.context:` is of another, any other text of a subject. */
export const GLOBAL_SCOPE = ':.:'
/** Below every context. */
const EVERY_CONTEXT = ':.__GLOBAL:'

const DEFAULT_CONFIG: Config = { compatibilityLevel: 'BACKWARD' }
const DEFAULT_MODE: Mode = 'READWRITE'

/** Configs and modes by scope. A subject without is governed by its context, then by what holds for every context. */
export class SettingsStore {
  readonly #configs = new Map<string, Config>()
  readonly #modes = new Map<string, Mode>()

  /** One that was set without a level is shown with the default one, not with that in force. */
  config(scope: string): Config | undefined {
    const config = this.#configs.get(scope)
    return config && { ...DEFAULT_CONFIG, ...config }
  }

  mode(scope: string): Mode | undefined {
    return this.#modes.get(scope)
  }

  /** Every field by the nearest scope that has it. */
  configInScope(scope: string): Config {
    const layers = [...chainOf(scope)].reverse().map(each => this.#configs.get(each) ?? {})
    // An alias is of its subject alone.
    const { alias: _, ...inherited } = Object.assign({}, DEFAULT_CONFIG, ...layers.slice(0, -1))
    return { ...inherited, ...layers.at(-1) }
  }

  /** A registry in READONLY_OVERRIDE is read-only whatever subjects say. */
  modeInScope(scope: string): Mode {
    if (this.#modes.get(GLOBAL_SCOPE) === 'READONLY_OVERRIDE') return 'READONLY_OVERRIDE'
    for (const each of chainOf(scope)) {
      const mode = this.#modes.get(each)
      if (mode !== undefined) return mode
    }
    return DEFAULT_MODE
  }

  /** Fields that the update leaves out stay; a null takes one away. */
  updateConfig(scope: string, update: JsonObject): void {
    const next: Config = { ...this.#configs.get(scope) }
    for (const [key, value] of Object.entries(toStored(update))) {
      if (value === null) delete next[key]
      else next[key] = value
    }
    this.#configs.set(scope, next)
  }

  setMode(scope: string, mode: Mode): void {
    this.#modes.set(scope, mode)
  }

  deleteConfig(scope: string): Config | undefined {
    const config = this.#configs.get(scope)
    this.#configs.delete(scope)
    return config
  }

  deleteMode(scope: string): Mode | undefined {
    const mode = this.#modes.get(scope)
    this.#modes.delete(scope)
    return mode
  }

  /** The subject that answers for this one: its alias, where it has one. */
  targetOf(subject: string): string {
    const alias = this.#configs.get(subject)?.alias
    return typeof alias === 'string' && alias !== '' ? qualifySubject(alias, subject) : subject
  }

  /** Subjects that a subject answers for. */
  aliasesOf(target: string): string[] {
    return [...this.#configs.keys()].filter(subject => subject !== target && this.targetOf(subject) === target).sort()
  }
}

/** The scope that a path names: nothing and `:.:` are the whole registry. */
export function scopeOf(subject: string | undefined): string {
  return subject === undefined || subject === '' ? GLOBAL_SCOPE : subject
}

export function isContextScope(scope: string): boolean {
  return /^:\.[^:]*:$/.test(scope)
}

export function parseMode(text: unknown): Mode {
  const mode = modes.find(each => each === text)
  if (mode === undefined) throw faults.invalidMode()
  return mode
}

function toStored(update: JsonObject): Config {
  const { compatibility, compatibilityLevel, ...rest } = update
  const level = compatibility === undefined ? compatibilityLevel : compatibility
  return level === undefined ? rest : { ...rest, compatibilityLevel: parseLevel(level) }
}

function parseLevel(text: JsonValue): JsonValue {
  if (text === null) return null
  const level = compatibilityLevels.find(each => typeof text === 'string' && each === text.toUpperCase())
  if (level === undefined) throw faults.invalidLevel()
  return level
}

function chainOf(scope: string): Set<string> {
  const { context } = splitSubject(scope)
  const contextScope = context === DEFAULT_CONTEXT ? GLOBAL_SCOPE : `:${context}:`
  return new Set([scope, contextScope, EVERY_CONTEXT])
}
