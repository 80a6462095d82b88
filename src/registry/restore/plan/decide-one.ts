import { type SchemaVersion, versionKey } from '../../../archive/registry-model.ts'
import { printHeld } from './lessons.ts'
import type { RegistryRestoreOptions } from './restore-options.ts'
import { type Conflict, lossNote, type Note } from './restore-step.ts'
import type { TargetIndex, TargetSubject } from './target-index.ts'

export interface Verdict {
  action: 'register' | 'keep' | 'replace' | 'leave' | 'conflict'
  /** The number on the target; null where the subject does not get it. */
  version: number | null
  theirs: SchemaVersion | null
  /** Why the subject does not get it. */
  reason?: string
  conflict?: Conflict
  note?: Note
  /** The registry refuses it, or something that it needs. */
  isRefused?: true
}

export interface DecidingOptions extends RegistryRestoreOptions {
  /** Whether numbers that the source does not have can be taken by fillers. */
  canFill(subject: string): boolean
  /** By key: versions of the backup that are not restored at all, why, and what helps. */
  notRestored: ReadonlyMap<string, { why: string; advice: string; schema: string }>
}

/** A gap of more numbers than this is not worth its fillers. */
const maxFillers = 100

/**
 * What becomes of one version, where those that it refers to and those before it in its subject are decided. `broken` says
 * which of its references the target cannot have, `unmet` which of them the registry refuses.
 */
export function decideOne(
  ours: SchemaVersion,
  index: TargetIndex,
  options: DecidingOptions,
  { broken, unmet }: { broken: string | undefined; unmet: string | undefined },
): Verdict {
  const at = index.subject(ours.subject)
  if (at.isLeft) return look(ours, at, index, options)
  const held = findHeld(ours, at, options)
  if (held) return held
  const refused = findRefused(ours, at, options, unmet)
  const verdict = decideBy(ours, at, index, options, broken)
  if (refused === undefined || !isWritten(verdict)) return verdict
  at.refused ??= ours.version
  return { ...leave(ours, index, refused), isRefused: true }
}

function decideBy(
  ours: SchemaVersion,
  at: TargetSubject,
  index: TargetIndex,
  options: DecidingOptions,
  broken: string | undefined,
): Verdict {
  if (options.forceIds) return decideForced(ours, at, index, options)
  return options.strategy === 'overwrite'
    ? decideOverwritten(ours, at, index, options)
    : decidePreserved(ours, at, index, options, broken)
}

function isWritten({ action }: Verdict): boolean {
  return action === 'register' || action === 'replace'
}

/** The registry holds it by another version of the subject, which it has answered with. */
function findHeld(ours: SchemaVersion, at: TargetSubject, { lessons }: DecidingOptions): Verdict | undefined {
  const held = lessons.heldAs.get(versionKey(ours.subject, ours.version))
  const theirs = held && at.theirs.find(one => one.version === held.version)
  if (!theirs || printHeld(ours, theirs) !== held.print) return undefined
  if (at.theirs[at.matched] === theirs) at.matched++
  const message =
    `version ${ours.version} of subject ${ours.subject} is the same schema as its version ${theirs.version} to the target registry, ` +
    'which keeps one of them for both'
  return { action: 'keep', version: theirs.version, theirs, note: lossNote('version_merged', ours.subject, message) }
}

/** Why it is not sent again. Without IDs of the source a version takes the next number, which may be that of a refused one. */
function findRefused(
  { subject, version }: SchemaVersion,
  at: TargetSubject,
  { lessons, forceIds }: DecidingOptions,
  unmet: string | undefined,
): string | undefined {
  const name = `version ${version} of subject ${subject}`
  const own = lessons.refused.get(versionKey(subject, version))
  if (own !== undefined) return `the target registry refuses ${name}: ${own}`
  if (unmet !== undefined) return `${name} ${unmet}`
  if (forceIds || at.refused === undefined) return undefined
  return `${name} is not restored before version ${at.refused}, whose number it would take`
}

/** The target stays as it is; it may have the schema all the same. */
function look(ours: SchemaVersion, at: TargetSubject, index: TargetIndex, { strategy }: DecidingOptions): Verdict {
  const alike = strategy === 'lookup' ? at.theirs.find(one => index.isReadAlike(ours, one)) : undefined
  const here = findSame(ours, at, index) ?? alike
  if (here) return { action: 'leave', version: here.version, theirs: here }
  const reason =
    strategy === 'skip'
      ? `restore.strategy skip leaves subject ${ours.subject} as it is there, and none of its versions is version ` +
        `${ours.version} of the backup`
      : 'no schema there is the same as that of the backup'
  return leave(ours, index, reason)
}

/** The subject does not get it. Its ID is mapped where the target has the same schema under another subject. */
function leave(ours: SchemaVersion, index: TargetIndex, reason: string): Verdict {
  return { action: 'leave', version: null, theirs: index.findAnywhere(ours) ?? null, reason }
}

