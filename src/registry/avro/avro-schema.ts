/** A parsed Avro schema. Named types are shared objects, so that a recursive schema is a circle of them. */
export type AvroSchema = AvroPrimitive | AvroArray | AvroMap | AvroUnion | AvroNamed

export type AvroNamed = AvroRecord | AvroEnum | AvroFixed

export const primitiveTypes = ['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'] as const

export interface AvroPrimitive {
  type: (typeof primitiveTypes)[number]
}

export interface AvroArray {
  type: 'array'
  items: AvroSchema
}

export interface AvroMap {
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

export interface AvroFixed extends Named {
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

/** A schema that is no Avro; the message says where. */
export class AvroError extends Error {}
