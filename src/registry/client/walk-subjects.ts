import { runPool } from '../../lib/pool.ts'
import { DEFAULT_CONTEXT, resolveReference, type SchemaVersion, splitSubject, versionKey } from '../model.ts'
import { encodeSegment } from './address.ts'
import { findHiddenVersion, listArtifacts, refuseCutList } from './apicurio.ts'
import type { RegistryClient } from './client.ts'
import type { Identity } from './flavour.ts'
import { asRecord } from './json-shape.ts'
import { readPages } from './pages.ts'
import { parseVersion, qualify, withoutInjectedVersion } from './parse-version.ts'
import { pathOf } from './paths.ts'

/** Apicurio gives no more than so many numbers of versions. */
const APICURIO_VERSIONS = 500
/** As many as there are, where a server lets itself be told. */
const ALL = 1_000_000

interface Numbers {
  subject: string
  all: readonly number[]
  live: ReadonlySet<number>
  /** Numbers that may exist beside them. */
  guessed: readonly number[]
}

/** Every subject of every context, soft-deleted ones too. */
export async function listSubjects(
  client: RegistryClient,
  { contexts, flavour }: Identity,
  signal: AbortSignal,
): Promise<string[]> {
  const artifacts = flavour === 'apicurio' ? await listArtifacts(client, signal) : undefined
  if (artifacts !== undefined) return artifacts.sort()
  const found = new Set<string>()
  for (const context of contexts) {
    const isDefault = context === DEFAULT_CONTEXT
    const path = isDefault ? '/subjects' : `/contexts/${encodeSegment(context)}/subjects`
    const call = { path, query: { deleted: true }, pageSize: ALL, isOptional: !isDefault }
    for (const subject of (await readPages(client, call, String, signal)) ?? []) {
      found.add(qualify(String(subject), context))
    }
  }
  if (flavour === 'apicurio') refuseCutList(client, [...found])
  return [...found].sort()
}

/**
 * Reads a registry subject by subject: those that are wanted, and those that these refer to, as a whole. A pass asks for all numbers of versions again, but for the schemas only once: what
 * stands under a number does not change.
 */
export class SubjectWalk {
  warnings: string[] = []
  /** What the last pass found in a list of live versions and could not read. */
  unreadable: string[] = []
  readonly #client: RegistryClient
  readonly #identity: Identity
  readonly #isWanted: (subject: string) => boolean
  readonly #held = new Map<string, SchemaVersion>()

  constructor(client: RegistryClient, identity: Identity, isWanted: (subject: string) => boolean) {
    this.#client = client
    this.#identity = identity
    this.#isWanted = isWanted
  }

  async pass(signal: AbortSignal): Promise<SchemaVersion[]> {
    this.warnings = []
    this.unreadable = []
    const subjects = await listSubjects(this.#client, this.#identity, signal)
    const left = new Set(subjects)
    const read: SchemaVersion[] = []
    for (let next = subjects.filter(this.#isWanted); next.length > 0; ) {
      for (const subject of next) left.delete(subject)
      const found = await this.#readSubjects(next, signal)
      read.push(...found)
      const referred = found.flatMap(each => each.references.map(to => resolveReference(to.subject, each.subject)))
      next = [...new Set(referred)].filter(subject => left.has(subject))
    }
    return read
  }

  async #readSubjects(subjects: readonly string[], signal: AbortSignal): Promise<SchemaVersion[]> {
    const numbers = await this.#each(subjects, subject => this.#numbersOf(subject, signal))
    const wanted = numbers.flatMap(({ subject, all, live, guessed }) => [
      ...all.map(version => ({ subject, version, isDeleted: !live.has(version), isGuess: false })),
      ...guessed.map(version => ({ subject, version, isDeleted: false, isGuess: true })),
    ])
    const read = await this.#each(wanted, async ({ subject, version, isDeleted, isGuess }) => {
      const found = await this.#version(subject, version, signal)
      const what = `version ${version} of subject ${JSON.stringify(subject)}`
      if (found) return { ...found, isDeleted: isGuess ? !(await this.#isLive(found, signal)) : isDeleted }
      if (isDeleted) this.warnings.push(`${what} is soft-deleted, and the registry does not show it`)
      else if (!isGuess) this.unreadable.push(what)
      return undefined
    })
    return read.filter(each => each !== undefined)
  }

  #each<T, R>(items: readonly T[], task: (item: T) => Promise<R>): Promise<R[]> {
    return runPool(items, this.#client.concurrency, task)
  }

  async #numbersOf(subject: string, signal: AbortSignal): Promise<Numbers> {
    const path = pathOf(this.#identity, 'subjects', subject, '/versions')
    const all = parseNumbers(await this.#client.find({ path, query: { deleted: true }, subject }, signal))
    const live = parseNumbers(await this.#client.find({ path, subject }, signal))
    if (all.length === 0 && live.length === 0) {
      this.warnings.push(
        `subject ${JSON.stringify(subject)} is listed but shows no versions: only settings of it are left, or the ` +
          'registry does not show versions of a deleted subject',
      )
    }
    const listed = [...new Set([...all, ...live])].sort((a, b) => a - b)
    const guessed = this.#identity.flavour === 'apicurio' ? await this.#beyondLimit(subject, listed, signal) : []
    return { subject, all: listed, live: new Set(live), guessed }
  }

  /** Numbers that a list of Apicurio may leave out; those that do not exist turn up as not found. */
  async #beyondLimit(subject: string, listed: readonly number[], signal: AbortSignal): Promise<number[]> {
    if (listed.length < APICURIO_VERSIONS) return []
    const path = pathOf(this.#identity, 'subjects', subject, '/versions/latest')
    const latest = Number(asRecord(await this.#client.find({ path, subject }, signal))?.version ?? 0)
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

function parseNumbers(list: unknown): number[] {
  return Array.isArray(list) ? list.map(Number).filter(version => version > 0) : []
}
