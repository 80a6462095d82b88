import { mappedId } from '../../../archive/registry-files.ts'
import {
  DEFAULT_CONTEXT,
  joinSubject,
  type RegistrySnapshot,
  type SchemaVersion,
  splitSubject,
} from '../../../archive/registry-model.ts'
import { type Decision, isMade } from './decide-versions.ts'
import { idNotFound } from './messages.ts'
import type { RegistryRestoreOptions } from './restore-options.ts'
import { type Conflict, importKey, lossNote, type Note } from './restore-step.ts'
import { canonical, compareSchemas, type KeptParts } from './same-schema.ts'
import { keptParts } from './target-index.ts'

/** Holds the highest ID of the source on the target, so IDs above those of the backup are not given again. */
export const RESERVE_SUBJECT = 'kafka-backup.reserved-ids'

interface IdPlan {
  known: Map<string, number>
  /** IDs without a counterpart on the target, and why. */
  unmapped: Map<string, string>
  conflicts: Conflict[]
  notes: Note[]
}

/** Pure. Maps source IDs to target IDs, as far as they are known before registrations. */
export function planIds(
  all: readonly Decision[],
  target: RegistrySnapshot,
  options: Pick<RegistryRestoreOptions, 'strategy' | 'forceIds' | 'idOverrides' | 'passesUnknownIds' | 'traits'>,
): IdPlan {
  const known = new Map<string, number>()
  const contexts = new Map<string, Set<string>>()
  const open = new Map<string, string>()
  for (const decision of all) {
    const { wanted, reason } = decision
    const { source } = wanted
    const key = mappedId(source.subject, source.id)
    const id = knownId(decision, options.forceIds)
    const before = known.get(key)
    // What has the ID of the source itself, under another subject, is what it means.
    const isOwn = options.forceIds && before === source.id
    if (id !== undefined && !isOwn)
      known.set(key, id === source.id && options.forceIds ? id : Math.min(id, before ?? id))
    else if (reason !== undefined) open.set(key, reason)
    contexts.set(key, (contexts.get(key) ?? new Set()).add(splitSubject(wanted.subject).context))
  }
  const made = new Set(
    all
      .filter(one => isMade(one) || one.action === 'merge')
      .map(({ wanted }) => mappedId(wanted.source.subject, wanted.source.id)),
  )
  for (const [key, id] of options.idOverrides) known.set(key, id)
  const unmapped = new Map([...open].filter(([key]) => !known.has(key) && !made.has(key)))
  const missing = [...unmapped].map(([key, reason]) => idNotFound(key, reason, idAdvice(options)))
  const isFatal = options.strategy === 'lookup'
  return {
    known,
    unmapped,
    conflicts: [
      ...(isFatal ? missing.map(message => conflict('id-not-found', message)) : []),
      ...checkOverrides(target, contexts, options),
      ...checkContexts(contexts),
    ],
    notes: isFatal
      ? []
      : [...missing.map(message => lossNote('id_unmapped', null, message)), ...describeLeft(all, unmapped)],
  }
}

/** The ID on the target, where it is known before the registration. */
export function knownId({ wanted, theirs, action, standIn }: Decision, forceIds: boolean): number | undefined {
  const isImported = forceIds && (isMade({ action }) || action === 'merge')
  return theirs?.id ?? (isImported ? (standIn ?? wanted).source.id : undefined)
}

/** What happens to records with an ID that the target lacks, and what changes that. */
function idAdvice({
  strategy,
  passesUnknownIds = false,
}: Pick<RegistryRestoreOptions, 'strategy' | 'passesUnknownIds'>): string {
  if (strategy === 'lookup' || strategy === 'overwrite') return ID_ADVICE[strategy]
  const outcome = passesUnknownIds ? 'are restored unchanged' : 'stop the restore'
  return `Records with this ID ${outcome}: ${ID_ADVICE[strategy]}`
}

/** What makes the target have a schema, by strategy. */
const ID_ADVICE = {
  lookup: 'Restore the schemas first: set restore.enabled to true, which restores them before any record',
  skip: 'set restore.strategy to preserve, or map the ID by restore.id_mapping_file',
  preserve:
    'map the ID by restore.id_mapping_file, set restore.strategy to overwrite, or restore.subject_mapping to another subject',
  overwrite: 'Map the ID by restore.id_mapping_file',
} as const

/** A version that the target does not get, though records find its schema there under another subject. */
function describeLeft(all: readonly Decision[], unmapped: ReadonlyMap<string, string>): Note[] {
  return all.flatMap(({ wanted: { source, subject }, action, reason }) => {
    const key = mappedId(source.subject, source.id)
    if (action !== 'leave' || reason === undefined || unmapped.has(key)) return []
    const message = `${reason}; its schema ID ${key} is that of a schema that the target has`
    return [lossNote('version_left_out', subject, message)]
  })
}

