import { azureSchema } from './azure-schema.ts'
import { backendField, prefixField } from './bucket-fields.ts'
import { camelKeys } from './camel-keys.ts'
import { encryptionSchema } from './encryption-schema.ts'
import { gcsSchema } from './gcs-schema.ts'
import { fields, kinds } from './leaf.ts'
import { registrySchema } from './registry-schema.ts'
import { s3Schema } from './s3-schema.ts'
import { backupId, fileMode, folder, listenAddress, text } from './text-leaves.ts'

export const backupIdField = text(backupId, {
  description:
    'The name of the backup. A backup under the name of an earlier one continues where that one ended; a restore reads it.',
})

const filesystemSchema = fields({
  backend: backendField('filesystem'),
  path: text(folder, { description: 'The folder that holds the backups. It is created where it is missing.' }),
  prefix: prefixField,
  file_mode: text(fileMode, {
    description:
      'Permissions of the files, such as `0640`; folders get the same with the right to enter. Without it only the owner may read and write (`0600`, `0700`).',
  }).exactOptional(),
})

const storageSchema = kinds('backend', [filesystemSchema, s3Schema, azureSchema, gcsSchema], 'is not known').meta({
  description: 'Where backups are kept.',
})

const metricsSchema = fields({
  listen: text(listenAddress, {
    description:
      'Where `/metrics`, `/progress`, `/healthz` and `/readyz` are served while the job runs. There is no login, so keep it to ' +
      'addresses that only your monitoring reaches.',
  }).prefault('127.0.0.1:9309'),
}).meta({ description: 'Serves Prometheus metrics while the job runs; without this section nothing listens.' })

/** The sections that jobs of every mode have. */
export const sharedSections = {
  storage: storageSchema,
  encryption: encryptionSchema.exactOptional(),
  metrics: metricsSchema.exactOptional(),
  enterprise: fields({ schema_registry: registrySchema.exactOptional() })
    .transform(enterprise => camelKeys(enterprise))
    .meta({ description: 'Features beyond topics.' })
    .exactOptional(),
}
