import type { FolderOf } from './layout.ts'
import {
  joinSubject,
  levelInForce,
  type RegistrySettings,
  type RegistrySnapshot,
  type SchemaType,
  type SchemaVersion,
  splitSubject,
  unset,
} from './registry-model.ts'
import type { GlobalConfigFile, RegistrySettingsFile, RegistrySubject, SubjectMetadata } from './registry-section.ts'

const SETTINGS_FILE = '_schemas.json'
const GLOBAL_FILE = 'config/global.json'

const endings = { AVRO: 'avsc', JSON: 'json', PROTOBUF: 'proto' } as const satisfies Record<SchemaType, string>

/** A file to be written: the path of its current copy, relative to the folder of the registry, and its bytes. */
export interface RegistryFile {
  path: string
  bytes: Buffer
}

interface SubjectFiles
  extends Pick<RegistrySubject, 'name' | 'schema_type' | 'compatibility' | 'compatibility_source'> {
  metadata: RegistryFile
  versions: ({ version: number; id: number; deleted: boolean } & RegistryFile)[]
}

export interface RegistryFiles {
  settings: RegistryFile
  global: RegistryFile
  subjects: SubjectFiles[]
}

/** Pure. All subjects of a snapshot, in the order of their names. */
export function subjectsOf({ subjects, versions }: RegistrySnapshot): string[] {
  return [...new Set([...subjects.keys(), ...versions.map(({ subject }) => subject)])].sort()
}

/** Pure. A snapshot as files. The same registry gives the same bytes, whenever it is asked. */
export function layOutRegistry(snapshot: RegistrySnapshot, folderOf: FolderOf): RegistryFiles {
  const bySubject = Map.groupBy(snapshot.versions, ({ subject }) => subject)
  const { compatibility, config } = snapshot.global
  return {
    settings: jsonFile(SETTINGS_FILE, settingsOf(snapshot)),
    global: jsonFile(GLOBAL_FILE, { compatibility, config } satisfies GlobalConfigFile),
    subjects: subjectsOf(snapshot).map(name => {
      const { level, source } = levelInForce(snapshot, name)
      const settings = snapshot.subjects.get(name) ?? unset
      const files = layOutSubject(name, settings, bySubject.get(name) ?? [], `subjects/${folderOf(name)}`)
      return { ...files, compatibility: level, compatibility_source: source }
    }),
  }
}

/** Pure. The version that `latest` means: the highest that is live, else the highest. */
export function newestOf<V extends { version: number; deleted: boolean }>(versions: readonly V[]): V | undefined {
  const live = versions.filter(({ deleted }) => !deleted)
  return (live.length > 0 ? live : versions).reduce<V | undefined>(
    (newest, each) => (newest === undefined || each.version > newest.version ? each : newest),
    undefined,
  )
}

/** The key of an id in `id_mapping`: an id is unique in its context only. */
export function mappedId(subject: string, id: number): string {
  return joinSubject({ context: splitSubject(subject).context, name: String(id) })
}

function settingsOf(snapshot: RegistrySnapshot): RegistrySettingsFile {
  return {
    format: 'kafka-backup-registry',
    format_version: 1,
    flavour: snapshot.flavour,
    registry_version: snapshot.registryVersion,
    schema_types: [...new Set(snapshot.versions.map(({ schemaType }) => schemaType))].sort(),
    mode: snapshot.global.mode,
    contexts: [...snapshot.contexts],
    context_settings: [...snapshot.contextSettings].map(([context, settings]) => ({ context, ...settings })),
    max_ids: Object.fromEntries(snapshot.maxIds),
    skipped_deleted: snapshot.skippedDeleted,
    ...(snapshot.leftOut && {
      left_out: snapshot.leftOut.map(({ subject, version, id }) => ({ subject, version, id })),
    }),
    warnings: [...snapshot.warnings],
  }
}

function layOutSubject(
  name: string,
  { compatibility, mode, config }: RegistrySettings,
  unsorted: readonly SchemaVersion[],
  folder: string,
): Omit<SubjectFiles, 'compatibility' | 'compatibility_source'> {
  const versions = unsorted.toSorted((a, b) => a.version - b.version)
  const metadata: SubjectMetadata = { subject: name, compatibility, mode, config, versions: versions.map(describe) }
  const newest = newestOf(metadata.versions)
  return {
    name,
    schema_type: newest?.schema_type ?? null,
    metadata: jsonFile(`${folder}/metadata.json`, metadata),
    versions: versions.map(({ version, id, isDeleted, schemaType, schema }) => ({
      version,
      id,
      deleted: isDeleted,
      path: `${folder}/v${version}.${endings[schemaType]}`,
      bytes: Buffer.from(schema),
    })),
  }
}

function describe(one: SchemaVersion): SubjectMetadata['versions'][number] {
  return {
    version: one.version,
    id: one.id,
    schema_type: one.schemaType,
    references: one.references.map(({ name, subject, version }) => ({ name, subject, version })),
    metadata: one.metadata,
    rule_set: one.ruleSet,
    guid: one.guid,
    deleted: one.isDeleted,
    pulled_in: one.isPulledIn === true,
    ...(one.schema.isWellFormed() ? {} : { schema: one.schema }),
  }
}

function jsonFile(path: string, content: object): RegistryFile {
  return { path, bytes: Buffer.from(`${JSON.stringify(content, undefined, 1)}\n`) }
}
