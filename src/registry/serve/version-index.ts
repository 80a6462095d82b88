import { type SchemaVersion, splitSubject } from '../../archive/registry-model.ts'
import { guidOf, identityOf, type SchemaContent } from './schema-identity.ts'
import { qualifySubject } from './subject-name.ts'

/** Which versions to look at. */
export type Including = 'live' | 'deleted' | 'all'

export interface StoredVersion extends SchemaVersion {
  readonly identity: string
  guid: string
}

/** All versions of all contexts, found by subject, by id, by content and by what they refer to. */
export class VersionIndex {
  /** Ascending by version, by qualified subject. */
  readonly #bySubject = new Map<string, StoredVersion[]>()
  readonly #byId = new Map<string, Set<StoredVersion>>()
  readonly #byContent = new Map<string, Set<StoredVersion>>()
  readonly #referrers = new Map<string, Set<StoredVersion>>()

  /** Replaces a version of the same number. */
  put(version: SchemaVersion): StoredVersion {
    const earlier = this.get(version.subject, version.version)
    if (earlier) this.remove(earlier)
    const stored: StoredVersion = { ...version, identity: identityOf(version), guid: version.guid ?? guidOf(version) }
    const versions = this.#bySubject.get(stored.subject) ?? []
    const at = versions.findIndex(({ version: number }) => number > stored.version)
    versions.splice(at < 0 ? versions.length : at, 0, stored)
    this.#bySubject.set(stored.subject, versions)
    for (const [index, key] of this.#keysOf(stored)) index.set(key, (index.get(key) ?? new Set()).add(stored))
    return stored
  }

  remove(stored: StoredVersion): void {
    const rest = this.versions(stored.subject, 'all').filter(other => other !== stored)
    if (rest.length > 0) this.#bySubject.set(stored.subject, rest)
    else this.#bySubject.delete(stored.subject)
    for (const [index, key] of this.#keysOf(stored)) {
      const found = index.get(key)
      found?.delete(stored)
      if (found?.size === 0) index.delete(key)
    }
  }

  get(subject: string, version: number): StoredVersion | undefined {
    return this.#bySubject.get(subject)?.find(stored => stored.version === version)
  }

  versions(subject: string, including: Including): StoredVersion[] {
    return (this.#bySubject.get(subject) ?? []).filter(matching(including))
  }

  latest(subject: string, including: Including = 'live'): StoredVersion | undefined {
    return this.versions(subject, including).at(-1)
  }

  /** By context, the default one first, then by name. */
  subjects(including: Including): string[] {
    const names = [...this.#bySubject.keys()].filter(name => this.versions(name, including).length > 0)
    return names.sort(compareSubjects)
  }

  withId(context: string, id: number): StoredVersion[] {
    return [...(this.#byId.get(idKey(context, id)) ?? [])].sort(compareVersions)
  }

  /** Ids of the same content in a context, the lowest first; an import may have given it several. */
  idsOf(context: string, content: SchemaContent): number[] {
    const found = this.#byContent.get(contentKey(context, identityOf(content))) ?? []
    return [...new Set([...found].map(({ id }) => id))].sort((a, b) => a - b)
  }

  referrers(subject: string, version: number, including: Including): StoredVersion[] {
    const found = this.#referrers.get(versionKey(subject, version)) ?? []
    return [...found].filter(matching(including)).sort(compareVersions)
  }

  *all(): Generator<StoredVersion> {
    for (const versions of this.#bySubject.values()) yield* versions
  }

  #keysOf(stored: StoredVersion): [Map<string, Set<StoredVersion>>, string][] {
    const { context } = splitSubject(stored.subject)
    return [
      [this.#byId, idKey(context, stored.id)],
      [this.#byContent, contentKey(context, stored.identity)],
      ...stored.references.map(({ subject, version }): [Map<string, Set<StoredVersion>>, string] => [
        this.#referrers,
        versionKey(qualifySubject(subject, stored.subject), version),
      ]),
    ]
  }
}

export function compareVersions(a: SchemaVersion, b: SchemaVersion): number {
  return compareSubjects(a.subject, b.subject) || a.version - b.version
}

function compareSubjects(a: string, b: string): number {
  const [left, right] = [splitSubject(a), splitSubject(b)]
  return compareTexts(left.context, right.context) || compareTexts(left.name, right.name)
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

export function matching(including: Including): (version: SchemaVersion) => boolean {
  return ({ isDeleted }) => including === 'all' || isDeleted === (including === 'deleted')
}

const idKey = (context: string, id: number) => `${id} ${context}`
const contentKey = (context: string, identity: string) => `${identity} ${context}`
const versionKey = (subject: string, version: number) => `${version} ${subject}`
