import {
  type RegistrySnapshot,
  resolveReference,
  type SchemaVersion,
  splitSubject,
  versionKey,
} from '../../../archive/registry-model.ts'
import type { RegistryRestoreOptions } from './restore-options.ts'
import type { RegistryPlan, RestoreJournal } from './restore-step.ts'
import { compareSchemas, isSame, type KeptParts, withoutDocs } from './same-schema.ts'

/** How the schemas of fillers are called. */
export const FILLER_NAME = 'kafka_backup_filler'
const fillerNumber = new RegExp(`${FILLER_NAME}_(\\d+)`)

/** A subject of the target while the versions of the backup are gone through in their order. */
export interface TargetSubject {
  subject: string
  /** Ascending, without what an unfinished run put in as fillers. */
  theirs: readonly SchemaVersion[]
  fillers: readonly SchemaVersion[]
  /** It stays as it is, whatever the backup has. */
  isLeft: boolean
  /** The highest number that is taken, once all that has to go is gone. */
  highest: number
  /** How many of `theirs`, from the first on, are known to be the same as the backup's. */
  matched: number
  /** The backup continues differently after `matched`: the rest of `theirs` has to be removed. */
  isDiverged: boolean
  /** A version that the registry refuses; those after it would take its number. */
  refused: number | undefined
}

/** The target, for questions that are asked of it again and again. */
export class TargetIndex {
  readonly textsToCompare: RegistryPlan['textsToCompare'] = []
  readonly #options: RegistryRestoreOptions
  readonly #own: Own
  readonly #kept: KeptParts
  readonly #bySubject: Map<string, SchemaVersion[]>
  readonly #byText: Map<string, SchemaVersion[]>
  readonly #subjects = new Map<string, TargetSubject>()

  constructor(target: RegistrySnapshot, options: RegistryRestoreOptions) {
    this.#options = options
    this.#own = ownOf(options.unfinished)
    this.#kept = keptParts(options)
    this.#bySubject = Map.groupBy(target.versions, ({ subject }) => subject)
    this.#byText = Map.groupBy(target.versions, ({ schema }) => schema)
  }

  /** Those that were asked for. */
  get subjects(): Iterable<TargetSubject> {
    return this.#subjects.values()
  }

  find(subject: string, version: number): SchemaVersion | undefined {
    return this.#bySubject.get(subject)?.find(one => one.version === version)
  }

