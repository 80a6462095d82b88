import * as z from 'zod'
import { backupSchema } from './backup-schema.ts'
import { camelKeys } from './camel-keys.ts'
import { sourceSchema, targetSchema } from './cluster-schema.ts'
import { fields } from './leaf.ts'
import { type Mode, modeField } from './mode.ts'
import { monitoringSchema } from './monitoring-schema.ts'
import { restoreSchema } from './restore-schema.ts'
import { retentionSchema } from './retention-schema.ts'
import { backupIdField, sharedSections } from './shared-sections.ts'

const { storage, ...optionalSections } = sharedSections

const backupFields = {
  mode: modeField('backup'),
  backup_id: backupIdField,
  source: sourceSchema,
  storage,
  backup: backupSchema,
  retention: retentionSchema.exactOptional(),
  monitoring: monitoringSchema.exactOptional(),
  ...optionalSections,
}

const restoreFields = {
  mode: modeField('restore'),
  backup_id: backupIdField,
  target: targetSchema,
  storage,
  restore: restoreSchema,
  ...optionalSections,
}

const backupJobSchema = fields(backupFields).transform(job => camelKeys(job))
const restoreJobSchema = fields(restoreFields).transform(job => camelKeys(job))
const schemaBackupJobSchema = fields({ ...backupFields, source: sourceSchema.exactOptional() }).transform(job =>
  camelKeys(job),
)
const schemaRestoreJobSchema = fields({ ...restoreFields, target: targetSchema.exactOptional() }).transform(job =>
  camelKeys(job),
)

export const jobSchemas = { backup: backupJobSchema, restore: restoreJobSchema } satisfies Record<Mode, z.ZodType>

/** For commands that do not contact Kafka: where a job names a cluster, it has to be right. */
export const clusterlessJobSchemas = {
  backup: schemaBackupJobSchema,
  restore: schemaRestoreJobSchema,
} satisfies Record<Mode, z.ZodType>

export type JsonSchema = { [key: string]: unknown }

/** JSON Schema of jobs that back up or restore topics, with the words of the documentation (`x-type`, `x-allowed`). */
export function describedJobSchema(mode: Mode): JsonSchema {
  return describeJobSchema(jobSchemas[mode])
}

/** JSON Schema of a job as it is written. */
export function describeJobSchema(job: z.ZodType): JsonSchema {
  const { $schema, ...schema } = z.toJSONSchema(job, { io: 'input' })
  return schema
}

/** A job as a program may write it: the keys and values of a job file. */
export interface JobDocuments {
  backup: z.input<typeof backupJobSchema>
  restore: z.input<typeof restoreJobSchema>
}

/** The same where the cluster is optional. */
export interface ClusterlessJobDocuments {
  backup: z.input<typeof schemaBackupJobSchema>
  restore: z.input<typeof schemaRestoreJobSchema>
}

/** A job with every default in place: sizes in bytes, durations in milliseconds, `${VAR}`s replaced. */
export type Job = BackupJob | RestoreJob

export type BackupJob = z.output<typeof backupJobSchema>

/** Offsets, and times in milliseconds since 1970, are bigints. Names of topics are keys of Maps: any name is one. */
export type RestoreJob = z.output<typeof restoreJobSchema>

/** A job for commands that need no Kafka cluster: `source` and `target` are optional. A complete job is one, too. */
export type ClusterlessJob = SchemaBackupJob | SchemaRestoreJob
export type SchemaBackupJob = z.output<typeof schemaBackupJobSchema>
export type SchemaRestoreJob = z.output<typeof schemaRestoreJobSchema>
export type ClusterlessJobOf<M extends Mode> = Extract<ClusterlessJob, { mode: M }>

export type JobOf<M extends Mode> = Extract<Job, { mode: M }>
