import * as z from 'zod'
import { camelKeys } from './camel-keys.ts'
import { fields } from './leaf.ts'
import { authSchema, tlsSchema } from './registry-auth-schema.ts'
import { choice, flag } from './scalar-leaves.ts'
import { text, textList, textMap } from './text-leaves.ts'
import { anyText, file, httpUrl } from './text-rules.ts'

const schemaTypes = ['AVRO', 'JSON', 'PROTOBUF'] as const

const subjectsSchema = fields({
  subjects: textList(anyText, {
    description: 'Subjects to back up; `*` is all.',
    allowed: 'at least one subject name or pattern with * and ?',
    min: 1,
    shorthand: 'one',
  }).exactOptional(),
  exclude: textList(anyText, {
    description: 'Subjects to leave out, even where `subjects` matches them.',
    allowed: 'subject names or patterns with * and ?',
    min: 0,
  }).exactOptional(),
  include_soft_deleted: flag({ description: 'Take versions that are marked as deleted too.' }).exactOptional(),
  include_versions: choice(['all', 'latest'], {
    description: 'Which versions of a subject are taken.',
  }).exactOptional(),
  include_references: flag({ description: 'Take the subjects that a schema refers to.' }).exactOptional(),
})
  .transform(backup => camelKeys(backup))
  .meta({ description: 'What is taken from the registry.' })

const compatibilityLevels = [
  'NONE',
  'BACKWARD',
  'BACKWARD_TRANSITIVE',
  'FORWARD',
  'FORWARD_TRANSITIVE',
  'FULL',
  'FULL_TRANSITIVE',
] as const

const restoreSchema = fields({
  enabled: flag({ description: 'Restore schemas, before any data.' }).exactOptional(),
  strategy: choice(['preserve', 'overwrite', 'skip'], {
    description:
      '`preserve` keeps what the target has and adds what is missing; `overwrite` replaces it; ' +
      '`skip` restores only into empty subjects.',
  }).prefault('preserve'),
  id_mapping: flag({
    description: 'Keep the schema IDs in messages consistent with the target registry.',
  }).exactOptional(),
  rewrite_ids: flag({
    description: 'Write the IDs of the target registry into restored messages. Not together with `force_ids`.',
  }).exactOptional(),
  force_ids: flag({
    description: 'Register schemas under their old IDs; needs an empty target registry.',
  }).exactOptional(),
  id_mapping_file: text(file, {
    description: 'A JSON object of source schema IDs to target schema IDs.',
  }).exactOptional(),
  subject_mapping: textMap(anyText, {
    description: 'Other names for subjects on the target: source subject to target subject.',
    allowed: 'a map of subject names to subject names',
  }).exactOptional(),
  set_compatibility: choice(compatibilityLevels, {
    description: 'The compatibility level under which schemas are registered.',
  }).exactOptional(),
  force_register: flag({ description: 'Register a schema even where it is incompatible. Dangerous.' }).exactOptional(),
})
  .transform(restore => camelKeys(restore))
  .meta({ description: 'How schemas are put back.' })

export const registrySchema = fields({
  enabled: flag({
    description: 'Turns the schema registry on. Not available in this version, so it must be false.',
    refusal: 'schema registries are not available in this version; set it to false',
  }),
  url: text(httpUrl, { description: 'The address of the registry; https with `mtls`.', hidden: true }).exactOptional(),
  auth: authSchema.exactOptional(),
  tls: tlsSchema.exactOptional(),
  backup: subjectsSchema.exactOptional(),
  restore: restoreSchema.exactOptional(),
  schema_types: z
    .array(choice(schemaTypes, { description: 'A type of schema.' }))
    .min(1)
    .meta({
      description: 'The types of schemas in use.',
      'x-type': 'list of text',
      'x-allowed': schemaTypes.join(', '),
    })
    .prefault([...schemaTypes]),
  protobuf: fields({
    include_dependencies: flag({ description: 'Take the .proto files that a schema imports.' }).exactOptional(),
  })
    .transform(protobuf => camelKeys(protobuf))
    .meta({ description: 'Settings of Protobuf schemas.' })
    .exactOptional(),
})
  .transform(registry => camelKeys(registry))
  .meta({ description: 'The schema registry that belongs to the topics.' })
