import * as z from 'zod'
import { azureSchema } from './azure-schema.ts'
import { gcsSchema } from './gcs-schema.ts'
import { fields, kinds } from './leaf.ts'
import { s3Schema } from './s3-schema.ts'
import { text } from './text-leaves.ts'
import { folder, keyPrefix } from './text-rules.ts'

const filesystemSchema = fields({
  backend: z
    .literal('filesystem')
    .meta({ description: 'The kind of storage.', 'x-type': 'text', 'x-allowed': 'filesystem, s3, azure, gcs' }),
  path: text(folder, { description: 'The folder that holds the backups. It is created where it is missing.' }),
  prefix: text(keyPrefix, { description: 'A sub-folder under which this job keeps its backups.' }).exactOptional(),
})

export const storageSchema = kinds(
  'backend',
  [filesystemSchema, s3Schema, azureSchema, gcsSchema],
  'is not available in this version',
).meta({
  description: 'Where backups are kept.',
})