/** An ID is one of a context, where the target has contexts: that to which the schemas with the source's ID go. */
function checkOverrides(
  target: RegistrySnapshot,
  contexts: ReadonlyMap<string, ReadonlySet<string>>,
  { idOverrides, traits }: Pick<RegistryRestoreOptions, 'idOverrides' | 'traits'>,
): Conflict[] {
  const contextOf = (name: string) => (traits.hasContexts ? splitSubject(name).context : DEFAULT_CONTEXT)
  const placeOf = (context: string, id: number) => joinSubject({ context, name: String(id) })
  const there = new Set(target.versions.map(({ subject, id }) => placeOf(contextOf(subject), id)))
  const isThere = ([key, id]: [string, number]) =>
    [...(contexts.get(key) ?? [contextOf(key)])].every(context =>
      there.has(placeOf(traits.hasContexts ? context : DEFAULT_CONTEXT, id)),
    )
  return [...idOverrides]
    .filter(entry => !isThere(entry))
    .map(([key, id]) => {
      const reason = `restore.id_mapping_file maps ${key} to it`
      return conflict('id-not-found', idNotFound(String(id), reason, 'Name an ID there that the target registry has'))
    })
}

/** A message does not say which context its ID is of, so one ID cannot lead to two. */
function checkContexts(contexts: ReadonlyMap<string, ReadonlySet<string>>): Conflict[] {
  return [...contexts]
    .filter(([, some]) => some.size > 1)
    .map(([key, some]) => {
      const where = [...some].sort().join(' and ')
      const advice = 'map all subjects with this ID to one context'
      return conflict('mapping', `restore.subject_mapping takes schema ID ${key} to the contexts ${where}; ${advice}`)
    })
}

/** Pure. Versions that kept an ID from being given, by an earlier run, where the source has given it to a schema since. */
export function listFreed(
  all: readonly Decision[],
  { versions }: RegistrySnapshot,
  { forceIds }: Pick<RegistryRestoreOptions, 'forceIds'>,
): SchemaVersion[] {
  if (!forceIds) return []
  const needed = new Set(all.filter(isMade).map(({ wanted }) => mappedId(wanted.subject, wanted.source.id)))
  return versions.filter(
    ({ subject, id }) => splitSubject(subject).name === RESERVE_SUBJECT && needed.has(mappedId(subject, id)),
  )
}

/** Pure. What keeps the target from having the IDs of the source: other schemas under them, and a registry in use. */
export function checkForcedIds(
  all: readonly Decision[],
  target: RegistrySnapshot,
  deleted: readonly SchemaVersion[],
  options: Pick<RegistryRestoreOptions, 'forceIds' | 'traits' | 'imported' | 'lessons'>,
): Conflict[] {
  if (!options.forceIds) return []
  const own = all.flatMap(({ theirs, wanted }) => (theirs && theirs.id === wanted.source.id ? [theirs] : []))
  const gone = new Set(deleted)
  const rest = target.versions.filter(one => !gone.has(one))
  return [
    ...checkEmpty(all, target, new Set(own), options),
    ...checkTaken(all.filter(isMade), rest, own, keptParts(options)),
    ...checkOtherIds(all, target),
    ...checkTwinIds(all, options.traits.allowsTwinIds),
    ...checkMergedIds(all, options),
  ]
}

function checkTaken(
  made: readonly Decision[],
  rest: readonly SchemaVersion[],
  own: readonly SchemaVersion[],
  kept: KeptParts,
): Conflict[] {
  const isOwn = new Set(own)
  const others = rest.filter(one => !isOwn.has(one))
  const holders = Map.groupBy(others, one => mappedId(one.subject, one.id))
  const named = new Set<string>()
  return made.flatMap(({ wanted, references }) => {
    const { subject, source } = wanted
    const key = mappedId(subject, source.id)
    const ours = { ...source, references }
    const holder = holders.get(key)?.find(one => compareSchemas(ours, one, kept) !== 'same')
    if (!holder || named.has(key)) return []
    // A schema may be under many subjects: its ID is taken once.
    named.add(key)
    const message =
      `schema ID ${key} of version ${source.version} of subject ${source.subject} is taken on the target by version ` +
      `${holder.version} of subject ${holder.subject}, another schema; set restore.force_ids to false, or use an empty registry`
    return [{ kind: 'id-taken' as const, subject, version: source.version, message }]
  })
}

