import { jobFieldSchema } from '../resource/job-field-schema.ts'
import type { Controller } from '../resource/resource.ts'
import { type FieldGroup, mergeGroups } from './field-schema.ts'
import { dryRunFields, jobFields } from './job-fields.ts'
import { scheduleFields } from './schedule-fields.ts'

const ownFields: Record<Controller, readonly FieldGroup[]> = {
  backup: [scheduleFields],
  restore: [dryRunFields],
  offset_reset: [],
  offset_rollback: [],
}

/** All fields of a spec: what a job file can say, what only a resource says, and what all say of their Jobs. */
export function specFields(controller: Controller): FieldGroup {
  const job = jobFieldSchema(controller)
  const kafkaCluster = { ...job.properties.kafkaCluster, description: 'The Kafka cluster, and how it is reached.' }
  const named = { ...job, properties: { ...job.properties, kafkaCluster } }
  return mergeGroups([named, ...ownFields[controller], jobFields])
}
