import { type SchemaReference, type SchemaVersion, versionKey } from '../../../archive/registry-model.ts'
import { append } from '../../../lib/largest.ts'
import { type DecidingOptions, decideOne, type Verdict } from './decide-one.ts'
import { referenceNotFound } from './messages.ts'
import { type Conflict, lossNote, type Note } from './restore-step.ts'
import type { TargetIndex } from './target-index.ts'
import type { Wanted, WantedReference } from './wanted-version.ts'

/** What becomes of a version of the backup. */
export interface Decision extends Omit<Verdict, 'action' | 'conflict' | 'note'> {
  wanted: Wanted
  action: Verdict['action'] | 'merge'
  /** With the numbers of the target. */
  references: SchemaReference[]
  /** With `merge`: the version that represents it. */
  standIn?: Wanted
}

export interface Decisions {
  /** In the order of registrations; what is merged into another comes last. */
  all: Decision[]
  /** Versions of the target that have to go. */
  deleted: SchemaVersion[]
  conflicts: Conflict[]
  notes: Note[]
}

/**
 * Pure but for what `index` learns. `order` is one in which references come first; `twins` are versions that another of
 * their subject represents.
 */
export function decideVersions(
  order: readonly Wanted[],
  twins: ReadonlyMap<Wanted, Wanted>,
  index: TargetIndex,
  options: DecidingOptions,
): Decisions {
  const found: Decisions = { all: [], deleted: [], conflicts: [], notes: [] }
  const byKey = new Map<string, Decision>()
  const breaks: MissingReference[] = []
  const standIns = new Map([...twins].map(([twin, standIn]) => [twin.key, standIn.key]))
  for (const wanted of order) {
    const resolved = wanted.references.map(one => {
      const decision = byKey.get(standIns.get(one.key) ?? one.key)
      return resolveReference(one, decision, index)
    })
    const references = resolved.map(({ reference }) => reference)
    const ours = { ...wanted.source, subject: wanted.subject, references }
    const { conflict, note, ...verdict } = decideOne(ours, index, options, {
      broken: findLeftOut(resolved, options),
      unmet: findUnmet(resolved),
    })
    const decision: Decision = { wanted, references, ...verdict }
    byKey.set(wanted.key, decision)
    found.all.push(decision)
    if (conflict) found.conflicts.push(conflict)
    if (note) found.notes.push(note)
    if (!isMade(decision)) continue
    breaks.push(...resolved.flatMap(one => judgeReference(one, decision, options)))
    append(found.notes, describeOutside(resolved, decision, options))
  }
  for (const [twin, standIn] of twins) {
    const decision = byKey.get(standIn.key)
    if (!decision) continue
    const action = decision.action === 'leave' ? 'leave' : 'merge'
    found.all.push({ ...decision, wanted: twin, action, standIn })
    found.notes.push(describeMerged(twin, standIn))
  }
  append(found.conflicts, nameOnce(breaks))
  if (options.forceIds) found.all = renewRemoved(found.all)
  append(found.deleted, listDeleted(index, found.all, options))
  return found
}

/** It is written to the target. */
export function isMade({ action }: Pick<Decision, 'action'>): boolean {
  return action === 'register' || action === 'replace'
}

/**
 * To register a version removes those before it that have its ID, in its subject, and are marked as deleted on the target.
 * These are made live in their places, and marked again in the end.
 */
function renewRemoved(all: readonly Decision[]): Decision[] {
  const keyOf = ({ subject, source }: Wanted) => `${source.id} ${subject}`
  const highest = new Map<string, number>()
  for (const { wanted } of all.filter(isMade)) {
    highest.set(keyOf(wanted), Math.max(wanted.source.version, highest.get(keyOf(wanted)) ?? 0))
  }
  return all.map(one => {
    const isRemoved = one.theirs?.isDeleted && one.wanted.source.version < (highest.get(keyOf(one.wanted)) ?? 0)
    return one.action === 'keep' && isRemoved ? { ...one, action: 'register', theirs: null } : one
  })
}

interface Resolved {
  reference: SchemaReference
  wanted: WantedReference
  /** What became of it; undefined where it is not restored. */
  decision: Decision | undefined
  /** What the reference leads to on the target, and the version that is there already. */
  version: number | null
  theirs: SchemaVersion | null
}

/** A version that no schema of a registry has: what refers to it is the same as nothing that is there. */
const NOWHERE = 0

function resolveReference(wanted: WantedReference, decision: Decision | undefined, index: TargetIndex): Resolved {
  const { key: _, target, ...reference } = wanted
  if (!decision) {
    const theirs = index.find(target, reference.version) ?? null
    return { reference, wanted, decision, version: theirs?.version ?? null, theirs }
  }
  const { version, theirs } = decision
  return { reference: { ...reference, version: version ?? NOWHERE }, wanted, decision, version, theirs }
}

interface Break {
  /** Continues after `which`. */
  why: string
  advice: string
}

