import {
  DEFAULT_CONTEXT,
  resolveReference,
  type SchemaVersion,
  splitSubject,
  versionKey,
} from '../../archive/registry-model.ts'
import { KafkaBackupError } from '../../errors.ts'
import { numberOf, textOf } from '../../lib/json.ts'
import { append } from '../../lib/largest.ts'
import { runPool } from '../../lib/pool.ts'
import { contextPath, pathOf } from './address.ts'
import { findHiddenVersion, listArtifacts, refuseCutList } from './apicurio.ts'
import type { RegistryClient } from './client.ts'
import type { Identity } from './flavour.ts'
import { asList, asRecord, parseNumbers, parseVersion, qualify, withoutInjectedVersion } from './parse-answers.ts'

/** No subject has more; whatever a server says, no longer list of numbers is made. */
const MAX_VERSIONS = 1_000_000
/** Apicurio gives no more than so many numbers of versions. */
const APICURIO_VERSIONS = 500
/** All of them, if a server accepts a limit. */
const ALL = 1_000_000

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

/** Every subject of every context, soft-deleted ones too. */
export async function listSubjects(client: RegistryClient, identity: Identity, signal: AbortSignal): Promise<string[]> {
  const artifacts = identity.flavour === 'apicurio' ? await listArtifacts(client, signal) : undefined
  if (artifacts !== undefined) return artifacts.sort()
  const found = await listNames(client, identity, true, signal)
  if (identity.flavour === 'apicurio') refuseCutList(client, found)
  return found.sort()
}

async function listNames(
  client: RegistryClient,
  identity: Identity,
  deleted: boolean,
  signal: AbortSignal,
): Promise<string[]> {
  const found = new Set<string>()
  for (const context of identity.contexts) {
    const path = `${contextPath(identity, context)}/subjects`
    const call = {
      ...{ path, query: { deleted }, pageSize: ALL },
      ...(context !== DEFAULT_CONTEXT && { isOptional: true }),
      // Confluent lists the subjects of all contexts with those of the default one.
      ...(identity.flavour !== 'confluent' && { onDenied: throwIt }),
    }
    for (const subject of (await readPages(client, call, textOf, signal)) ?? []) {
      if (typeof subject !== 'string') throw notText(client, subject)
      found.add(qualify(subject, context))
    }
  }
  return [...found]
}

/**
 * Reads a registry subject by subject: those that are wanted, and those that these refer to, as a whole. A pass asks for all numbers of versions again, but for the schemas only once: what
 * version of a number does not change.
 */
export class SubjectWalk {
  warnings: string[] = []
  /** What the last pass found in a list of live subjects or versions and could not read. */
  unreadable: Unreadable[] = []
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
    const subjects = await listSubjects(this.#client, this.#identity, signal)
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
    const live = new Set(await listNames(this.#client, this.#identity, false, signal))
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

/** A context that is listed and not shown has subjects that a backup must not leave out. */
function throwIt(error: Error): never {
  throw error
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

function notText({ name }: RegistryClient, subject: unknown): KafkaBackupError {
  const message = `the registry ${name} lists ${JSON.stringify(subject)?.slice(0, 100)} among its subjects`
  return new KafkaBackupError('REGISTRY_PROTOCOL', message)
}

function tooMany({ name }: RegistryClient, subject: string): KafkaBackupError {
  const what = `more than ${MAX_VERSIONS} versions of subject ${JSON.stringify(subject)}`
  return new KafkaBackupError('REGISTRY_PROTOCOL', `the registry ${name} says that it has ${what}`)
}

/** No registry has more rows; a server that keeps sending new ones is not a registry. */
const MAX_ROWS = 5_000_000

type Query = Record<string, string | number | boolean>

/** So many pages are asked for at once after a page that was full. */
const PAGES_AHEAD = 8

interface ListCall {
  path: string
  query: Query
  pageSize: number
  isOptional?: boolean
  onDenied?: (error: Error) => void
}

/**
 * All rows of a list, each key once. The end is a page that brings nothing new: servers cut pages shorter than asked for,
 * and some give the whole list however often they are asked. Undefined where an optional list does not exist.
 */
export async function readPages(
  client: RegistryClient,
  call: ListCall,
  keyOf: (row: unknown) => string,
  signal: AbortSignal,
): Promise<unknown[] | undefined> {
  const rows = new Map<string, unknown>()
  for (let offset = 0, pages = 1; ; ) {
    const offsets = Array.from({ length: pages }, (_, at) => offset + at * call.pageSize)
    const read = await runPool(offsets, pages, at => readPage(client, call, at, signal))
    for (const page of read) {
      if (page === undefined) return undefined
      const before = rows.size
      for (const row of page) rows.set(keyOf(row), row)
      if (rows.size === before) return [...rows.values()]
      refuseEndless(client, call, rows.size)
      offset += page.length
      pages = page.length === call.pageSize ? PAGES_AHEAD : 1
      // The pages behind a shorter one begin too late.
      if (pages === 1) break
    }
  }
}

async function readPage(
  client: RegistryClient,
  { path, query, pageSize, isOptional, onDenied }: ListCall,
  offset: number,
  signal: AbortSignal,
): Promise<readonly unknown[] | undefined> {
  const request = { path, query: { ...query, offset, limit: pageSize } }
  const page = asList(isOptional ? await client.probe(request, signal, onDenied) : await client.call(request, signal))
  if (page === undefined && !isOptional) {
    throw new KafkaBackupError('REGISTRY_PROTOCOL', `${client.name} does not answer ${path} with a list`)
  }
  return page
}

function refuseEndless({ name }: RegistryClient, { path }: ListCall, rows: number): void {
  if (rows <= MAX_ROWS) return
  const message = `the registry ${name} answered ${path} with more than ${MAX_ROWS} rows`
  throw new KafkaBackupError('REGISTRY_PROTOCOL', message)
}
