import { layoutOf, type Part } from './layout.ts'
import { resetFields, rollbackFields } from './offset-fields.ts'
import type { CelRule, OpenApi } from './open-api.ts'
import type { Controller } from './resource.ts'
import { formSchemas, sectionSchema } from './section-schema.ts'

/** The fields of a spec that `planJobPod` reads; `rules` stand at the spec itself, others within the properties. */
export interface JobFieldSchema {
  properties: Record<string, OpenApi>
  required: string[]
  rules: CelRule[]
}

const none: JobFieldSchema = { properties: {}, required: [], rules: [] }

const ownFields: Record<Controller, JobFieldSchema> = {
  backup: none,
  restore: none,
  offset_reset: resetFields,
  offset_rollback: rollbackFields,
}

/** Structural, bounded, and from the same source as the check of job files. */
export function jobFieldSchema(controller: Controller): JobFieldSchema {
  const { parts } = layoutOf(controller)
  const own = ownFields[controller]
  return {
    properties: { ...Object.fromEntries(parts.map(part => [part.name, partSchema(part)])), ...own.properties },
    required: [...parts.filter(({ isRequired }) => isRequired).map(({ name }) => name), ...own.required],
    rules: own.rules,
  }
}

function partSchema({ field }: Part): OpenApi {
  if (field.type === 'section') return sectionSchema(field.section)
  const [schema] = formSchemas(field)
  if (schema === undefined) throw new Error(`${field.key} has no schema`)
  return schema
}
