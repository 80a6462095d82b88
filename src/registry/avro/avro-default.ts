import { AvroError, type AvroSchema, describeAvro } from './avro-schema.ts'

/** Throws an AvroError for a default that is no value of its field. Old schemas with such defaults exist. */
export function checkDefaults(schema: AvroSchema): void {
  walk(schema, new Set())
}

function walk(schema: AvroSchema, seen: Set<AvroSchema>): void {
  if (seen.has(schema)) return
  seen.add(schema)
  if (schema.type === 'array') walk(schema.items, seen)
  if (schema.type === 'map') walk(schema.values, seen)
  if (schema.type === 'union') for (const branch of schema.branches) walk(branch, seen)
  if (schema.type !== 'record') return
  for (const field of schema.fields) {
    if (field.default !== undefined && !isValue(field.default, field.schema))
      throw new AvroError(
        `the default of "${schema.fullName}.${field.name}" is not a value of ${describeAvro(field.schema)}`,
      )
    walk(field.schema, seen)
  }
}

/** Whether the JSON encoding of a default fits; that of a union fits any of its branches. */
function isValue(value: unknown, schema: AvroSchema): boolean {
  switch (schema.type) {
    case 'null':
      return value === null
    case 'boolean':
      return typeof value === 'boolean'
    case 'int':
      return isWithin(value, 31n)
    case 'long':
      return isWithin(value, 63n)
    case 'float':
    case 'double':
      return typeof value === 'number' || typeof value === 'bigint'
    case 'string':
    case 'bytes':
      return typeof value === 'string'
    case 'fixed':
      return typeof value === 'string'
    case 'enum':
      return typeof value === 'string' && schema.symbols.includes(value)
    case 'array':
      return Array.isArray(value) && value.every(item => isValue(item, schema.items))
    case 'map':
      return isObject(value) && Object.values(value).every(item => isValue(item, schema.values))
    case 'union':
      return schema.branches.some(branch => isValue(value, branch))
    case 'record':
      return (
        isObject(value) &&
        schema.fields.every(field => {
          const item = value[field.name] === undefined ? field.default : value[field.name]
          return item !== undefined && isValue(item, field.schema)
        })
      )
    default:
      return schema satisfies never
  }
}

function isWithin(value: unknown, bits: bigint): boolean {
  if (typeof value !== 'bigint' && !(typeof value === 'number' && Number.isInteger(value))) return false
  const whole = BigInt(value)
  return whole >= -(2n ** bits) && whole < 2n ** bits
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
