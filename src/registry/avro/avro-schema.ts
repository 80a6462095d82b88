/** A parsed Avro schema. Named types are shared objects, so a recursive schema is a circle of them. */
export type AvroSchema = AvroPrimitive | AvroArray | AvroMap | AvroUnion | AvroNamed

export type AvroNamed = AvroRecord | AvroEnum | AvroFixed

const primitiveTypes = ['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'] as const

interface AvroPrimitive {
  type: (typeof primitiveTypes)[number]
}

interface AvroArray {
  type: 'array'
  items: AvroSchema
}

interface AvroMap {
  type: 'map'
  values: AvroSchema
}

export interface AvroUnion {
  type: 'union'
  branches: readonly AvroSchema[]
}

interface Named {
  /** With its namespace. */
  fullName: string
  /** Full names. */
  aliases: readonly string[]
}

export interface AvroRecord extends Named {
  type: 'record'
  /** Filled after the record is made, since its fields may name it. */
  fields: AvroField[]
}

export interface AvroEnum extends Named {
  type: 'enum'
  symbols: readonly string[]
  default: string | undefined
}

interface AvroFixed extends Named {
  type: 'fixed'
  size: number
}

export interface AvroField {
  name: string
  aliases: readonly string[]
  schema: AvroSchema
  /** Undefined is none; null is the value null. */
  default: unknown
}

export function isNamed(schema: AvroSchema): schema is AvroNamed {
  return schema.type === 'record' || schema.type === 'enum' || schema.type === 'fixed'
}

/** How messages call a schema. */
export function describeAvro(schema: AvroSchema): string {
  if (isNamed(schema)) return `${schema.type} ${schema.fullName}`
  return schema.type === 'union' ? `union of ${schema.branches.map(describeAvro).join(', ')}` : schema.type
}

/** A text that is not an Avro schema; the message names the place. */
export class AvroError extends Error {}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** The named types that are known so far, by full name. */
export type KnownNames = Map<string, AvroNamed>

/** A name without a dot is in the enclosing namespace, unless it has its own namespace. */
export function fullNameOf(node: { name?: unknown; namespace?: unknown }, enclosing: string): string {
  const { name, namespace } = node
  if (typeof name !== 'string') throw new AvroError('a record, enum or fixed needs a "name"')
  if (namespace !== undefined && namespace !== null && typeof namespace !== 'string')
    throw new AvroError(`the namespace of "${name}" is not a string`)
  const full = qualify(name, namespace ?? enclosing)
  for (const part of full.split('.')) checkName(part, full)
  if (isPrimitive(full)) throw new AvroError(`"${full}" is the name of a primitive type`)
  return full
}

export function qualify(name: string, namespace: string): string {
  if (name.includes('.')) return name.replace(/^\./, '')
  return namespace === '' ? name : `${namespace}.${name}`
}

export function namespaceOf(fullName: string): string {
  const at = fullName.lastIndexOf('.')
  return at < 0 ? '' : fullName.slice(0, at)
}

/** Without its namespace: what names of a reader and a writer are compared by. */
export function shortNameOf(fullName: string): string {
  return fullName.slice(fullName.lastIndexOf('.') + 1)
}

export function checkName(name: unknown, where: string): string {
  if (typeof name !== 'string' || !NAME.test(name))
    throw new AvroError(`"${String(name)}" is not a valid name (${where})`)
  return name
}

export function isPrimitive(name: string): name is (typeof primitiveTypes)[number] {
  return primitiveTypes.some(type => type === name)
}
