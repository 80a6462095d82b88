import { camelKeys } from './camel-keys.ts'
import { encryptionSchema } from './encryption-schema.ts'
import { fields } from './leaf.ts'
import { metricsSchema } from './metrics-schema.ts'
import { registrySchema } from './registry-schema.ts'
import { storageSchema } from './storage-schema.ts'
import { text } from './text-leaves.ts'
import { backupId } from './text-rules.ts'

export const backupIdField = text(backupId, {
  description:
    'The name of the backup. A backup under the name of an earlier one continues where that one ended; a restore reads it.',
})

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
