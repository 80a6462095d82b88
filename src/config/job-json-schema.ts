import * as z from 'zod'
import { jobSchema } from './job-schema.ts'
import { reference } from './leaf.ts'

export type JsonSchema = { [key: string]: unknown }

/** JSON Schema of a job file as it is written, for editors. It knows single fields, not the rules between them. */
export function jobJsonSchema(): JsonSchema {
  const { $schema, ...root } = clean(describedJobSchema()) as JsonSchema
  return {
    $schema,
    $id: 'urn:kafka-backup:job',
    title: 'kafka-backup job file',
    description: 'What is backed up, from where and to where.',
    ...root,
    $defs: {
      reference: {
        description: 'A text that takes its value, or a part of it, from an environment variable.',
        type: 'string',
        pattern: '\\$\\{',
      },
    },
  }
}

/** The same with the words of the documentation (`x-type`, `x-allowed`) still in it. */
export function describedJobSchema(): JsonSchema {
  return { ...z.toJSONSchema(jobSchema, { io: 'input' }) }
}

/**
 * Takes out what only the documentation needs and the defaults of whole maps. A kind given by a variable can be any of
 * the kinds, so a constant takes a reference too and the kinds are alternatives that may overlap.
 */
function clean(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(clean)
  if (!isSchema(node)) return node
  const cleaned: JsonSchema = {}
  for (const [key, value] of Object.entries(node)) {
    if (key.startsWith('x-') || (key === 'default' && isSchema(value))) continue
    cleaned[key === 'oneOf' ? 'anyOf' : key] = clean(value)
  }
  if (cleaned.const === undefined) return cleaned
  const { const: constant, ...rest } = cleaned
  return { ...rest, anyOf: [{ const: constant }, reference] }
}

function isSchema(node: unknown): node is JsonSchema {
  return typeof node === 'object' && node !== null && !Array.isArray(node)
}
