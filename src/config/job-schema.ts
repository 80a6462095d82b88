import type * as z from 'zod'
import { backupSchema } from './backup-schema.ts'
import { camelKeys } from './camel-keys.ts'
import { fields } from './leaf.ts'
import { metricsSchema } from './metrics-schema.ts'
import { registrySchema } from './registry-schema.ts'
import { choice } from './scalar-leaves.ts'
import { sourceSchema } from './source-schema.ts'
import { storageSchema } from './storage-schema.ts'
import { text } from './text-leaves.ts'
import { backupId } from './text-rules.ts'

export const jobSchema = fields({
  mode: choice(['backup'], { description: 'What the job does.', refusal: 'is not available in this version' }),
  backup_id: text(backupId, {
    description: 'The name of the backup. A run under the name of an earlier one goes on where that one ended.',
  }),
  source: sourceSchema,
  storage: storageSchema,
  backup: backupSchema,
  metrics: metricsSchema.exactOptional(),
  enterprise: fields({ schema_registry: registrySchema.exactOptional() })
    .transform(enterprise => camelKeys(enterprise))
    .meta({ description: 'Features beyond topics.' })
    .exactOptional(),
}).transform(job => camelKeys(job))

/** A job with every default in place: sizes in bytes, durations in milliseconds, `${VAR}`s replaced. */
export type Job = z.output<typeof jobSchema>
