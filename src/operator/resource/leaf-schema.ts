import type { JsonSchema } from '../../config/job-json-schema.ts'
import type { OpenApi } from './open-api.ts'

/** Bounds let the API server reckon what a rule costs; they are far above what is meant to be written. */
const maxItems = 1000
const maxProperties = 1000
const maxTextLength = 1024
/** Of numbers with units, times and offsets. */
const maxNumberLength = 40

/**
 * The structural schema of a leaf of the job file. A resource has no variables and one way to write a thing: references
 * and the texts that a variable would give fall away, and with them most alternatives.
 */
export function leafSchema(schemas: readonly JsonSchema[]): OpenApi {
  const [first = {}, ...others] = schemas.map(schema => structureOf(schema, isInteger(schema)))
  // What the kinds of a section do not agree on is left to the check of the whole job.
  const agreed = Object.entries(first).filter(([key, value]) =>
    others.every(other => JSON.stringify(other[key as keyof OpenApi]) === JSON.stringify(value)),
  )
  return Object.fromEntries(agreed) as OpenApi
}

function isInteger(schema: JsonSchema): boolean {
  return String(schema['x-type']).endsWith('integer')
}

function structureOf(schema: JsonSchema, areIntegers: boolean): OpenApi {
  const own = (schema.anyOf as JsonSchema[] | undefined)?.filter(each => each.$ref === undefined) ?? []
  if (schema.type === 'string') return textOf(own[0] ?? schema)
  if (schema.type === 'array') return listOf(schema, areIntegers)
  if (schema.type === 'object') return mapOf(schema, areIntegers)
  if (Array.isArray(schema.enum)) return enumOf(schema.enum)
  const numeric = own.find(({ type }) => type === 'integer' || Array.isArray(type))
  if (numeric !== undefined) return numberOf(numeric, own, areIntegers)
  const list = own.find(({ type }) => type === 'array')
  return structureOf(list ?? own[0] ?? {}, areIntegers)
}

function textOf({ pattern, maxLength }: JsonSchema): OpenApi {
  const isAny = pattern === undefined || pattern === '[\\s\\S]'
  return {
    type: 'string',
    minLength: 1,
    maxLength: typeof maxLength === 'number' ? maxLength : maxTextLength,
    ...(isAny ? {} : { pattern: String(pattern) }),
  }
}

function listOf({ items, minItems }: JsonSchema, areIntegers: boolean): OpenApi {
  const item = structureOf(items as JsonSchema, areIntegers)
  return { type: 'array', items: item, ...(typeof minItems === 'number' ? { minItems } : {}), maxItems }
}

function mapOf({ properties, additionalProperties, minProperties }: JsonSchema, areIntegers: boolean): OpenApi {
  if (properties === undefined) {
    return {
      type: 'object',
      additionalProperties: structureOf(additionalProperties as JsonSchema, areIntegers),
      maxProperties,
    }
  }
  const entries = Object.entries(properties as Record<string, JsonSchema>)
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, field]) => [name, structureOf(field, areIntegers)])),
    ...(typeof minProperties === 'number' ? { minProperties } : {}),
  }
}

function enumOf(values: readonly unknown[]): OpenApi {
  if (values.includes(true)) return { type: 'boolean' }
  return { type: 'string', enum: values.map(String) }
}

/** Integers, and what may also be a text with a unit, a time, or an offset beyond what JSON numbers hold. */
function numberOf(numeric: JsonSchema, alternatives: readonly JsonSchema[], areIntegers: boolean): OpenApi {
  const { minimum, maximum } = numeric
  const bounds = {
    ...(typeof minimum === 'number' ? { minimum } : {}),
    ...(typeof maximum === 'number' ? { maximum } : {}),
  }
  if (areIntegers) return { type: 'integer', format: 'int64', ...bounds }
  const text = alternatives.find(({ type }) => type === 'string')
  const pattern = text?.pattern === undefined ? {} : { pattern: String(text.pattern) }
  return { 'x-kubernetes-int-or-string': true, ...bounds, ...pattern, maxLength: maxNumberLength }
}
