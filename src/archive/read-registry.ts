import type * as z from 'zod'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import { damaged } from './damage.ts'
import { registryKey } from './layout.ts'
import { type Manifest, refuseDepth, refuseNewer } from './manifest.ts'
import { readRecorded } from './recorded-object.ts'
import type { RegistrySnapshot, SchemaVersion } from './registry-model.ts'
import {
  globalConfigSchema,
  type RegistrySubject,
  registrySettingsSchema,
  type StoredFile,
  type SubjectMetadata,
  subjectMetadataSchema,
} from './registry-section.ts'

const CONCURRENCY = 16

/** The registry of a backup as it was; undefined where the backup has none. Every object is compared with the manifest. */
export async function readRegistry(
  storage: Storage,
  { backup_id, schema_registry: section }: Pick<Manifest, 'backup_id' | 'schema_registry'>,
  signal: AbortSignal,
): Promise<RegistrySnapshot | undefined> {
  if (!section) return undefined
  const settings = await readJson(storage, backup_id, section.settings, registrySettingsSchema, signal)
  const global = await readJson(storage, backup_id, section.global, globalConfigSchema, signal)
  const subjects = await runPool(section.subjects, CONCURRENCY, subject =>
    readSubject(storage, backup_id, subject, signal),
  )
  return {
    flavour: settings.flavour,
    registryVersion: settings.registry_version,
    takenAt: section.backup_timestamp,
    contexts: settings.contexts,
    versions: subjects.flatMap(({ versions }) => versions),
    subjects: new Map(
      subjects.map(({ metadata: { subject, compatibility, mode, config } }) => [
        subject,
        { compatibility, mode, config },
      ]),
    ),
    contextSettings: new Map(settings.context_settings.map(({ context, ...rest }) => [context, rest])),
    global: { ...global, mode: settings.mode },
    maxIds: new Map(Object.entries(settings.max_ids)),
    skippedDeleted: settings.skipped_deleted,
    ...(settings.left_out && { leftOut: settings.left_out }),
    warnings: settings.warnings,
  }
}

/** The metadata of a subject, which must be those that the manifest means. */
export async function readMetadata(
  storage: Storage,
  backupId: string,
  { name, metadata: file, versions }: RegistrySubject,
  signal: AbortSignal,
): Promise<SubjectMetadata> {
  const metadata = await readJson(storage, backupId, file, subjectMetadataSchema, signal)
  const listed = (some: readonly { version: number; id: number; deleted: boolean }[]) =>
    some.map(({ version, id, deleted }) => `${version} ${id} ${deleted}`).join()
  if (metadata.subject === name && listed(metadata.versions) === listed(versions)) return metadata
  const key = registryKey(backupId, file.file)
  throw damaged(key, `has other versions than the manifest says of subject ${name}`, { details: { subject: name } })
}

/** The bytes of an object that the manifest records. A missing object or other bytes are damage. */
export async function readStored(
  storage: Storage,
  backupId: string,
  { file, size, blake3 }: StoredFile,
  signal: AbortSignal,
): Promise<Buffer> {
  return readRecorded(storage, { key: registryKey(backupId, file), size, blake3 }, signal)
}

export async function readJson<T>(
  storage: Storage,
  backupId: string,
  stored: StoredFile,
  schema: z.ZodType<T>,
  signal: AbortSignal,
): Promise<T> {
  const key = registryKey(backupId, stored.file)
  const bytes = await readStored(storage, backupId, stored, signal)
  let data: unknown
  try {
    // Numbers in settings are a registry's own, and doubles as it sent them.
    data = JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    throw damaged(key, 'is not JSON', { cause })
  }
  refuseDepth(data, key)
  refuseNewer(data, key)
  const result = schema.safeParse(data)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  throw damaged(key, `is damaged: ${issue?.path.join('.')}: ${issue?.message}`, {
    details: { field: issue?.path.join('.') },
  })
}

/** All versions of a subject. Every object is compared with the manifest. */
export async function readSubject(
  storage: Storage,
  backupId: string,
  subject: RegistrySubject,
  signal: AbortSignal,
): Promise<{ metadata: SubjectMetadata; versions: SchemaVersion[] }> {
  const metadata = await readMetadata(storage, backupId, subject, signal)
  const versions: SchemaVersion[] = []
  for (const [at, { schema_file: file, size, blake3 }] of subject.versions.entries()) {
    const text = (await readStored(storage, backupId, { file, size, blake3 }, signal)).toString('utf8')
    const described = metadata.versions[at]
    if (described) versions.push(versionOf(subject.name, described, text))
  }
  return { metadata, versions }
}

function versionOf(subject: string, described: SubjectMetadata['versions'][number], text: string): SchemaVersion {
  const { version, id, schema_type, references, metadata, rule_set, guid, deleted, pulled_in, schema } = described
  return {
    subject,
    version,
    id,
    schemaType: schema_type,
    schema: schema ?? text,
    references,
    metadata,
    ruleSet: rule_set,
    guid,
    isDeleted: deleted,
    ...(pulled_in ? { isPulledIn: true as const } : {}),
  }
}
