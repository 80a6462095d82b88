import * as z from 'zod'
import { levelSources, registryFlavours } from './registry-model.ts'
import { count, hash, registryText } from './scalars.ts'

const schemaType = z.enum(['AVRO', 'JSON', 'PROTOBUF'])
const jsonObject = z.record(z.string(), z.json())

/** `file` is relative to the folder of the registry. */
const storedFile = z.strictObject({ file: z.string(), size: count, blake3: hash })

/** What a manifest says of the registry: it names, and vouches for, every object of it. */
export const registrySectionSchema = z.strictObject({
  /** `unknown` where the registry does not report it. */
  schema_registry_version: z.string(),
  backup_timestamp: z.string(),
  settings: storedFile,
  global: storedFile,
  subjects: z.array(
    z.strictObject({
      name: registryText,
      /** Of its newest version; null where it has none. */
      schema_type: schemaType.nullable(),
      /** The level in force; null where it is the registry's default, which registries do not report. */
      compatibility: z.string().nullable(),
      /** Where that level is set. */
      compatibility_source: z.enum(levelSources),
      metadata: storedFile,
      versions: z.array(
        z.strictObject({
          version: z.int(),
          id: z.int(),
          deleted: z.boolean(),
          schema_file: z.string(),
          size: count,
          blake3: hash,
        }),
      ),
    }),
  ),
  /** Source schema ID to a file with its text; `:.context:5` for one of another context than the default one. */
  id_mapping: z.record(z.string(), z.string()),
})

/** What a backup holds besides topics and records. */
export const sectionNames = ['schema_registry', 'consumer_groups', 'access'] as const
export type SectionName = (typeof sectionNames)[number]

/** Pure. The schemas were read before the ends of the generation were fixed: its records may use newer ones. */
export function hasCarriedSchemas(manifest: {
  schema_registry?: RegistrySection
  carried_sections?: readonly SectionName[]
}): boolean {
  return manifest.schema_registry !== undefined && manifest.carried_sections?.includes('schema_registry') === true
}

/** `_schemas.json`. */
export const registrySettingsSchema = z.strictObject({
  format: z.literal('kafka-backup-registry'),
  format_version: z.literal(1),
  flavour: z.enum(registryFlavours),
  registry_version: z.string().nullable(),
  schema_types: z.array(schemaType),
  mode: z.string().nullable(),
  contexts: z.array(registryText),
  context_settings: z.array(
    z.strictObject({
      context: registryText,
      compatibility: z.string().nullable(),
      mode: z.string().nullable(),
      config: jsonObject.nullable(),
    }),
  ),
  max_ids: z.record(registryText, z.int()),
  skipped_deleted: count,
  /** Versions of selected subjects that the job leaves out: records may have their IDs. */
  left_out: z.array(z.strictObject({ subject: registryText, version: z.int(), id: z.int() })).optional(),
  warnings: z.array(z.string()),
})

/** `config/global.json`. */
export const globalConfigSchema = z.strictObject({
  compatibility: z.string().nullable(),
  config: jsonObject.nullable(),
})

/** `subjects/<subject>/metadata.json`. */
export const subjectMetadataSchema = z.strictObject({
  subject: registryText,
  compatibility: z.string().nullable(),
  mode: z.string().nullable(),
  config: jsonObject.nullable(),
  versions: z.array(
    z.strictObject({
      version: z.int(),
      id: z.int(),
      schema_type: schemaType,
      references: z.array(z.strictObject({ name: registryText, subject: registryText, version: z.int() })),
      metadata: jsonObject.nullable(),
      rule_set: jsonObject.nullable(),
      guid: z.string().nullable(),
      deleted: z.boolean(),
      pulled_in: z.boolean(),
      /** The text itself, if it is not valid Unicode and a file cannot store it. */
      schema: z.string().optional(),
    }),
  ),
})

/** `current.json`: the copies under the plain names, by path, with the hash of the content that was written. */
export const registryCopiesSchema = z.strictObject({
  format: z.literal('kafka-backup-registry-copies'),
  format_version: z.literal(1),
  files: z.record(z.string(), hash),
  checksum: hash,
})

export type RegistrySection = z.output<typeof registrySectionSchema>
export type RegistrySubject = RegistrySection['subjects'][number]
export type StoredFile = z.output<typeof storedFile>
export type RegistrySettingsFile = z.output<typeof registrySettingsSchema>
export type GlobalConfigFile = z.output<typeof globalConfigSchema>
export type SubjectMetadata = z.output<typeof subjectMetadataSchema>

/** Pure. Every object that a section names. */
export function registryFilesOf({ settings, global, subjects }: RegistrySection): StoredFile[] {
  return [
    settings,
    global,
    ...subjects.flatMap(({ metadata, versions }) => [
      metadata,
      ...versions.map(({ schema_file: file, size, blake3 }) => ({ file, size, blake3 })),
    ]),
  ]
}
