import { resolveReference, type SchemaVersion, splitSubject, versionKey } from '../../archive/registry-model.ts'
import { KafkaBackupError } from '../../errors.ts'
import { numberOf } from '../../lib/json.ts'
import { append } from '../../lib/largest.ts'
import { runPool } from '../../lib/pool.ts'
import { pathOf } from './address.ts'
import { findHiddenVersion } from './apicurio.ts'
import type { RegistryClient } from './client.ts'
import type { HiddenContext, Identity } from './flavour.ts'
import { listNames, listSubjects } from './list-subjects.ts'
import { asRecord, parseNumbers, parseVersion, withoutInjectedVersion } from './parse-answers.ts'

/** No subject has more; whatever a server says, no longer list of numbers is made. */
const MAX_VERSIONS = 1_000_000
/** Apicurio gives no more than so many numbers of versions. */
const APICURIO_VERSIONS = 500

interface Numbers {
  subject: string
  all: readonly number[]
  live: ReadonlySet<number>
  /** Numbers that may exist in addition to them. */
  guessed: readonly number[]
}

/** What the registry lists and does not give. */
export interface Unreadable {
  subject: string
  /** Null where it is the whole subject. */
  version: number | null
}

/**
 * Reads a registry subject by subject: those that are wanted, and those that these refer to, as a whole. A pass asks for all numbers of versions again, but for the schemas only once: what
 * version of a number does not change.
 */
export class SubjectWalk {
  warnings: string[] = []
  /** What the last pass found in a list of live subjects or versions and could not read. */
  unreadable: Unreadable[] = []
  hidden: HiddenContext[] = []
  readonly #client: RegistryClient
  readonly #identity: Identity
  readonly #isWanted: (subject: string) => boolean
  /** Subjects that show no version, in the pass that is under way. */
  #empty: string[] = []
  readonly #held = new Map<string, SchemaVersion>()

  constructor(client: RegistryClient, identity: Identity, isWanted: (subject: string) => boolean) {
    this.#client = client
    this.#identity = identity
    this.#isWanted = isWanted
  }