/** The target has the schema under another ID than the records, which keep theirs. */
function checkOtherIds(all: readonly Decision[], target: RegistrySnapshot): Conflict[] {
  const met = new Set(
    all
      .filter(
        ({ action, theirs, wanted }) => isMade({ action }) || action === 'merge' || theirs?.id === wanted.source.id,
      )
      .map(({ wanted }) => mappedId(wanted.subject, wanted.source.id)),
  )
  const named = new Set<string>()
  return all.flatMap(({ wanted: { subject, source }, theirs }): Conflict[] => {
    const key = mappedId(subject, source.id)
    if (!theirs || met.has(key) || named.has(key)) return []
    named.add(key)
    const holder = target.versions.find(one => mappedId(one.subject, one.id) === key)
    const where = holder ? `, where version ${holder.version} of subject ${holder.subject} has the ID ${source.id}` : ''
    const message =
      `schema ID ${key} of version ${source.version} of subject ${source.subject} is ${theirs.id} on the target${where}; set ` +
      'restore.force_ids to false and restore.rewrite_ids to true, or use an empty registry'
    return [{ kind: 'id-taken', subject, version: source.version, message }]
  })
}

function checkTwinIds(all: readonly Decision[], allowsTwinIds: boolean): Conflict[] {
  if (allowsTwinIds) return []
  const ids = new Map<string, Set<number>>()
  for (const { wanted, references } of all) {
    const { schemaType, schema, id } = wanted.source
    const { context } = splitSubject(wanted.subject)
    const text = canonical([context, schemaType, schema, references.map(one => ({ ...one }))])
    ids.set(text, (ids.get(text) ?? new Set()).add(id))
  }
  return [...ids.values()]
    .filter(some => some.size > 1)
    .map(some => {
      const twins = [...some].sort((a, b) => a - b).join(' and ')
      const advice = 'set restore.force_ids to false and restore.rewrite_ids to true'
      return conflict('unsupported', `the target does not take one schema under the IDs ${twins}; ${advice}`)
    })
}

/** If one version represents several, only its ID is on the target; records with another one could not be read. */
function checkMergedIds(all: readonly Decision[], { traits }: Pick<RegistryRestoreOptions, 'traits'>): Conflict[] {
  const held = new Set(
    all
      .filter(one => isMade(one) || one.action === 'keep')
      .map(({ wanted }) => mappedId(wanted.subject, wanted.source.id)),
  )
  return all.flatMap(({ wanted: { subject, source }, action, standIn }): Conflict[] => {
    if (action !== 'merge' || standIn === undefined || held.has(mappedId(subject, source.id))) return []
    const message =
      `versions ${source.version} and ${standIn.source.version} of subject ${subject} are one schema to the target registry ` +
      `(${traits.flavour}), which keeps one of the IDs ${source.id} and ${standIn.source.id} for both; set ` +
      'restore.force_ids to false and restore.rewrite_ids to true'
    return [{ kind: 'unsupported', subject, version: source.version, message }]
  })
}

/**
 * IDs are those of a context, so only the contexts that are restored into have to be empty. Versions that are marked as
 * deleted count: their IDs still mean them. What an earlier run of this restore has imported does not, nor what is the same
 * under the same ID as what would be imported.
 */
function checkEmpty(
  all: readonly Decision[],
  target: RegistrySnapshot,
  own: ReadonlySet<SchemaVersion>,
  { traits, imported }: Pick<RegistryRestoreOptions, 'traits' | 'imported'>,
): Conflict[] {
  const contextOf = (subject: string) => (traits.hasContexts ? splitSubject(subject).context : DEFAULT_CONTEXT)
  const contexts = new Set(all.map(({ wanted }) => contextOf(wanted.subject)))
  const foreign = target.versions.filter(
    one =>
      contexts.has(contextOf(one.subject)) &&
      !imported.has(importKey(one)) &&
      !own.has(one) &&
      splitSubject(one.subject).name !== RESERVE_SUBJECT,
  )
  const [first] = foreign
  if (!first) return []
  const where = contexts.size === 1 && !contexts.has(DEFAULT_CONTEXT) ? `the context ${[...contexts][0]}` : 'it'
  const mark = first.isDeleted ? ', marked as deleted' : ''
  const message =
    `restore.force_ids needs an empty target registry: ${where} holds ${count(foreign.length)} that no journal of this ` +
    `restore lists, such as version ${first.version} of subject ${first.subject} (ID ${first.id}${mark}); use an empty ` +
    'registry, or set restore.force_ids to false'
  return [conflict('not-empty', message)]
}

function count(versions: number): string {
  return versions === 1 ? '1 version' : `${versions} versions`
}

function conflict(kind: Conflict['kind'], message: string): Conflict {
  return { kind, subject: null, version: null, message }
}