/** Numbers and IDs are those of the source. */
function decideForced(
  ours: SchemaVersion,
  at: TargetSubject,
  index: TargetIndex,
  { strategy }: DecidingOptions,
): Verdict {
  const { version } = ours
  const theirs = at.theirs.find(one => one.version === version)
  if (!theirs) return { action: 'register', version, theirs: null }
  const isSame = theirs.id === ours.id && index.isSame(ours, theirs)
  const mayChange = strategy === 'overwrite' || index.isOwn(ours.subject, version)
  if (isSame && theirs.isDeleted && !ours.isDeleted) {
    // To register what is marked as deleted makes it live again, in its place.
    return mayChange ? { action: 'register', version, theirs: null } : keep(ours, theirs)
  }
  if (isSame) return keep(ours, theirs)
  if (strategy === 'overwrite') return { action: 'replace', version, theirs: null }
  return { action: 'conflict', version: null, theirs: null, conflict: differs(ours, theirs) }
}

/** What is there stays; what is missing comes after it. What can have no place there is left out. */
function decidePreserved(
  ours: SchemaVersion,
  at: TargetSubject,
  index: TargetIndex,
  options: DecidingOptions,
  broken: string | undefined,
): Verdict {
  const same = findSame(ours, at, index)
  if (same) return keep(ours, same)
  // What an unfinished run has registered never conflicts, whatever its number.
  const foreign = at.theirs.filter(one => !index.isOwn(one.subject, one.version))
  const theirs = foreign.find(one => one.version === ours.version)
  const name = `version ${ours.version} of subject ${ours.subject}`
  if (theirs) {
    const reason = `${name} is another schema on the target (ID ${theirs.id}) than in the backup (ID ${ours.id}), and stays so`
    return leave(ours, index, reason)
  }
  const last = foreign.at(-1)
  if (ours.version < (last?.version ?? 0)) {
    const reason =
      `${name} is missing on the target, which has version ${last?.version} of it: registries add versions only after ` +
      'the last one'
    return leave(ours, index, reason)
  }
  return broken === undefined ? append(ours, at, options, 'register') : leave(ours, index, `${name} ${broken}`)
}

/** What is the same from the first version on stays; from the first difference on all is replaced. */
function decideOverwritten(
  ours: SchemaVersion,
  at: TargetSubject,
  index: TargetIndex,
  options: DecidingOptions,
): Verdict {
  const theirs = at.isDiverged ? undefined : at.theirs[at.matched]
  if (theirs && index.isSame(ours, theirs) && (ours.isDeleted || !theirs.isDeleted)) {
    at.matched++
    return keep(ours, theirs)
  }
  if (theirs) {
    at.isDiverged = true
    if (at.matched === 0 || options.traits.numbersRestart === 'versions') {
      at.highest = at.theirs[at.matched - 1]?.version ?? 0
    }
  }
  return append(ours, at, options, at.isDiverged ? 'replace' : 'register')
}

/** The next number of the subject, or that of the source where fillers can take those before it. */
function append(
  ours: SchemaVersion,
  at: TargetSubject,
  { canFill }: DecidingOptions,
  action: 'register' | 'replace',
): Verdict {
  const next = at.highest + 1
  const isFilled = ours.version > next && ours.version - next <= maxFillers && canFill(ours.subject)
  const version = isFilled ? ours.version : next
  at.highest = version
  return { action, version, theirs: null, ...renumbered(ours, version) }
}

function keep(ours: SchemaVersion, theirs: SchemaVersion): Verdict {
  const verdict: Verdict = { action: 'keep', version: theirs.version, theirs }
  if (!ours.isDeleted && theirs.isDeleted) {
    const message = `version ${theirs.version} of subject ${theirs.subject} is marked as deleted on the target, and stays so`
    return { ...verdict, note: lossNote('live_version_deleted', theirs.subject, message) }
  }
  return { ...verdict, ...renumbered(ours, theirs.version) }
}

function renumbered({ subject, version }: SchemaVersion, number: number): { note?: Note } {
  if (version === number) return {}
  const message = `version ${version} of subject ${subject} is version ${number} on the target; references follow`
  return { note: lossNote('version_number', subject, message) }
}

/** Of the same number where there are several. */
function findSame(ours: SchemaVersion, { theirs }: TargetSubject, index: TargetIndex): SchemaVersion | undefined {
  const atNumber = theirs.find(one => one.version === ours.version)
  if (atNumber && index.isSame(ours, atNumber)) return atNumber
  return theirs.find(one => one !== atNumber && index.isSame(ours, one))
}

function differs(ours: SchemaVersion, theirs: SchemaVersion): Conflict {
  const { subject, version } = theirs
  const message =
    `version ${version} of subject ${subject} is another schema on the target (ID ${theirs.id}) than in the backup (ID ` +
    `${ours.id}); use an empty registry, or set restore.force_ids to false`
  return { kind: 'version-differs', subject, version, message }
}
