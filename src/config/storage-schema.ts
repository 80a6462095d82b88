import { azureSchema } from './azure-schema.ts'
import { backendField, prefixField } from './bucket-fields.ts'
import { gcsSchema } from './gcs-schema.ts'
import { fields, kinds } from './leaf.ts'
import { s3Schema } from './s3-schema.ts'
import { text } from './text-leaves.ts'
import { fileMode, folder } from './text-rules.ts'

const filesystemSchema = fields({
  backend: backendField('filesystem'),
  path: text(folder, { description: 'The folder that holds the backups. It is created where it is missing.' }),
  prefix: prefixField,
  file_mode: text(fileMode, {
    description:
      'Permissions of the files, such as `0640`; folders get the same with the right to enter. Without it only the owner may read and write (`0600`, `0700`).',
  }).exactOptional(),
})

export const storageSchema = kinds(
  'backend',
  [filesystemSchema, s3Schema, azureSchema, gcsSchema],
  'is not available in this version',
).meta({
  description: 'Where backups are kept.',
})