  subject(name: string): TargetSubject {
    const known = this.#subjects.get(name)
    if (known) return known
    const { strategy } = this.#options
    const all = (this.#bySubject.get(name) ?? []).toSorted((a, b) => a.version - b.version)
    const isOwn = this.#own.subjects.has(name)
    const theirs = all.filter(one => !this.isFiller(one))
    const subject: TargetSubject = {
      subject: name,
      theirs,
      fillers: all.filter(one => this.isFiller(one)),
      isLeft: strategy === 'lookup' || (strategy === 'skip' && theirs.length > 0 && !isOwn),
      highest: all.at(-1)?.version ?? 0,
      matched: 0,
      isDiverged: false,
      refused: undefined,
    }
    this.#subjects.set(name, subject)
    return subject
  }

  /** The target has nothing of it but what this restore has put there, or nothing that is not to go. */
  isFresh(name: string): boolean {
    const all = this.#bySubject.get(name) ?? []
    const { isDiverged, matched } = this.subject(name)
    return (isDiverged && matched === 0) || all.every(({ subject, version }) => this.isOwn(subject, version))
  }

  /** An unfinished run of this restore has made it. */
  isOwn(subject: string, version: number): boolean {
    return this.#own.versions.has(versionKey(subject, version))
  }

  /** One of an unfinished run, whatever number the registry gave it, and not what was at its place before. */
  isFiller({ subject, schema }: SchemaVersion): boolean {
    const planned = fillerNumber.exec(schema)?.[1]
    return planned !== undefined && this.#own.fillers.has(versionKey(subject, Number(planned)))
  }

  /** `ours` has the references that it is to have on the target. */
  isSame(ours: SchemaVersion, theirs: SchemaVersion): boolean {
    const whole = this.#options.forceIds ? ours : this.#withInherited(ours, theirs)
    const mine = absolute(this.#withoutDropped(whole, theirs))
    const likeness = compareSchemas(mine, absolute(theirs), this.#kept)
    if (likeness !== 'other-text') return likeness === 'same'
    if (this.#options.traits.ignoresDocs && withoutDocs(ours) === withoutDocs(theirs)) return true
    const { subject, version } = theirs
    // Ask the registry only about the same place: it does not show which of several texts it matched.
    if (ours.subject !== subject || ours.version !== version) return false
    if (this.#options.sameTexts.has(versionKey(subject, version))) return true
    this.textsToCompare.push({ subject, version, schema: ours.schema })
    return false
  }

  /** A version that lost a part to an earlier version of the registry stays as it is, unless the job replaces it. */
  #withoutDropped(ours: SchemaVersion, theirs: SchemaVersion): SchemaVersion {
    const { strategy, lessons } = this.#options
    const isLost = (part: 'metadata' | 'ruleSet') =>
      strategy !== 'overwrite' && theirs[part] === null && lessons.droppedBefore.includes(part)
    return {
      ...ours,
      metadata: isLost('metadata') ? null : ours.metadata,
      ruleSet: isLost('ruleSet') ? null : ours.ruleSet,
    }
  }

  /** The same but for metadata and rule sets that the target does not have: records are read by it in the same way. */
  isReadAlike(ours: SchemaVersion, theirs: SchemaVersion): boolean {
    const kept = { metadata: theirs.metadata !== null, ruleSet: theirs.ruleSet !== null }
    return compareSchemas(absolute(ours), absolute(theirs), kept) === 'same'
  }

  /** A registry that numbers what it registers hands metadata and rule sets on to a version that comes without. */
  #withInherited(ours: SchemaVersion, { subject, version, metadata, ruleSet }: SchemaVersion): SchemaVersion {
    if (ours.metadata !== null && ours.ruleSet !== null) return ours
    const earlier = this.#bySubject.get(subject)?.filter(one => one.version < version) ?? []
    const isHandedOn = {
      metadata: earlier.some(one => isSame(one.metadata, metadata)),
      ruleSet: earlier.some(one => isSame(one.ruleSet, ruleSet)),
    }
    return {
      ...ours,
      metadata: ours.metadata ?? (isHandedOn.metadata ? metadata : null),
      ruleSet: ours.ruleSet ?? (isHandedOn.ruleSet ? ruleSet : null),
    }
  }

  /** The same schema under any subject of its context. */
  findAnywhere(ours: SchemaVersion): SchemaVersion | undefined {
    const { context } = splitSubject(ours.subject)
    return this.#byText
      .get(ours.schema)
      ?.find(theirs => splitSubject(theirs.subject).context === context && this.isSame(ours, theirs))
  }
}

/** What an unfinished run of this restore has put there, as sets. */
interface Own {
  subjects: ReadonlySet<string>
  versions: ReadonlySet<string>
  fillers: ReadonlySet<string>
}

function ownOf(unfinished: RestoreJournal | undefined): Own {
  return {
    subjects: new Set(unfinished?.createdSubjects),
    versions: new Set(unfinished?.registered),
    fillers: new Set(unfinished?.fillers),
  }
}

export function keptParts({
  forceIds,
  traits,
  lessons,
}: Pick<RegistryRestoreOptions, 'forceIds' | 'traits' | 'lessons'>): KeptParts {
  const isKept = forceIds ? traits.keepsImportedContracts : traits.keepsContracts
  return {
    metadata: isKept && !lessons.drops.includes('metadata'),
    ruleSet: isKept && !lessons.drops.includes('ruleSet'),
  }
}

function absolute(one: SchemaVersion): SchemaVersion {
  if (one.references.length === 0) return one
  const references = one.references.map(each => ({ ...each, subject: resolveReference(each.subject, one.subject) }))
  return { ...one, references }
}
