import {
  type RegistrySettings,
  type RegistrySnapshot,
  type SchemaVersion,
  splitSubject,
} from '../../src/archive/registry-model.ts'
import type { RegisterStep, RestoreJournal, RestoreStep, Scope } from '../../src/registry/restore/plan/restore-step.ts'
import { snapshotOf, unset } from './registry-snapshots.ts'

/** A registry that follows the rules of the real ones, as far as plans meet them, and throws where one would refuse. */
export class RegistryModel {
  journal: RestoreJournal | undefined
  /** By key of the map of IDs: what registrations answered. */
  readonly ids = new Map<string, number>()
  #versions: SchemaVersion[]
  #settings = new Map<string, RegistrySettings>()
  readonly #scopes = new Map<string, Scope>()
  readonly #highest = new Map<string, number>()

  constructor(start: RegistrySnapshot = snapshotOf([])) {
    this.#versions = [...start.versions]
    this.#set({ kind: 'global' }, start.global)
    for (const [context, settings] of start.contextSettings) this.#set({ kind: 'context', context }, settings)
    for (const [subject, settings] of start.subjects) this.#set({ kind: 'subject', subject }, settings)
    for (const { subject, id } of start.versions) this.#raise(subject, id)
    for (const [context, id] of start.maxIds) this.#highest.set(context, id)
  }

  run(steps: readonly RestoreStep[]): this {
    for (const step of steps) this.apply(step)
    return this
  }

  apply(step: RestoreStep): void {
    switch (step.type) {
      case 'journal':
        this.journal = step.journal
        break
      case 'set-mode':
        this.#setMode(step.scope, step.mode, step.force)
        break
      case 'delete-mode':
        this.#set(step.scope, { ...this.#get(step.scope), mode: null })
        break
      case 'set-config':
      case 'delete-config': {
        const { compatibility, config } = step.type === 'set-config' ? step : unset
        if (step.scope.kind === 'subject' && this.#modeOf(step.scope.subject) === 'READONLY') refuse('config', step)
        this.#set(step.scope, { ...this.#get(step.scope), compatibility, config })
        break
      }
      case 'register':
        this.#register(step)
        break
      case 'delete-version':
        this.#delete(step.subject, step.version, step.permanent)
        break
      case 'delete-subject':
        this.#deleteSubject(step.subject)
        break
      case 'verify':
        break
      default:
        step satisfies never
    }
  }

  get snapshot(): RegistrySnapshot {
    const order = (a: SchemaVersion, b: SchemaVersion) =>
      a.subject < b.subject ? -1 : a.subject > b.subject ? 1 : a.version - b.version
    const subjects: Record<string, RegistrySettings> = {}
    const contextSettings = new Map<string, RegistrySettings>()
    for (const [key, scope] of this.#scopes) {
      const settings = this.#settings.get(key) ?? unset
      if (Object.values(settings).every(value => value === null)) continue
      if (scope.kind === 'subject') subjects[scope.subject] = settings
      if (scope.kind === 'context') contextSettings.set(scope.context, settings)
    }
    const contexts = [...new Set(['.', ...this.#versions.map(({ subject }) => splitSubject(subject).context)])]
    const rest = { contexts, contextSettings, global: this.#get({ kind: 'global' }), maxIds: new Map(this.#highest) }
    return snapshotOf(this.#versions.toSorted(order), { subjects, ...rest })
  }

  #setMode(scope: Scope, mode: string, force: boolean): void {
    if (mode === 'IMPORT' && !force) {
      const inScope = ({ subject }: SchemaVersion) =>
        scope.kind === 'subject' ? subject === scope.subject : splitSubject(subject).context === contextOf(scope)
      if (this.#versions.some(one => inScope(one) && !one.isDeleted)) refuse('42205 found existing subjects', scope)
      this.#versions = this.#versions.filter(one => !inScope(one))
    }
    this.#set(scope, { ...this.#get(scope), mode })
  }

  #register(step: RegisterStep): void {
    const { subject, version, id } = step
    if (this.#get({ kind: 'subject', subject }).config?.alias !== undefined) refuse('redirected by an alias', step)
    const mode = this.#modeOf(subject)
    if (mode !== (id === null ? 'READWRITE' : 'IMPORT')) refuse(`42205 in mode ${mode}`, step)
    for (const reference of step.references) {
      const found = this.#find(absolute(reference.subject, subject), reference.version)
      if (!found || (id === null && found.isDeleted)) refuse('42201 no schema reference found', step)
    }
    const { schemaType, schema, references, metadata, ruleSet } = step
    const made: SchemaVersion = {
      ...{ subject, version, id: id ?? 0, schemaType, schema, references, metadata, ruleSet },
      guid: null,
      isDeleted: false,
    }
    const registered = id === null ? this.#number(made, step) : this.#import(made, step)
    for (const key of step.sourceIds) this.ids.set(key, registered.id)
  }

  #number(made: SchemaVersion, step: RegisterStep): SchemaVersion {
    const mine = this.#versions.filter(({ subject }) => subject === made.subject)
    const known = mine.find(one => !one.isDeleted && contentOf(one) === contentOf(made))
    if (known) refuse('unchanged', step)
    const level = this.#levelOf(made.subject)
    const isLifted = step.force || step.lift?.during.compatibility === 'NONE'
    if (level !== 'NONE' && !isLifted && made.schema.includes('incompatible')) refuse('409 incompatible', step)
    const next = Math.max(0, ...mine.map(({ version }) => version)) + 1
    if (next !== step.version) refuse(`it would be version ${next}`, step)
    const same = this.#inContext(made.subject).find(one => contentOf(one) === contentOf(made))
    const id = same?.id ?? (this.#highest.get(splitSubject(made.subject).context) ?? 0) + 1
    return this.#put({ ...made, id })
  }

  #import(made: SchemaVersion, step: RegisterStep): SchemaVersion {
    const holder = this.#inContext(made.subject).find(({ id }) => id === made.id)
    if (holder && contentOf(holder) !== contentOf(made)) refuse('42205 overwrite of an ID', step)
    const there = this.#find(made.subject, made.version)
    if (there && (there.id !== made.id || contentOf(there) !== contentOf(made))) refuse('silent overwrite', step)
    this.#versions = this.#versions.filter(one => one !== there)
    return this.#put(made)
  }

  #put(made: SchemaVersion): SchemaVersion {
    const { subject, version, id } = made
    this.#versions = this.#versions.filter(
      one => !(one.subject === subject && one.isDeleted && one.version < version && one.id === id),
    )
    this.#versions.push(made)
    this.#raise(subject, id)
    return made
  }

  #delete(subject: string, version: number, permanent: boolean): void {
    const one = this.#find(subject, version)
    if (!one) return
    const referrers = this.#versions.filter(({ references, subject: from }) =>
      references.some(each => each.version === version && absolute(each.subject, from) === subject),
    )
    if (referrers.some(({ isDeleted }) => permanent || !isDeleted))
      refuse('42206 reference exists', { subject, version })
    this.#versions = this.#versions.filter(each => each !== one)
    if (!permanent) this.#versions.push({ ...one, isDeleted: true })
    else if (!this.#versions.some(each => each.subject === subject)) this.#set({ kind: 'subject', subject }, unset)
  }

  #deleteSubject(subject: string): void {
    if (this.#versions.some(one => one.subject === subject && !one.isDeleted))
      refuse('40405 not deleted first', { subject })
    this.#versions = this.#versions.filter(one => one.subject !== subject)
    this.#set({ kind: 'subject', subject }, unset)
  }

  #find(subject: string, version: number): SchemaVersion | undefined {
    return this.#versions.find(one => one.subject === subject && one.version === version)
  }

  #inContext(subject: string): SchemaVersion[] {
    const { context } = splitSubject(subject)
    return this.#versions.filter(one => splitSubject(one.subject).context === context)
  }

