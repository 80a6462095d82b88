import {
  type RegistrySnapshot,
  resolveReference,
  type SchemaVersion,
  splitSubject,
} from '../../archive/registry-model.ts'
import { compileGlobs, isPattern } from '../../lib/glob.ts'
import type { Conflict, Note } from './plan/restore-step.ts'

/** Which subjects of a backup are restored, by their names in the backup. */
export interface SubjectFilter {
  /** Patterns over whole names, the context included: `orders-*`, `:.eu:*`. */
  subjects: readonly string[]
  exclude: readonly string[]
}

const SECTION = 'enterprise.schema_registry.restore'

const allSubjects: SubjectFilter = { subjects: ['*'], exclude: [] }

interface SelectedSubjects {
  snapshot: RegistrySnapshot
  conflicts: Conflict[]
  notes: Note[]
}

/**
 * Pure. What a filter leaves of a snapshot. A subject that a selected schema refers to is restored as a whole: its latest
 * version stays the latest, and `overwrite` removes none of its other versions. Settings of the registry stay.
 */
export function selectSubjects(backup: RegistrySnapshot, filter: SubjectFilter = allSubjects): SelectedSubjects {
  const isIncluded = compileGlobs(filter.subjects)
  const isExcluded = compileGlobs(filter.exclude)
  const all = [...new Set([...backup.versions.map(({ subject }) => subject), ...backup.subjects.keys()])]
  const chosen = new Set(all.filter(subject => isIncluded(subject) && !isExcluded(subject)))
  const pulled = pullIn(backup.versions, chosen)
  const isKept = (subject: string) => chosen.has(subject) || pulled.has(subject)
  const leftOut = new Set(all.filter(subject => !isKept(subject)))
  return {
    snapshot: leftOut.size === 0 ? backup : without(backup, leftOut),
    conflicts: findSlips(filter, all, chosen),
    notes: [...describePulled(pulled), ...describeAliases(backup, leftOut), ...describeLeftOut(backup, leftOut)],
  }
}

/** Subjects that the chosen ones refer to, from one to the next, each with the first that does. */
function pullIn(versions: readonly SchemaVersion[], chosen: ReadonlySet<string>): Map<string, string> {
  const bySubject = Map.groupBy(versions, ({ subject }) => subject)
  const pulled = new Map<string, string>()
  const open = [...chosen]
  for (let from = open.pop(); from !== undefined; from = open.pop()) {
    for (const { references } of bySubject.get(from) ?? []) {
      for (const reference of references) {
        const to = resolveReference(reference.subject, from)
        if (chosen.has(to) || pulled.has(to) || !bySubject.has(to)) continue
        pulled.set(to, from)
        open.push(to)
      }
    }
  }
  return pulled
}

/** Contexts that had subjects and have none left go with them. */
function without(backup: RegistrySnapshot, leftOut: ReadonlySet<string>): RegistrySnapshot {
  const versions = backup.versions.filter(({ subject }) => !leftOut.has(subject))
  const subjects = new Map([...backup.subjects].filter(([subject]) => !leftOut.has(subject)))
  const contextOf = (subject: string) => splitSubject(subject).context
  const kept = new Set([...versions.map(({ subject }) => subject), ...subjects.keys()].map(contextOf))
  const emptied = new Set([...leftOut].map(contextOf).filter(context => !kept.has(context)))
  const stays = ([context]: readonly [string, unknown]) => !emptied.has(context)
  return {
    ...backup,
    versions,
    subjects,
    contexts: backup.contexts.filter(context => stays([context, undefined])),
    contextSettings: new Map([...backup.contextSettings].filter(stays)),
    maxIds: new Map([...backup.maxIds].filter(stays)),
  }
}

/** A typo in a name would leave out a subject that the user needs, or restore one that should be left out. */
function findSlips(filter: SubjectFilter, all: readonly string[], chosen: ReadonlySet<string>): Conflict[] {
  const known = new Set(all)
  const about = (message: string): Conflict => ({ kind: 'filter', subject: null, version: null, message })
  const slips = (['subjects', 'exclude'] as const).flatMap(field =>
    filter[field]
      .filter(entry => !isPattern(entry) && !known.has(entry))
      .map(entry =>
        about(
          `${SECTION}.${field} names the subject ${JSON.stringify(entry)}, which the backup does not contain; correct the ` +
            'name (`kafka-backup schemas list` shows the subjects)',
        ),
      ),
  )
  if (slips.length > 0 || chosen.size > 0 || all.length === 0) return slips
  const what = `${SECTION}.subjects (${filter.subjects.join(', ')}) and exclude select no subject of the backup`
  return [about(`${what}; set ${SECTION}.enabled to false to restore no schemas`)]
}

function describePulled(pulled: ReadonlyMap<string, string>): Note[] {
  return [...pulled].map(([subject, from]) => {
    const message = `subject ${subject} is restored although the filter leaves it out, because subject ${from} refers to it`
    return { kind: 'hint', subject, message }
  })
}

function describeAliases({ subjects }: RegistrySnapshot, leftOut: ReadonlySet<string>): Note[] {
  return [...subjects].flatMap(([subject, { config }]) => {
    const alias = config?.alias
    if (typeof alias !== 'string' || leftOut.has(subject) || !leftOut.has(alias)) return []
    const message = `subject ${subject} is an alias of ${alias}, which the filter leaves out`
    return [{ kind: 'hint', subject, message } as const]
  })
}

function describeLeftOut({ versions }: RegistrySnapshot, leftOut: ReadonlySet<string>): Note[] {
  if (leftOut.size === 0) return []
  const count = versions.filter(({ subject }) => leftOut.has(subject)).length
  const [first = '', ...others] = [...leftOut].sort()
  const names = others.length === 0 ? `subject ${first} is` : `${leftOut.size} subjects (${first}, …) are`
  const message =
    `${names} left out by ${SECTION}.subjects and exclude, with ${count} ${count === 1 ? 'version' : 'versions'}: ` +
    'unknown_ids decides what happens to records with their schema IDs'
  return [{ kind: 'hint', subject: null, message }]
}