/** Why the target cannot take what has this reference; undefined where it can. */
function findBreak(one: Resolved, { forceIds, strategy, notRestored }: DecidingOptions): Break | undefined {
  const { wanted, decision } = one
  // The blockers of the other one are reported once, there.
  if (decision?.action === 'conflict') return undefined
  if (one.version === null && decision) {
    const advice = strategy === 'skip' ? ADD_OR_REPLACE : REPLACE_OR_RENAME
    return { why: `is not restored: ${decision.reason}`, advice }
  }
  if (one.version === null) {
    return notRestored.get(wanted.key) ?? { why: 'is neither in the backup nor on the target', advice: INCLUDE }
  }
  const isDeleted = one.theirs?.isDeleted && !(decision && isMade(decision))
  return isDeleted && !forceIds ? { why: 'is marked as deleted on the target', advice: REPLACE_OR_RENAME } : undefined
}

const INCLUDE = 'Include the subject in backup.subjects and set backup.include_references to true'
const ADD_OR_REPLACE = 'Set restore.strategy to preserve, which adds missing versions, or to overwrite'
const REPLACE_OR_RENAME = 'Set restore.strategy to overwrite, or restore.subject_mapping to another subject'

/** With `preserve`: a reference to what the target keeps otherwise leaves out what has it. What is missing everywhere does not. */
function findLeftOut(resolved: readonly Resolved[], options: DecidingOptions): string | undefined {
  if (options.strategy !== 'preserve') return undefined
  for (const one of resolved) {
    const broken = one.decision || one.version !== null ? findBreak(one, options) : undefined
    if (broken) return `refers to version ${one.wanted.version} of subject ${one.wanted.target}, which ${broken.why}`
  }
  return undefined
}

/** What the registry refuses cannot be referred to, with any strategy. */
function findUnmet(resolved: readonly Resolved[]): string | undefined {
  const one = resolved.find(({ decision }) => decision?.isRefused)
  return one && `refers to version ${one.wanted.version} of subject ${one.wanted.target}, which is not restored`
}

/** References to what is not restored, which lead to what the target has under that name: it may be another schema. */
function describeOutside(
  resolved: readonly Resolved[],
  { wanted: { subject, source } }: Decision,
  { notRestored }: DecidingOptions,
): Note[] {
  return resolved.flatMap(({ wanted: { key, target, version }, decision, theirs }) => {
    if (decision || !theirs) return []
    const left = notRestored.get(key)
    if (left?.schema === theirs.schema) return []
    const message =
      `version ${source.version} of subject ${subject} refers to version ${version} of subject ${target}, which ` +
      `${left?.why ?? 'the backup does not have'}: the one of the target (ID ${theirs.id}) takes its place, and may be another schema`
    return [lossNote('reference_outside', subject, message)]
  })
}

function judgeReference(
  one: Resolved,
  { wanted: { subject, source } }: Decision,
  options: DecidingOptions,
): MissingReference[] {
  const broken = findBreak(one, options)
  if (!broken) return []
  const reason = `version ${source.version} of ${subject} refers to its version ${one.wanted.version}, which ${broken.why}`
  const message = referenceNotFound(one.wanted.target, reason, broken.advice)
  const conflict: Conflict = { kind: 'reference-missing', subject, version: source.version, message }
  return [{ missing: one.wanted.key, conflict }]
}

interface MissingReference {
  /** What is referred to, as `Wanted.key`. */
  missing: string
  conflict: Conflict
}

/** What many versions refer to is missing once. */
function nameOnce(breaks: readonly MissingReference[]): Conflict[] {
  return [...Map.groupBy(breaks, ({ missing }) => missing).values()].flatMap(([first, ...more]) => {
    if (!first) return []
    const others = `${more.length} more ${more.length === 1 ? 'version refers' : 'versions refer'} to it`
    const { conflict } = first
    return [more.length === 0 ? conflict : { ...conflict, message: `${conflict.message} (${others})` }]
  })
}

function describeMerged({ source, subject }: Wanted, standIn: Wanted): Note {
  const message =
    `version ${source.version} of subject ${subject} is the same schema as its version ${standIn.source.version}; a ` +
    'registry keeps one of them for both'
  return lossNote('version_merged', subject, message)
}

/** With `overwrite`, what differs and what the backup does not have. */
function listDeleted(index: TargetIndex, all: readonly Decision[], options: DecidingOptions): SchemaVersion[] {
  if (options.strategy !== 'overwrite') return []
  const kept = new Set(all.filter(({ action }) => action === 'keep').map(({ theirs }) => theirs))
  // What is made in the place of the same schema that is marked as deleted needs it to be there.
  const renewed = new Set(
    all.flatMap(({ action, wanted, version }) =>
      action === 'register' && version !== null ? [versionKey(wanted.subject, version)] : [],
    ),
  )
  return [...index.subjects]
    .flatMap(({ theirs, fillers, matched, isDiverged }) => {
      const last = theirs[matched - 1]?.version ?? 0
      return isDiverged ? [...theirs, ...fillers.filter(({ version }) => version > last)] : theirs
    })
    .filter(one => !kept.has(one) && !(options.forceIds && renewed.has(versionKey(one.subject, one.version))))
}
