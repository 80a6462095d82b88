import { mappedId } from '../../../archive/registry-files.ts'
import {
  DEFAULT_CONTEXT,
  joinSubject,
  type RegistrySnapshot,
  resolveReference,
  type SchemaVersion,
  splitSubject,
  versionKey,
} from '../../../archive/registry-model.ts'
import { type Decision, type Decisions, isMade } from './decide-versions.ts'
import type { RegistryRestoreOptions } from './restore-options.ts'
import { type Conflict, lossNote, type Note } from './restore-step.ts'
import { compareSchemas, isSame } from './same-schema.ts'
import { keptParts, type TargetIndex } from './target-index.ts'
import type { Wanted } from './wanted-version.ts'

/** Pure. Subjects that become one would mix their versions. */
export function checkMapping(wanted: readonly Wanted[]): Conflict[] {
  const sources = new Map<string, Set<string>>()
  for (const { subject, source } of wanted) {
    sources.set(subject, (sources.get(subject) ?? new Set()).add(source.subject))
  }
  return [...sources]
    .filter(([, some]) => some.size > 1)
    .map(([subject, some]) => {
      const names = [...some].sort().join(' and ')
      const message = `restore.subject_mapping takes the subjects ${names} to one, ${subject}; give one of them another name`
      return { kind: 'mapping', subject, version: null, message }
    })
}

/** Pure. What the target cannot do at all. */
export function checkAbilities(
  made: readonly Decision[],
  { forceIds, traits }: Pick<RegistryRestoreOptions, 'forceIds' | 'traits'>,
): Conflict[] {
  const conflicts: Conflict[] = []
  if (forceIds && !traits.canImport && made.length > 0) {
    const message =
      `the target registry (${traits.flavour}) gives IDs itself, so that restore.force_ids cannot work; set it to false, ` +
      'and restore.rewrite_ids to true'
    conflicts.push({ kind: 'unsupported', subject: null, version: null, message })
  }
  if (traits.hasJsonReferences) return conflicts
  const refused = made.filter(({ wanted }) => wanted.source.schemaType === 'JSON' && wanted.references.length > 0)
  return [
    ...conflicts,
    ...refused.map(({ wanted: { subject, source } }): Conflict => {
      const message =
        `version ${source.version} of subject ${subject} is a JSON Schema that refers to others, which the target registry ` +
        `(${traits.flavour}) does not take; leave it out of backup.subjects, or use another registry`
      return { kind: 'unsupported', subject, version: source.version, message }
    }),
  ]
}

/** Pure. Names that requests cannot carry to the target, one conflict a subject. */
export function checkNames(made: readonly Decision[], { traits }: Pick<RegistryRestoreOptions, 'traits'>): Conflict[] {
  if (traits.takesSlashes) return []
  const names = new Set(made.map(({ wanted }) => wanted.subject).filter(subject => subject.includes('/')))
  return [...names].map(subject => {
    const message =
      `the target registry (${traits.flavour}) takes no subject with a slash in its name, as ${subject} has; give it another ` +
      'name by restore.subject_mapping, which references follow, or leave it out'
    return { kind: 'unsupported', subject, version: null, message }
  })
}

/** Pure. References that no registry resolves: out of a context into the default one, one conflict for each pair. */
export function checkContextReferences(
  made: readonly Decision[],
  { traits }: Pick<RegistryRestoreOptions, 'traits'>,
): Conflict[] {
  if (!traits.hasContexts) return []
  const found = new Map<string, Conflict>()
  for (const { wanted } of made) {
    const { context } = splitSubject(wanted.subject)
    for (const { target } of wanted.references) {
      const other = splitSubject(target)
      const isMet =
        other.context === context || (traits.contextReferences === 'named' && other.context !== DEFAULT_CONTEXT)
      if (isMet) continue
      const whose = other.context === DEFAULT_CONTEXT ? 'the default context' : `the context ${other.context}`
      const message =
        `subject ${wanted.subject} refers to ${target}, of ${whose}, which the target registry (${traits.flavour}) looks for ` +
        `in the context ${context}; map both to one context by restore.subject_mapping, as ${target} to ` +
        joinSubject({ context, name: other.name })
      const conflict: Conflict = { kind: 'mapping', subject: wanted.subject, version: null, message }
      found.set(JSON.stringify([wanted.subject, target]), conflict)
    }
  }
  return [...found.values()]
}

/** Pure. What stays on the target and refers to what has to go. */
export function checkReferrers(target: RegistrySnapshot, deleted: readonly SchemaVersion[]): Conflict[] {
  const gone = new Set(deleted.map(({ subject, version }) => versionKey(subject, version)))
  if (gone.size === 0) return []
  return target.versions
    .filter(({ subject, version }) => !gone.has(versionKey(subject, version)))
    .flatMap(one =>
      one.references
        .map(({ subject, version }) => ({ subject: resolveReference(subject, one.subject), version }))
        .filter(({ subject, version }) => gone.has(versionKey(subject, version)))
        .map(({ subject, version }): Conflict => {
          const message =
            `version ${version} of subject ${subject} cannot be replaced: version ${one.version} of subject ${one.subject}, ` +
            'which is not replaced, refers to it; delete that one first, or set restore.strategy to preserve'
          return { kind: 'referrer-outside', subject, version, message }
        }),
    )
}

