import { areContradicting } from '../archive/join-snapshots.ts'
import type { Manifest } from '../archive/manifest.ts'
import { readSubject } from '../archive/read-registry.ts'
import { findNextSnapshot } from '../archive/registry-at.ts'
import { DEFAULT_CONTEXT, resolveReference, type SchemaVersion, splitSubject } from '../archive/registry-model.ts'
import { hasCarriedSchemas, type RegistrySubject } from '../archive/registry-section.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'

const SUBJECTS_AT_ONCE = 8

/**
 * Schemas of a generation, read when they are needed: a registry has thousands, and records of a topic use few. A schema that was
 * registered after they were backed up is taken from the next generation that has it, as a restore does, unless the registry was
 * replaced in between.
 */
export class StoredSchemas {
  /** What is wrong with the first schema that could not be read. */
  damage: string | undefined
  readonly #storage: Storage
  readonly #backupId: string
  readonly #subjects: ReadonlyMap<string, RegistrySubject>
  readonly #byId = new Map<string, RegistrySubject>()
  readonly #read = new Set<string>()
  /** Reads the manifest with the next schemas. */
  readonly #findLater: (signal: AbortSignal) => Promise<Manifest | undefined>
  #later: Promise<StoredSchemas | undefined> | undefined

  constructor(storage: Storage, manifest: Manifest) {
    const { backup_id, schema_registry } = manifest
    this.#findLater = async signal =>
      hasCarriedSchemas(manifest) ? (await findNextSnapshot(storage, manifest, signal))?.manifest : undefined
    const subjects = schema_registry?.subjects ?? []
    this.#storage = storage
    this.#backupId = backup_id
    this.#subjects = new Map(subjects.map(subject => [subject.name, subject]))
    for (const subject of subjects) {
      const { context } = splitSubject(subject.name)
      // The first of several subjects with one schema stands for it.
      for (const { id } of subject.versions) {
        if (!this.#byId.has(`${context}/${id}`)) this.#byId.set(`${context}/${id}`, subject)
      }
    }
  }

  /** Sorted. */
  get contexts(): readonly string[] {
    return [...new Set([...this.#subjects.keys()].map(name => splitSubject(name).context))].toSorted()
  }

  /** Those but the default one. */
  get namedContexts(): readonly string[] {
    return this.contexts.filter(one => one !== DEFAULT_CONTEXT)
  }

  /** Refuses a context without schemas. */
  refuseUnknown(context: string | undefined): void {
    const { contexts } = this
    if (context === undefined || contexts.includes(context)) return
    const known = contexts.join(', ') || 'none'
    const message = `the backup has no schemas in the context ${context}; it has some in: ${known}`
    throw new KafkaBackupError('SCHEMAS_NOT_FOUND', message, {
      help: 'Give the context as it is listed, such as `.eu`.',
    })
  }

  /** Versions that were not returned before: those of the subject with this ID, and of all that they refer to. */
  async ofId(context: string, id: number, signal: AbortSignal): Promise<SchemaVersion[]> {
    const subject = this.#byId.get(`${context}/${id}`)
    if (subject) return this.#readAll([subject], signal)
    return this.#fromNext(later => later.ofId(context, id, signal), signal)
  }

  /** A manifest does not list GUIDs, so that all have to be read. */
  async all(signal: AbortSignal): Promise<SchemaVersion[]> {
    const own = await this.#readAll([...this.#subjects.values()], signal)
    return [...own, ...(await this.#fromNext(later => later.all(signal), signal))]
  }

  async #fromNext(
    read: (later: StoredSchemas) => Promise<SchemaVersion[]>,
    signal: AbortSignal,
  ): Promise<SchemaVersion[]> {
    const later = await this.#next(signal)
    const found = later && (await read(later))
    this.damage ??= later?.damage
    return found ?? []
  }

  #next(signal: AbortSignal): Promise<StoredSchemas | undefined> {
    this.#later ??= this.#findLater(signal).then(manifest => {
      const isOther = areContradicting([...this.#subjects.values()], manifest?.schema_registry?.subjects ?? [])
      return manifest && !isOther ? new StoredSchemas(this.#storage, manifest) : undefined
    })
    return this.#later
  }

  async #readAll(wanted: readonly RegistrySubject[], signal: AbortSignal): Promise<SchemaVersion[]> {
    const found: SchemaVersion[] = []
    for (let open = wanted; open.length > 0; ) {
      const unread = [...new Set(open)].filter(({ name }) => !this.#read.has(name))
      for (const { name } of unread) this.#read.add(name)
      const read = await runPool(unread, SUBJECTS_AT_ONCE, subject => this.#readOne(subject, signal))
      const versions = read.flat()
      for (const version of versions) found.push(version)
      open = versions.flatMap(version => this.#referredBy(version))
    }
    return found
  }

  /** A damaged subject does not keep others from being read. */
  async #readOne(subject: RegistrySubject, signal: AbortSignal): Promise<readonly SchemaVersion[]> {
    try {
      return (await readSubject(this.#storage, this.#backupId, subject, signal)).versions
    } catch (error) {
      if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
      this.damage ??= error.message
      return []
    }
  }

  #referredBy({ subject, references }: SchemaVersion): RegistrySubject[] {
    return references.flatMap(({ subject: name }) => this.#subjects.get(resolveReference(name, subject)) ?? [])
  }
}