  async pass(signal: AbortSignal): Promise<SchemaVersion[]> {
    this.warnings = []
    this.unreadable = []
    this.#empty = []
    const { subjects, hidden } = await listSubjects(this.#client, this.#identity, signal)
    this.hidden = [...hidden]
    const left = new Set(subjects)
    const read: SchemaVersion[] = []
    for (let next = subjects.filter(this.#isWanted); next.length > 0; ) {
      for (const subject of next) left.delete(subject)
      const found = await this.#readSubjects(next, signal)
      append(read, found)
      const referred = found.flatMap(each => each.references.map(to => resolveReference(to.subject, each.subject)))
      next = [...new Set(referred)].filter(subject => left.has(subject))
    }
    await this.#judgeEmpty(signal)
    // Answers come in any order, and two passes that found the same must look the same.
    this.unreadable.sort((a, b) => byName(a.subject, b.subject) || (a.version ?? 0) - (b.version ?? 0))
    this.warnings.sort(byName)
    return read
  }

  /**
   * A subject without versions is one of which only settings are left, or one that was deleted since it was listed. One
   * that is listed as live, now that its versions were asked for, has schemas that a backup must not leave out.
   */
  async #judgeEmpty(signal: AbortSignal): Promise<void> {
    if (this.#empty.length === 0) return
    const { subjects, hidden } = await listNames(this.#client, this.#identity, false, signal)
    const live = new Set(subjects)
    this.hidden.push(...hidden)
    for (const subject of this.#empty) {
      if (live.has(subject)) this.unreadable.push({ subject, version: null })
      else this.warnings.push(warnOfEmpty(subject))
    }
  }

  async #readSubjects(subjects: readonly string[], signal: AbortSignal): Promise<SchemaVersion[]> {
    const numbers = await this.#each(subjects, subject => this.#numbersOf(subject, signal))
    const wanted = numbers.flatMap(({ subject, all, live, guessed }) => [
      ...all.map(version => ({ subject, version, isDeleted: !live.has(version), isGuess: false })),
      ...guessed.map(version => ({ subject, version, isDeleted: false, isGuess: true })),
    ])
    const read = await this.#each(wanted, async ({ subject, version, isDeleted, isGuess }) => {
      const found = await this.#version(subject, version, signal)
      if (found) return { ...found, isDeleted: isGuess ? !(await this.#isLive(found, signal)) : isDeleted }
      if (isDeleted) this.warnings.push(warnOfHidden(subject, version))
      else if (!isGuess) this.unreadable.push({ subject, version })
      return undefined
    })
    return read.filter(each => each !== undefined)
  }

  #each<T, R>(items: readonly T[], task: (item: T) => Promise<R>): Promise<R[]> {
    return runPool(items, this.#client.concurrency, task)
  }

  async #numbersOf(subject: string, signal: AbortSignal): Promise<Numbers> {
    const path = pathOf(this.#identity, 'subjects', subject, '/versions')
    const all = parseNumbers(await this.#client.find({ path, query: { deleted: true }, subject }, signal), subject)
    const live = parseNumbers(await this.#client.find({ path, subject }, signal), subject)
    if (all.length === 0 && live.length === 0) this.#empty.push(subject)
    const listed = [...new Set([...all, ...live])].sort((a, b) => a - b)
    const guessed = this.#identity.flavour === 'apicurio' ? await this.#beyondLimit(subject, listed, signal) : []
    return { subject, all: listed, live: new Set(live), guessed }
  }

  /** Numbers that a list of Apicurio may leave out; those that do not exist turn up as not found. */
  async #beyondLimit(subject: string, listed: readonly number[], signal: AbortSignal): Promise<number[]> {
    if (listed.length < APICURIO_VERSIONS) return []
    const path = pathOf(this.#identity, 'subjects', subject, '/versions/latest')
    const latest = numberOf(asRecord(await this.#client.find({ path, subject }, signal))?.version ?? 0)
    if (!(latest <= MAX_VERSIONS)) throw tooMany(this.#client, subject)
    const known = new Set(listed)
    return Array.from({ length: latest }, (_, at) => at + 1).filter(version => !known.has(version))
  }

  /** Whether it is given without being asked for among the deleted. */
  async #isLive({ subject, version }: SchemaVersion, signal: AbortSignal): Promise<boolean> {
    const path = pathOf(this.#identity, 'subjects', subject, `/versions/${version}`)
    return (await this.#client.find({ path, subject }, signal)) !== undefined
  }

  async #version(subject: string, version: number, signal: AbortSignal): Promise<SchemaVersion | undefined> {
    const key = versionKey(subject, version)
    const held = this.#held.get(key)
    if (held !== undefined) return held
    const path = pathOf(this.#identity, 'subjects', subject, `/versions/${version}`)
    const answer = await this.#client.find({ path, query: { deleted: true }, subject }, signal)
    const isHidden = answer === undefined && this.#identity.flavour === 'apicurio'
    const found = isHidden
      ? await findHiddenVersion(this.#client, subject, version, signal)
      : parseVersion(answer, splitSubject(subject).context)
    // A registry that does not find a subject may look in other contexts and answer with one from there.
    if (found === undefined || found.subject !== subject || found.version !== version) return undefined
    const { flavour } = this.#identity
    const own = flavour === 'axonops' ? { ...found, metadata: withoutInjectedVersion(found.metadata) } : found
    this.#held.set(key, own)
    return own
  }
}

function byName(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

function warnOfEmpty(subject: string): string {
  return (
    `subject ${JSON.stringify(subject)} is listed but shows no versions: only settings of it are left, or the ` +
    'registry does not show versions of a deleted subject'
  )
}

function warnOfHidden(subject: string, version: number): string {
  return `version ${version} of subject ${JSON.stringify(subject)} is soft-deleted, and the registry does not show it`
}

function tooMany({ name }: RegistryClient, subject: string): KafkaBackupError {
  const what = `more than ${MAX_VERSIONS} versions of subject ${JSON.stringify(subject)}`
  return new KafkaBackupError('REGISTRY_PROTOCOL', `the registry ${name} says that it has ${what}`)
}