/** Pure. IDs of the target that nothing holds any longer. */
export function describeUndecodable(
  target: RegistrySnapshot,
  deleted: readonly SchemaVersion[],
  all: readonly Decision[],
  forceIds: boolean,
): Note[] {
  const gone = new Set(deleted)
  const held = new Set(target.versions.filter(one => !gone.has(one)).map(one => mappedId(one.subject, one.id)))
  const made = new Map(
    forceIds
      ? all.filter(isMade).map(({ wanted }) => [mappedId(wanted.subject, wanted.source.id), wanted.source.schema])
      : [],
  )
  const lost = new Map(deleted.map(one => [mappedId(one.subject, one.id), one]))
  return [...lost]
    .filter(([key, one]) => !held.has(key) && made.get(key) !== one.schema)
    .map(([key, { subject, version }]) => {
      const message = `schema ID ${key} of the target, version ${version} of subject ${subject}, can no longer be read`
      return { kind: 'undecodable', subject, message }
    })
}

/** Pure. Versions that the target has and the backup lacks: `overwrite` deletes them. */
export function describeDeleted(
  { all, deleted }: Pick<Decisions, 'all' | 'deleted'>,
  index: Pick<TargetIndex, 'isOwn' | 'isFiller'>,
  options: RegistryRestoreOptions,
): Note[] {
  const held = Map.groupBy(
    all.filter(one => isMade(one) || one.action === 'keep'),
    ({ wanted }) => wanted.subject,
  )
  const kept = keptParts(options)
  const isHeld = (one: SchemaVersion) => {
    const ours = held.get(one.subject) ?? []
    return (
      ours.some(({ version }) => version === one.version) &&
      ours.some(({ wanted, references }) => compareSchemas({ ...wanted.source, references }, one, kept) === 'same')
    )
  }
  return deleted
    .filter(one => !isHeld(one) && !index.isFiller(one) && !index.isOwn(one.subject, one.version))
    .map(({ subject, version, id, isDeleted }) => {
      const mark = isDeleted ? ', marked as deleted' : ''
      const message = `version ${version} of subject ${subject} on the target (ID ${id}${mark}) is not in the backup, and is deleted for good`
      return lossNote('target_version_deleted', subject, message)
    })
}

/** Pure. What the target does not keep of what it is given, now or in an earlier run. */
export function listLosses(held: readonly Decision[], options: RegistryRestoreOptions): Note[] {
  const { traits } = options
  const kept = keptParts(options)
  const notes: Note[] = []
  const registry = `the target registry (${traits.flavour})`
  const bySubject = Map.groupBy(held, ({ wanted }) => wanted.subject)
  for (const [subject, some] of bySubject) {
    const has = (part: 'metadata' | 'ruleSet') => some.some(({ wanted: { source } }) => source[part] !== null)
    for (const { part, loss, name } of contractParts) {
      const lacking = some.filter(one => lacksPart(one, part))
      if (!kept[part] && has(part))
        notes.push(lossNote(loss, subject, `${registry} does not keep the ${name} of ${subject}`))
      else if (lacking.length > 0) {
        const message =
          `${registry} has ${listVersions(lacking)} of ${subject} without the ${name}, which it dropped before it was upgraded; ` +
          'restore.strategy: overwrite registers them again'
        notes.push(lossNote(loss, subject, message))
      }
    }
    const undocumented = traits.ignoresDocs ? some.filter(differsInDocs) : []
    if (undocumented.length > 0) {
      const message = `${registry} holds ${listVersions(undocumented)} of ${subject} with doc and aliases of another version`
      notes.push(lossNote('documentation', subject, message))
    }
    if (!traits.hasContexts && splitSubject(subject).context !== '.') {
      notes.push(lossNote('context', subject, `${registry} has no contexts: ${subject} is a plain name there`))
    }
    if (!options.forceIds && kept.metadata && inherits(some)) {
      const message = `a version of ${subject} without metadata gets the metadata of the version before it from the target registry`
      notes.push(lossNote('metadata_inherited', subject, message))
    }
  }
  return notes
}

const contractParts = [
  { part: 'metadata', loss: 'metadata', name: 'metadata' },
  { part: 'ruleSet', loss: 'rule_set', name: 'rule sets' },
] as const

function lacksPart({ wanted: { source }, theirs, action }: Decision, part: 'metadata' | 'ruleSet'): boolean {
  return action === 'keep' && source[part] !== null && theirs?.[part] === null
}

/** The registry has taken it for a schema that it had. */
function differsInDocs({ wanted: { source }, theirs, action }: Decision): boolean {
  return action === 'keep' && theirs?.schemaType === 'AVRO' && !isSameText(source.schema, theirs.schema)
}

function isSameText(a: string, b: string): boolean {
  if (a === b) return true
  try {
    return isSame(JSON.parse(a), JSON.parse(b))
  } catch {
    return false
  }
}

function listVersions(decisions: readonly Decision[]): string {
  const numbers = decisions.map(({ wanted }) => wanted.source.version).sort((a, b) => a - b)
  return `${numbers.length === 1 ? 'version' : 'versions'} ${numbers.join(', ')}`
}

/** A registry gives a version that has none the metadata of the one before it. */
function inherits(made: readonly Decision[]): boolean {
  const bare = ({ wanted: { source } }: Decision) => source.metadata === null && source.ruleSet === null
  return made.some((one, at) => {
    const before = made[at - 1]
    return before !== undefined && bare(one) && !bare(before)
  })
}
