import type { Manifest } from '../archive/manifest.ts'
import { readSubject } from '../archive/read-registry.ts'
import { resolveReference, type SchemaVersion, splitSubject } from '../archive/registry-model.ts'
import type { RegistrySubject } from '../archive/registry-section.ts'
import type { Storage } from '../storage/storage.ts'

/** Schemas of a generation, read when they are needed: a registry has thousands, and records of a topic use few. */
export class StoredSchemas {
  readonly #storage: Storage
  readonly #backupId: string
  readonly #subjects: ReadonlyMap<string, RegistrySubject>
  readonly #byId = new Map<string, RegistrySubject>()
  readonly #read = new Set<string>()

  constructor(storage: Storage, { backup_id, schema_registry }: Pick<Manifest, 'backup_id' | 'schema_registry'>) {
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

  /** Versions that were not returned before: those of the subject with this ID, and of all that they refer to. */
  async ofId(context: string, id: number, signal: AbortSignal): Promise<SchemaVersion[]> {
    const subject = this.#byId.get(`${context}/${id}`)
    return subject ? this.#readAll([subject], signal) : []
  }

  /** A manifest does not list GUIDs, so that all have to be read. */
  all(signal: AbortSignal): Promise<SchemaVersion[]> {
    return this.#readAll([...this.#subjects.values()], signal)
  }

  async #readAll(wanted: readonly RegistrySubject[], signal: AbortSignal): Promise<SchemaVersion[]> {
    const found: SchemaVersion[] = []
    const open = [...wanted]
    for (let subject = open.shift(); subject; subject = open.shift()) {
      if (this.#read.has(subject.name)) continue
      this.#read.add(subject.name)
      const { versions } = await readSubject(this.#storage, this.#backupId, subject, signal)
      for (const version of versions) {
        found.push(version)
        for (const { subject: name } of version.references) {
          const referred = this.#subjects.get(resolveReference(name, version.subject))
          if (referred) open.push(referred)
        }
      }
    }
    return found
  }
}