  #raise(subject: string, id: number): void {
    const { context } = splitSubject(subject)
    this.#highest.set(context, Math.max(id, this.#highest.get(context) ?? 0))
  }

  #modeOf(subject: string): string {
    return this.#get({ kind: 'subject', subject }).mode ?? this.#get(outer(subject)).mode ?? 'READWRITE'
  }

  #levelOf(subject: string): string {
    const own = this.#get({ kind: 'subject', subject }).compatibility
    return own ?? this.#get(outer(subject)).compatibility ?? 'BACKWARD'
  }

  #get(scope: Scope): RegistrySettings {
    return this.#settings.get(JSON.stringify(scope)) ?? unset
  }

  #set(scope: Scope, { compatibility, mode, config }: RegistrySettings): void {
    this.#scopes.set(JSON.stringify(scope), scope)
    this.#settings.set(JSON.stringify(scope), { compatibility, mode, config })
  }
}

function contextOf(scope: Scope): string {
  return scope.kind === 'context' ? scope.context : '.'
}

function outer(subject: string): Scope {
  const { context } = splitSubject(subject)
  return context === '.' ? { kind: 'global' } : { kind: 'context', context }
}

function absolute(subject: string, referrer: string): string {
  const { context } = splitSubject(referrer)
  if (subject.startsWith(':.:')) return subject.slice(3)
  return subject.startsWith(':.') || context === '.' ? subject : `:${context}:${subject}`
}

function contentOf({ schemaType, schema, references, metadata, ruleSet }: SchemaVersion): string {
  const refs = references.map(({ name, subject, version }) => [name, subject, version])
  return JSON.stringify([schemaType, schema, refs, metadata, ruleSet])
}

function refuse(why: string, what: object): never {
  throw new Error(`the registry refuses: ${why}: ${JSON.stringify(what)}`)
}
