import { parseJson } from '../../lib/json.ts'
import {
  AvroError,
  type AvroField,
  type AvroNamed,
  type AvroRecord,
  type AvroSchema,
  type AvroUnion,
  checkName,
  describeAvro,
  fullNameOf,
  isNamed,
  isPrimitive,
  type KnownNames,
  namespaceOf,
  qualify,
} from './avro-schema.ts'

/**
 * Parses a schema. `dependencies` are the texts that it refers to, each after those that it needs itself; their named
 * types are known to it. Throws an AvroError for what the specification does not allow.
 */
export function parseAvro(text: string, dependencies: readonly string[] = []): AvroSchema {
  const known: KnownNames = new Map()
  for (const dependency of dependencies) parseNode(readJson(dependency), '', known)
  return parseNode(readJson(text), '', known)
}

type Node = Record<string, unknown>

function readJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    throw new AvroError(`the text is not JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function parseNode(node: unknown, namespace: string, known: KnownNames): AvroSchema {
  if (typeof node === 'string') return findType(node, namespace, known)
  if (Array.isArray(node)) return parseUnion(node, namespace, known)
  if (!isObject(node)) throw new AvroError(`${JSON.stringify(node)} is not a schema`)
  const { type } = node
  if (type === 'record' || type === 'error') return parseRecord(node, namespace, known)
  if (type === 'enum') return parseEnum(node, namespace, known)
  if (type === 'fixed') return parseFixed(node, namespace, known)
  if (type === 'array') return { type, items: parseNode(need(node, 'items', 'an array'), namespace, known) }
  if (type === 'map') return { type, values: parseNode(need(node, 'values', 'a map'), namespace, known) }
  return parseNode(need(node, 'type', 'a schema'), namespace, known)
}

function findType(name: string, namespace: string, known: KnownNames): AvroSchema {
  if (isPrimitive(name)) return { type: name }
  const found = known.get(qualify(name, namespace)) ?? known.get(name)
  if (!found) throw new AvroError(`the type "${name}" is not defined`)
  return found
}

function parseUnion(nodes: readonly unknown[], namespace: string, known: KnownNames): AvroUnion {
  const branches = nodes.map(node => parseNode(node, namespace, known))
  const seen = new Set<string>()
  for (const branch of branches) {
    if (branch.type === 'union') throw new AvroError('a union holds no other union directly')
    const key = isNamed(branch) ? branch.fullName : branch.type
    if (seen.has(key)) throw new AvroError(`a union holds ${describeAvro(branch)} twice`)
    seen.add(key)
  }
  return { type: 'union', branches }
}

function parseRecord(node: Node, namespace: string, known: KnownNames): AvroRecord {
  const names = namesOf(node, namespace)
  const record: AvroRecord = { type: 'record', ...names, fields: [] }
  define(record, known)
  const fields = need(node, 'fields', `the record "${names.fullName}"`)
  if (!Array.isArray(fields)) throw new AvroError(`the fields of "${names.fullName}" are not a list`)
  const seen = new Set<string>()
  for (const field of fields) {
    const parsed = parseField(field, names.fullName, known)
    if (seen.has(parsed.name))
      throw new AvroError(`the record "${names.fullName}" has the field "${parsed.name}" twice`)
    seen.add(parsed.name)
    record.fields.push(parsed)
  }
  return record
}

function parseField(node: unknown, record: string, known: KnownNames): AvroField {
  if (!isObject(node)) throw new AvroError(`a field of "${record}" is not an object`)
  const name = checkName(node.name, `a field of ${record}`)
  return {
    name,
    aliases: textsOf(node.aliases, `the aliases of "${record}.${name}"`),
    schema: parseNode(need(node, 'type', `the field "${record}.${name}"`), namespaceOf(record), known),
    default: node.default,
  }
}

function parseEnum(node: Node, namespace: string, known: KnownNames): AvroSchema {
  const names = namesOf(node, namespace)
  const symbols = textsOf(need(node, 'symbols', `the enum "${names.fullName}"`), `the symbols of "${names.fullName}"`)
  for (const symbol of symbols) checkName(symbol, `a symbol of ${names.fullName}`)
  if (new Set(symbols).size < symbols.length) throw new AvroError(`the enum "${names.fullName}" has a symbol twice`)
  const { default: fallback } = node
  if (fallback !== undefined && !(typeof fallback === 'string' && symbols.includes(fallback)))
    throw new AvroError(`the default of the enum "${names.fullName}" is none of its symbols`)
  return define({ type: 'enum', ...names, symbols, default: fallback }, known)
}

function parseFixed(node: Node, namespace: string, known: KnownNames): AvroSchema {
  const names = namesOf(node, namespace)
  const { size } = node
  if (typeof size !== 'number' || !Number.isInteger(size) || size < 0)
    throw new AvroError(`the size of the fixed "${names.fullName}" is not a whole number of bytes`)
  return define({ type: 'fixed', ...names, size }, known)
}

function namesOf(node: Node, namespace: string): { fullName: string; aliases: string[] } {
  const fullName = fullNameOf(node, namespace)
  const aliases = textsOf(node.aliases, `the aliases of "${fullName}"`)
  return { fullName, aliases: aliases.map(alias => qualify(alias, namespaceOf(fullName))) }
}

function define<T extends AvroNamed>(schema: T, known: KnownNames): T {
  if (known.has(schema.fullName)) throw new AvroError(`"${schema.fullName}" is defined twice`)
  known.set(schema.fullName, schema)
  return schema
}

function textsOf(value: unknown, what: string): string[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value) || !value.every(item => typeof item === 'string'))
    throw new AvroError(`${what} are not a list of strings`)
  return value
}

function need(node: Node, key: string, what: string): unknown {
  const value = node[key]
  if (value === undefined) throw new AvroError(`${what} needs "${key}"`)
  return value
}

function isObject(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Throws an AvroError for a default that is not a value of its field. Old schemas with such defaults exist. */
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
