import type { JsonObject, RegistrySnapshot } from '../../archive/registry-model.ts'
import { deleteConfig, deleteMode, getConfig, getMode, setMode, updateConfig } from './change-settings.ts'
import { deleteSubject, deleteVersion, type RegisterRequest, registerSchema } from './change-versions.ts'
import {
  getByGuid,
  getById,
  getReferrers,
  getVersion,
  getVersions,
  getVersionsOfId,
  listSchemas,
  listSubjects,
  lookUpSchema,
  type SchemaFilter,
} from './find-versions.ts'
import { judgeContent } from './judge-compatibility.ts'
import type { RegistryState, StoreOptions } from './registry-state.ts'
import { createState } from './registry-state.ts'
import type { SchemaContent } from './schema-identity.ts'
import type { Config, Mode } from './settings-store.ts'
import type { Including, StoredVersion } from './version-index.ts'

/**
 * A schema registry in memory: commands in, results out, or a RegistryFault with the code that the Confluent API gives.
 * Subjects are qualified by their context where that is not the default one; one with an alias hands all to its target.
 * Scopes of settings are `:.:` for the whole registry, `:.context:` or a subject.
 */
export class RegistryStore {
  readonly #state: RegistryState

  constructor(options: StoreOptions = {}, snapshot?: RegistrySnapshot) {
    this.#state = createState(options, snapshot)
  }

  contexts(): string[] {
    return this.#state.ids.contexts()
  }

  /** The highest id that was ever given in a context. */
  maxId(context: string): number {
    return this.#state.ids.max(context)
  }

  subjects(filter: Omit<SchemaFilter, 'latestOnly'>): string[] {
    return listSubjects(this.#state, filter)
  }

  schemas(filter: SchemaFilter): StoredVersion[] {
    return listSchemas(this.#state, filter)
  }

  aliasesOf(subject: string): string[] {
    return this.#state.settings.aliasesOf(subject)
  }

  versions(subject: string, including: Including): StoredVersion[] {
    return getVersions(this.#state, this.#target(subject), including)
  }

  /** -1 is the newest live version. */
  version(subject: string, version: number, including: 'live' | 'all'): StoredVersion {
    return getVersion(this.#state, this.#target(subject), version, including)
  }

  /** `subject` says the context, and may be `:.context:` alone. */
  byId(id: number, subject: string): StoredVersion {
    return getById(this.#state, id, subject)
  }

  byGuid(guid: string): StoredVersion[] {
    return getByGuid(this.#state, guid)
  }

  versionsOfId(id: number, subject: string, including: Including): StoredVersion[] {
    return getVersionsOfId(this.#state, id, subject, including)
  }

  referencedBy(subject: string, version: number, including: Including): number[] {
    return getReferrers(this.#state, this.#target(subject), version, including)
  }

  lookUp(subject: string, content: SchemaContent, including: 'live' | 'all'): StoredVersion {
    return lookUpSchema(this.#state, this.#target(subject), content, including)
  }

  /** With `isForced` the compatibility with earlier versions is not asked about. */
  register(subject: string, request: RegisterRequest, isForced = false): StoredVersion {
    return registerSchema(this.#state, this.#target(subject), request, isForced)
  }

  incompatibilities(subject: string, content: SchemaContent, version?: number): string[] {
    return judgeContent(this.#state, this.#target(subject), content, version)
  }

  deleteVersion(subject: string, version: number, isPermanent: boolean): number {
    return deleteVersion(this.#state, this.#target(subject), version, isPermanent)
  }

  deleteSubject(subject: string, isPermanent: boolean): number[] {
    return deleteSubject(this.#state, this.#target(subject), isPermanent)
  }

  config(scope: string, isInherited: boolean): Config {
    return getConfig(this.#state, scope, isInherited)
  }

  updateConfig(scope: string, update: JsonObject): void {
    updateConfig(this.#state, scope, update)
  }

  deleteConfig(scope: string): Config {
    return deleteConfig(this.#state, scope)
  }

  mode(scope: string, isInherited: boolean): Mode {
    return getMode(this.#state, scope, isInherited)
  }

  setMode(scope: string, mode: unknown, isForced: boolean): Mode {
    return setMode(this.#state, scope, mode, isForced)
  }

  deleteMode(scope: string): Mode {
    return deleteMode(this.#state, scope)
  }

  #target(subject: string): string {
    return this.#state.settings.targetOf(subject)
  }
}
