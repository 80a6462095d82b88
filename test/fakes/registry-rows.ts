import type { SchemaReference } from '../../src/archive/registry-model.ts'

/** A version as a registry of a test holds it. */
export interface Row {
  subject: string
  version: number
  id: number
  schema: string
  schemaType?: 'AVRO' | 'JSON' | 'PROTOBUF'
  references?: SchemaReference[]
  metadata?: Record<string, unknown>
  ruleSet?: Record<string, unknown>
  guid?: string
  deleted?: boolean
}

export function row(subject: string, version: number, id: number, more: Partial<Row> = {}): Row {
  return { subject, version, id, schema: `{"type":"fixed","name":"n${id}","size":${id}}`, ...more }
}

export function reference(subject: string, version: number, name = subject): SchemaReference {
  return { name, subject, version }
}
