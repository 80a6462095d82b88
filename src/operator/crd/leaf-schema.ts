import type { JsonSchema } from '../../config/job-schema.ts'
import type { FieldSchema } from './field-schema.ts'
import { textOrNumberRule, textRule } from './field-schema.ts'
import { inSpecWords } from './spec-words.ts'

/** The API server needs bounds to estimate the cost of a rule; these are far above realistic values. */
const maxItems = 1000
const maxProperties = 1000
const maxTextLength = 1024
/** Of numbers with units, times and offsets. */
const maxNumberLength = 40

/**
 * The structural schema of a leaf of the job file. A resource has no variables and one way to write a thing: references
 * and the texts that a variable would give fall away, and with them most alternatives.
 */
export function leafSchema(schemas: readonly JsonSchema[]): FieldSchema {
  const [first = {}, ...others] = schemas.map(schema => structureOf(schema, wordsOf(schema)))
  // Where the kinds of a section differ, the validation of the complete job file decides.
  const agreed = Object.entries(first).filter(([key, value]) =>
    others.every(other => JSON.stringify(other[key as keyof FieldSchema]) === JSON.stringify(value)),
  )
  return Object.fromEntries(agreed) as FieldSchema
}

/** What the leaf says of all that is in it. */
interface Words {
  areIntegers: boolean
  allowed: string
}

function wordsOf(schema: JsonSchema): Words {
  const areIntegers = String(schema['x-type']).endsWith('integer')
  return { areIntegers, allowed: inSpecWords(String(schema['x-allowed'] ?? '')) }
}

function structureOf(schema: JsonSchema, words: Words): FieldSchema {
  const own = (schema.anyOf as JsonSchema[] | undefined)?.filter(each => each.$ref === undefined) ?? []
  if (schema.type === 'string') return textOf(own[0] ?? schema, words)
  if (schema.type === 'array') return listOf(schema, words)
  if (schema.type === 'object') return mapOf(schema, words)
  if (Array.isArray(schema.enum)) return enumOf(schema.enum)
  const numeric = own.find(({ type }) => type === 'integer' || Array.isArray(type))
  if (numeric !== undefined) return numberOf(numeric, own, words)
  const list = own.find(({ type }) => type === 'array')
  return structureOf(list ?? own[0] ?? {}, words)
}

function textOf({ pattern, maxLength }: JsonSchema, { allowed }: Words): FieldSchema {
  const isAny = pattern === undefined || pattern === '[\\s\\S]'
  return {
    type: 'string',
    minLength: 1,
    maxLength: typeof maxLength === 'number' ? maxLength : maxTextLength,
    ...(isAny ? {} : { 'x-kubernetes-validations': [textRule(String(pattern), allowed)] }),
  }
}

function listOf({ items, minItems }: JsonSchema, words: Words): FieldSchema {
  const item = structureOf(items as JsonSchema, words)
  return { type: 'array', items: item, ...(typeof minItems === 'number' ? { minItems } : {}), maxItems }
}

function mapOf({ properties, additionalProperties, minProperties }: JsonSchema, words: Words): FieldSchema {
  if (properties === undefined) {
    return {
      type: 'object',
      additionalProperties: structureOf(additionalProperties as JsonSchema, words),
      maxProperties,
    }
  }
  const entries = Object.entries(properties as Record<string, JsonSchema>)
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, field]) => [name, structureOf(field, words)])),
    ...(typeof minProperties === 'number' ? { minProperties } : {}),
  }
}

function enumOf(values: readonly unknown[]): FieldSchema {
  if (values.includes(true)) return { type: 'boolean' }
  return { type: 'string', enum: values.map(String) }
}

/** Integers, and what may also be a text with a unit, a time, or an offset beyond what JSON numbers hold. */
function numberOf(numeric: JsonSchema, alternatives: readonly JsonSchema[], words: Words): FieldSchema {
  const { minimum, maximum } = numeric
  const bounds = {
    ...(typeof minimum === 'number' ? { minimum } : {}),
    ...(typeof maximum === 'number' ? { maximum } : {}),
  }
  if (words.areIntegers) return { type: 'integer', format: 'int64', ...bounds }
  const text = alternatives.find(({ type }) => type === 'string')
  return {
    'x-kubernetes-int-or-string': true,
    ...bounds,
    maxLength: maxNumberLength,
    ...(text?.pattern === undefined
      ? {}
      : { 'x-kubernetes-validations': [textOrNumberRule(String(text.pattern), words.allowed)] }),
  }
}
